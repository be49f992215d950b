package api

import (
	"context"
	"errors"
	"net/http"
	"net/mail"
	"regexp"
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
		ExternalID: f.externalID("externalId"),
	}
	if f.sound() && u.Email == "" && u.ExternalID == "" {
		f.issue("", "email or externalId is required")
	}
	if err := c.wrongIn(f); err != nil {
		return reply{}, err
	}
	u, err = s.Service.CreateUser(ctx, u)
	return single(s, http.StatusCreated, "user", appendUser, u, err)
}

// changeUser serves PATCH /v1/users/{userId} (additions, section 8).
func (s *server) changeUser(ctx context.Context, c call) (reply, error) {
	id, f := formOf[rewards.User](s, c, "userId")
	change := rewards.UserChange{
		AppID: c.app, UserID: id,
		Email:      f.erasable("email", f.email),
		ExternalID: f.erasable("externalId", f.externalID),
	}
	switch named := change.Email != nil || change.ExternalID != nil; {
	case !f.sound():
	case !named:
		f.issue("", "email or externalId is required")
	case change.ErasesBoth():
		f.issue("", "email and externalId cannot both be null")
	}
	if err := c.wrongIn(f); err != nil {
		return reply{}, err
	}
	u, err := s.Service.ChangeUser(ctx, change)
	return single(s, http.StatusOK, "user", appendUser, u, err)
}

// formOf reads a body and the id in the path; issues of both are reported together.
func formOf[T any](s *server, c call, name string) (rewards.ID[T], *form) {
	id, err := rewards.ParseID[T](c.parameter)
	f, errBody := s.parse(c.body)
	if errBody != nil {
		f = &form{unread: true}
		if e, ok := errors.AsType[*rewards.Error](errBody); ok {
			f.issues, _ = e.Details.([]rewards.Issue)
		}
	}
	if err != nil {
		f.issue(name, err.Error())
		f.ofPath++
	}
	return id, f
}

// wrongIn ends the decoding of a body and returns what is wrong with it, or nil.
func (c call) wrongIn(f *form) error {
	c.ticket.Decoded()
	return f.err()
}

// erasable reads an optional member; nil means not given, and "" stands for null, which erases it.
func (f *form) erasable(name string, read func(name string) string) *string {
	v := f.find(name)
	switch {
	case v == nil:
		return nil
	case v.Kind() == 'n':
		return new("")
	}
	return new(read(name))
}

// externalID reads an optional external id.
func (f *form) externalID(name string) string {
	return f.string(name, false, bounds{1, rewards.MaxExternalID})
}

// email reads an optional email address.
func (f *form) email(name string) string {
	email := f.string(name, false, bounds{1, rewards.MaxEmail})
	if email != "" && !isEmail(email) {
		f.issue(name, "must be an email address")
	}
	return email
}

// quotedEmail matches an address whose local part is quoted, also one that need not be (RFC 5321, section 4.1.2).
var quotedEmail = regexp.MustCompile(`^"(?:[^"\\]|\\.)+"@[^"@<>()]+$`)

// isEmail reports whether s is one bare address: without a display name, a comment or
// invisible characters, and with a valid domain.
func isEmail(s string) bool {
	address, err := mail.ParseAddress(s)
	if err != nil || address.Address != s && address.String() != "<"+s+">" && !quotedEmail.MatchString(s) {
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
		read: func(place []byte, limit int) ([]rewards.User, error) {
			return s.Service.Users(ctx, c.app, filter, pageOf[rewards.User](place, limit))
		},
		place:  func(u rewards.User) []byte { return u.ID[:] },
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
	return single(s, http.StatusOK, "user", appendUser, u, err)
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
