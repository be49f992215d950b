package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Status is the state of an award. Executed and Failed are final.
type Status string

// The states of an award.
const (
	Recorded  Status = "recorded"
	Executing Status = "executing"
	Executed  Status = "executed"
	Failed    Status = "failed"
)

// Final reports whether the status never changes.
func (s Status) Final() bool { return s == Executed || s == Failed }

// NewReward is an award to give.
type NewReward struct {
	UserID string `json:"userId"`
	// IdempotencyKey names this award forever: derive it from what the award is for.
	IdempotencyKey string          `json:"idempotencyKey"`
	AmountUSD      Decimal         `json:"amountUsd"` // at most six decimals
	AssetSymbol    string          `json:"assetSymbol"`
	Source         string          `json:"source,omitempty"`
	Metadata       json.RawMessage `json:"metadata,omitempty"` // an object
}

// Reward is an award of stock.
type Reward struct {
	ID             string          `json:"id"`
	AppID          string          `json:"appId"`
	UserID         string          `json:"userId"`
	IdempotencyKey string          `json:"idempotencyKey"`
	AmountUSD      Decimal         `json:"amountUsd"`
	AssetSymbol    string          `json:"assetSymbol"`
	Source         string          `json:"source"` // "" without one
	Metadata       json.RawMessage `json:"metadata"`
	Status         Status          `json:"status"`
	CreatedAt      time.Time       `json:"createdAt"`
	ExecutedAt     *time.Time      `json:"executedAt"`
	FailureReason  string          `json:"failureReason"` // "" unless it failed
}

func (r *Reward) missing() bool { return r.ID == "" }

// Given is the answer to an award.
type Given struct {
	Reward Reward `json:"reward"`
	Replay bool   `json:"idempotentReplay"` // an earlier request recorded it
}

func (g *Given) missing() bool { return g.Reward.missing() }

// Result is what became of an item of a batch: a reward or an error.
type Result struct {
	Index  int     `json:"index"`
	Status int     `json:"status"` // that the request alone would have
	Reward *Reward `json:"reward"`
	Replay bool    `json:"idempotentReplay"`
	Error  *Error  `json:"error"`
}

// RewardFilter selects awards; a zero one selects all.
type RewardFilter struct {
	UserID, IdempotencyKey      string
	Status                      Status
	CreatedAfter, CreatedBefore time.Time // exclusive
}

// Award gives an award once, however often it is called with the same content: later calls
// return the first award. It fails with CodeConflict when the key has other content.
func (c *Client) Award(ctx context.Context, r NewReward) (Given, error) {
	var answer Given
	err := c.Do(ctx, http.MethodPost, "/v1/rewards", r, &answer)
	return answer, err
}

// AwardAll gives 1 to 1,000 awards, each as Award. The results are in their order.
func (c *Client) AwardAll(ctx context.Context, list []NewReward) ([]Result, error) {
	var answer struct{ Results []Result }
	err := c.Do(ctx, http.MethodPost, "/v1/rewards/batches", map[string]any{"rewards": list}, &answer)
	if err == nil && len(answer.Results) != len(list) {
		err = fmt.Errorf("the answer has %d results for %d awards", len(answer.Results), len(list))
	}
	for _, r := range answer.Results {
		if r.Error != nil {
			r.Error.Status, r.Error.Method, r.Error.Path = r.Status, http.MethodPost, "/v1/rewards/batches"
		}
	}
	return answer.Results, err
}

// Reward reads an award.
func (c *Client) Reward(ctx context.Context, id string) (Reward, error) {
	return ask[Reward](ctx, c, http.MethodGet, "/v1/rewards/"+url.PathEscape(id), nil, "reward")
}

// Await polls an award until its status is final or ctx ends. An award can wait for days while
// the market is closed: prefer events for many awards.
func (c *Client) Await(ctx context.Context, id string) (Reward, error) {
	const first, most = 100 * time.Millisecond, 10 * time.Second
	for wait := first; ; wait = min(2*wait, most) {
		r, err := c.Reward(ctx, id)
		if err != nil || r.Status.Final() {
			return r, err
		}
		if err := pause(ctx, wait); err != nil {
			return r, err
		}
	}
}

// Rewards goes through the awards, newest first. After an error it ends.
func (c *Client) Rewards(ctx context.Context, f RewardFilter) iter.Seq2[Reward, error] {
	return List[Reward](ctx, c, "/v1/rewards", query(
		"userId", f.UserID, "status", string(f.Status), "idempotencyKey", f.IdempotencyKey,
		"createdAfter", instant(f.CreatedAfter), "createdBefore", instant(f.CreatedBefore)))
}

// instant writes a time for a query; "" for the zero time.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Asset is a stock that can be given.
type Asset struct {
	Symbol string `json:"symbol"`
	Name   string `json:"name"`
}

// Assets lists the catalog, sorted by symbol.
func (c *Client) Assets(ctx context.Context) ([]Asset, error) {
	return ask[[]Asset](ctx, c, http.MethodGet, "/v1/assets", nil, "assets")
}
