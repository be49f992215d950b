package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// CorporateAction is a split, a dividend, a merger or another event of a stock.
type CorporateAction struct {
	ID             string     `json:"id"`
	Type           string     `json:"type"` // such as "forward_split"
	AssetSymbol    string     `json:"assetSymbol"`
	NewAssetSymbol string     `json:"newAssetSymbol"` // "" when it does not change
	OldRate        *Decimal   `json:"oldRate"`
	NewRate        *Decimal   `json:"newRate"`
	CashRate       *Decimal   `json:"cashRate"`
	ExDate         string     `json:"exDate"` // YYYY-MM-DD
	Status         string     `json:"status"` // such as "applied"
	AppliedAt      *time.Time `json:"appliedAt"`
	Note           string     `json:"note"`
}

func (a *CorporateAction) missing() bool { return a.ID == "" }

// Effect is what a corporate action did to a user's holding.
type Effect struct {
	UserID          string   `json:"userId"`
	AssetSymbol     string   `json:"assetSymbol"`
	QuantityBefore  Decimal  `json:"quantityBefore"`
	QuantityAfter   Decimal  `json:"quantityAfter"`
	CostBasisBefore Decimal  `json:"costBasisBefore"`
	CostBasisAfter  Decimal  `json:"costBasisAfter"`
	AmountUSD       *Decimal `json:"amountUsd"` // the user's share in cash
}

// ActionFilter selects corporate actions; a zero one selects all.
type ActionFilter struct{ AssetSymbol, Status string }

// CorporateActions goes through the actions of stocks that users hold or held, newest first.
func (c *Client) CorporateActions(ctx context.Context, f ActionFilter) iter.Seq2[CorporateAction, error] {
	return List[CorporateAction](ctx, c, "/v1/corporate-actions",
		query("assetSymbol", f.AssetSymbol, "status", f.Status))
}

// CorporateAction reads a corporate action.
func (c *Client) CorporateAction(ctx context.Context, id string) (CorporateAction, error) {
	path := "/v1/corporate-actions/" + url.PathEscape(id)
	return ask[CorporateAction](ctx, c, http.MethodGet, path, nil, "corporateAction")
}

// Effects goes through what a corporate action did to the app's users.
func (c *Client) Effects(ctx context.Context, id string) iter.Seq2[Effect, error] {
	return List[Effect](ctx, c, "/v1/corporate-actions/"+url.PathEscape(id)+"/effects", nil)
}
