package api

import (
	"context"
	"net/http"
	"net/mail"
	"strings"
	"unicode"

	"stockrewards/internal/rewards"
)

// createUser serves POST /v1/users (specification, section 4.1).
func (s *server) createUser(ctx context.Context, c call) (reply, error) {
	f, err := s.parse(c.body)
	if err != nil {
		return reply{}, err
	}
	u := rewards.User{
		AppID:      c.app,
		Email:      f.email("email"),
		ExternalID: f.string("externalId", false, bounds{1, rewards.MaxExternalID}),
	}
	if len(f.issues) == 0 && u.Email == "" && u.ExternalID == "" {
		f.issue("", "email or externalId is required")
	}
	if err := f.err(); err != nil {
		return reply{}, err
	}
	u, err = s.Service.CreateUser(ctx, u)
	return single(http.StatusCreated, "user", appendUser, u, err)
}

// email reads an optional email address.
func (f *form) email(name string) string {
	email := f.string(name, false, bounds{1, rewards.MaxEmail})
	if email != "" && !isEmail(email) {
		f.issue(name, "must be an email address")
	}
	return email
}

// isEmail reports whether s is one bare address: without a display name, a comment or
// invisible characters, and with a valid domain.
func isEmail(s string) bool {
	address, err := mail.ParseAddress(s)
	if err != nil || address.Address != s && address.String() != "<"+s+">" {
		return false
	}
	invisible := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) && r != ' ' }
	if strings.ContainsFunc(s, invisible) {
		return false
	}
	domain := s[strings.LastIndexByte(s, '@')+1:]
	for label := range strings.SplitSeq(domain, ".") {
		const longest = 63
		odd := func(r rune) bool {
			return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
		}
		hyphens := strings.Trim(label, "-") != label
		if label == "" || len(label) > longest || hyphens || strings.ContainsFunc(label, odd) {
			return false
		}
	}
	return true
}

// listUsers serves GET /v1/users (specification, section 4.2).
func (s *server) listUsers(ctx context.Context, c call) (reply, error) {
	q := c.query("email", "externalId")
	filter := rewards.UserFilter{Email: q.string("email"), ExternalID: q.string("externalId")}
	return listing[rewards.User]{
		name: "users",
		read: func(p rewards.Page[rewards.User]) ([]rewards.User, error) {
			return s.Service.Users(ctx, c.app, filter, p)
		},
		id:     func(u rewards.User) rewards.UserID { return u.ID },
		append: appendUser,
	}.reply(s, c, q)
}

// getUser serves GET /v1/users/{userId} (specification, section 4.3).
func (s *server) getUser(ctx context.Context, c call) (reply, error) {
	id, err := pathID[rewards.User](c, "userId")
	if err != nil {
		return reply{}, err
	}
	u, err := s.Service.User(ctx, c.app, id)
	return single(http.StatusOK, "user", appendUser, u, err)
}

// appendUser writes a user (specification, section 2.1).
func appendUser(b []byte, u rewards.User) []byte {
	o := begin(b)
	o.id("id", u.ID.Append)
	o.id("appId", u.AppID.Append)
	o.optional("email", u.Email)
	o.optional("externalId", u.ExternalID)
	o.time("createdAt", u.CreatedAt())
	return o.end()
}
