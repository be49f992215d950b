package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Budget is a spending limit that the operator set for the app, in US dollars.
type Budget struct {
	Name     string     `json:"name"`
	Per      string     `json:"per"`    // "app" or "user"
	Period   string     `json:"period"` // "day", "month" or "total"
	LimitUSD Decimal    `json:"limitUsd"`
	UsedUSD  *Decimal   `json:"usedUsd"`  // nil when the limit is per user
	ResetsAt *time.Time `json:"resetsAt"` // nil for a total
}

// Budgets lists the app's spending limits, sorted by name.
func (c *Client) Budgets(ctx context.Context) ([]Budget, error) {
	return ask[[]Budget](ctx, c, http.MethodGet, "/v1/budgets", nil, "budgets")
}

// Activity is one change of a user's holding. For each stock the changes add up to the holding.
type Activity struct {
	ID                string    `json:"id"`
	Type              string    `json:"type"` // "award", "reversal" or a corporate action's type
	At                time.Time `json:"at"`
	AssetSymbol       string    `json:"assetSymbol"`
	Quantity          Decimal   `json:"quantity"`  // shares, with a sign
	CostBasis         Decimal   `json:"costBasis"` // US dollars, with a sign
	PriceUSD          *Decimal  `json:"priceUsd"`
	RewardID          string    `json:"rewardId"`          // "" without an award
	ReversalID        string    `json:"reversalId"`        // "" without a reversal
	CorporateActionID string    `json:"corporateActionId"` // "" without a corporate action
}

// Activity goes through what changed a user's holdings, newest first.
func (c *Client) Activity(ctx context.Context, userID string) iter.Seq2[Activity, error] {
	return List[Activity](ctx, c, "/v1/users/"+url.PathEscape(userID)+"/activity", nil)
}

// Moment is an entry of an award's timeline.
type Moment struct {
	At      time.Time       `json:"at"`
	Type    string          `json:"type"`
	Message string          `json:"message"` // a sentence for people
	Data    json.RawMessage `json:"data"`    // of an entry about an order; nil: none
}

// Timeline lists what happened to an award, oldest first. While it is not final, the last entry
// says what it waits for.
func (c *Client) Timeline(ctx context.Context, rewardID string) ([]Moment, error) {
	return ask[[]Moment](ctx, c, http.MethodGet, "/v1/rewards/"+url.PathEscape(rewardID)+"/timeline", nil, "timeline")
}
