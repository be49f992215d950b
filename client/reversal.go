package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// NewReversal takes an award back.
type NewReversal struct {
	IdempotencyKey string   `json:"idempotencyKey"`
	AmountUSD      *Decimal `json:"amountUsd,omitempty"` // nil: all that is left of the award
	Reason         string   `json:"reason,omitempty"`
}

// Reversal is a part of an award that was taken back.
type Reversal struct {
	ID             string     `json:"id"`
	AppID          string     `json:"appId"`
	RewardID       string     `json:"rewardId"`
	UserID         string     `json:"userId"`
	IdempotencyKey string     `json:"idempotencyKey"`
	AmountUSD      Decimal    `json:"amountUsd"`
	Quantity       Decimal    `json:"quantity"` // shares
	Reason         string     `json:"reason"`
	Status         string     `json:"status"` // "pending" or "completed"
	CreatedAt      time.Time  `json:"createdAt"`
	CompletedAt    *time.Time `json:"completedAt"`
}

func (r *Reversal) missing() bool { return r.ID == "" }

// ReversalFilter selects reversals; a zero one selects all.
type ReversalFilter struct{ RewardID, UserID, Status string }

// Reverse takes an award back once, however often it is called with the same content.
func (c *Client) Reverse(ctx context.Context, rewardID string, r NewReversal) (Reversal, error) {
	path := "/v1/rewards/" + url.PathEscape(rewardID) + "/reversals"
	return ask[Reversal](ctx, c, http.MethodPost, path, r, "reversal")
}

// Reversal reads a reversal.
func (c *Client) Reversal(ctx context.Context, id string) (Reversal, error) {
	return ask[Reversal](ctx, c, http.MethodGet, "/v1/reversals/"+url.PathEscape(id), nil, "reversal")
}

// Reversals goes through the reversals, newest first. After an error it ends.
func (c *Client) Reversals(ctx context.Context, f ReversalFilter) iter.Seq2[Reversal, error] {
	return List[Reversal](ctx, c, "/v1/reversals",
		query("rewardId", f.RewardID, "userId", f.UserID, "status", f.Status))
}
