package api

import (
	"context"
	"net/http"
	"net/mail"
	"strings"
	"unicode"

	"stockrewards/internal/rewards"
)

// createUser answers POST /v1/users (specification, section 4.1).
func (s *server) createUser(ctx context.Context, c call) (reply, error) {
	f, err := parse(c.body)
	if err != nil {
		return reply{}, err
	}
	u := rewards.User{
		AppID:      c.app,
		Email:      f.email("email"),
		ExternalID: f.text("externalId", false, bounds{1, rewards.MaxExternalID}),
	}
	if len(f.issues) == 0 && u.Email == "" && u.ExternalID == "" {
		f.issue("", "email or externalId is required")
	}
	if err := f.err(); err != nil {
		return reply{}, err
	}
	if u, err = s.Service.CreateUser(ctx, u); err != nil {
		return reply{}, err
	}
	return userReply(http.StatusCreated, u), nil
}

// email reads an optional member that is an email address.
func (f *form) email(name string) string {
	text := f.text(name, false, bounds{1, rewards.MaxEmail})
	if text == "" {
		return ""
	}
	if !isEmail(text) {
		f.issue(name, "must be an email address")
	}
	return text
}

// isEmail tells whether a text is one bare address: no display name, no comment, a
// domain of host names, and nothing invisible.
func isEmail(text string) bool {
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text && address.String() != "<"+text+">" {
		return false
	}
	invisible := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) && r != ' ' }
	if strings.ContainsFunc(text, invisible) {
		return false
	}
	domain := text[strings.LastIndexByte(text, '@')+1:]
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

// listUsers answers GET /v1/users (specification, section 4.2).
func (s *server) listUsers(ctx context.Context, c call) (reply, error) {
	q := c.query()
	filters := filtersOf(q.values, "email", "externalId")
	filter := rewards.UserFilter{Email: q.text("email"), ExternalID: q.text("externalId")}
	p := page[rewards.User](s, c, q, filters)
	if err := q.err(); err != nil {
		return reply{}, err
	}
	limit := p.Limit
	p.Limit++ // one more tells whether there is a next page
	users, err := s.Service.Users(ctx, c.app, filter, p)
	if err != nil {
		return reply{}, err
	}
	a := reply{status: http.StatusOK}
	if len(users) > limit {
		users = users[:limit]
		a.link = next(s, c, filters, users[limit-1].ID, limit)
	}
	o := begin(nil)
	list(&o, "users", users, appendUser)
	a.body = o.end()
	return a, nil
}

// getUser answers GET /v1/users/{userId} (specification, section 4.3).
func (s *server) getUser(ctx context.Context, c call) (reply, error) {
	id, err := pathID[rewards.User](c, "userId")
	if err != nil {
		return reply{}, err
	}
	u, err := s.Service.User(ctx, c.app, id)
	if err != nil {
		return reply{}, err
	}
	return userReply(http.StatusOK, u), nil
}

func userReply(status int, u rewards.User) reply {
	o := begin(nil)
	o.name("user")
	o.b = appendUser(o.b, u)
	return reply{status: status, body: o.end()}
}

// appendUser writes a user (specification, section 2.1).
func appendUser(b []byte, u rewards.User) []byte {
	o := begin(b)
	o.id("id", u.ID)
	o.id("appId", u.AppID)
	o.optional("email", u.Email)
	o.optional("externalId", u.ExternalID)
	o.time("createdAt", u.CreatedAt())
	return o.end()
}
