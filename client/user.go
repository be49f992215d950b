package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// NewUser is a user to create, with an email, an external id or both.
type NewUser struct {
	Email      string `json:"email,omitempty"`
	ExternalID string `json:"externalId,omitempty"`
}

// User is one of the app's customers.
type User struct {
	ID         string    `json:"id"`
	AppID      string    `json:"appId"`
	Email      string    `json:"email"`      // "" without one
	ExternalID string    `json:"externalId"` // "" without one
	CreatedAt  time.Time `json:"createdAt"`
}

func (u *User) missing() bool { return u.ID == "" }

// UserChange changes a user. A nil member stays.
type UserChange struct {
	Email, ExternalID *string
	EraseEmail        bool // remove the email
	EraseExternalID   bool // remove the external id
}

// MarshalJSON implements json.Marshaler.
func (u UserChange) MarshalJSON() ([]byte, error) {
	members := map[string]*string{}
	if u.Email != nil || u.EraseEmail {
		members["email"] = u.Email
	}
	if u.ExternalID != nil || u.EraseExternalID {
		members["externalId"] = u.ExternalID
	}
	return json.Marshal(members)
}

// UserFilter selects users; a zero one selects all.
type UserFilter struct{ Email, ExternalID string }

// Holding is a user's shares of one stock.
type Holding struct {
	Asset     string  `json:"asset"`
	Quantity  Decimal `json:"quantity"` // shares
	Value     Decimal `json:"value"`    // US dollars
	CostBasis Decimal `json:"costBasis"`
	Change    *string `json:"change"` // such as "+5.12%"; nil without a cost basis
}

// Portfolio is what a user holds, at market prices in US dollars.
type Portfolio struct {
	Value     Decimal   `json:"value"`
	CostBasis Decimal   `json:"costBasis"`
	Change    *string   `json:"change"` // such as "+5.12%"; nil without a cost basis
	Holdings  []Holding `json:"holdings"`
}

func (p *Portfolio) missing() bool { return p.Holdings == nil }

// CreateUser creates a user. After a lost answer it finds the user that it created, so it can
// be called again. It fails with CodeConflict when another user has the email or the id.
func (c *Client) CreateUser(ctx context.Context, u NewUser) (User, error) {
	r, err := newRequest(http.MethodPost, "/v1/users", u)
	if err != nil {
		return User{}, err
	}
	r.repeatable = true
	answer := member[User]{name: "user"}
	o, err := c.send(ctx, r, &answer)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != CodeConflict || !o.uncertain {
		return answer.value, err
	}
	var taken struct{ UserID string }
	if json.Unmarshal(e.Details, &taken) != nil {
		return User{}, err
	}
	found, readErr := c.User(ctx, taken.UserID)
	if readErr != nil || !strings.EqualFold(found.Email, u.Email) || found.ExternalID != u.ExternalID {
		return User{}, err
	}
	return found, nil
}

// User reads a user.
func (c *Client) User(ctx context.Context, id string) (User, error) {
	return ask[User](ctx, c, http.MethodGet, "/v1/users/"+url.PathEscape(id), nil, "user")
}

// ChangeUser changes a user's email or external id.
func (c *Client) ChangeUser(ctx context.Context, id string, change UserChange) (User, error) {
	return ask[User](ctx, c, http.MethodPatch, "/v1/users/"+url.PathEscape(id), change, "user")
}

// Users goes through the users, newest first. After an error it ends.
func (c *Client) Users(ctx context.Context, f UserFilter) iter.Seq2[User, error] {
	return List[User](ctx, c, "/v1/users", query("email", f.Email, "externalId", f.ExternalID))
}

// Portfolio reads what a user holds. It fails with CodeUpstream when a price is missing.
func (c *Client) Portfolio(ctx context.Context, userID string) (Portfolio, error) {
	var p Portfolio
	err := c.Do(ctx, http.MethodGet, "/v1/users/"+url.PathEscape(userID)+"/portfolio", nil, &p)
	return p, err
}
