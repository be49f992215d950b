package rewards_test

import (
	"context"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// splitting is a store and a market whose one stock splits 1:4 while a portfolio is read.
type splitting struct {
	rewards.Store

	kept, stored, priced, known int64 // generations: in memory, in the store, of the market, and in its store
	forgotten                   int
}

func (s *splitting) Assets(context.Context) ([]rewards.Asset, error) {
	return []rewards.Asset{{ID: 1, Symbol: "AAPL", Enabled: true}}, nil
}

func (s *splitting) Holdings(context.Context, rewards.AppID, rewards.UserID) ([]rewards.Holding, error) {
	return []rewards.Holding{{AssetID: 1, Quantity: 2 * money.Share << (2 * s.kept), CostBasis: money.Dollar, Generation: s.kept}}, nil
}

func (s *splitting) ForgetHoldings(rewards.AppID, rewards.UserID) {
	s.kept, s.forgotten = s.stored, s.forgotten+1
}

func (s *splitting) Price(_ rewards.AssetID, generation int64) (money.Price, bool) {
	return 400_000_000_000 >> (2 * s.priced), generation == s.priced
}

func (s *splitting) Generation(rewards.AssetID) int64 { return s.priced }

func (s *splitting) Reload(context.Context) error {
	s.priced = s.known
	return nil
}

// Units that change while a portfolio is read never mix, and the answer is never missing: whoever is
// behind reads again.
func TestPortfolioOverAChangeOfUnits(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*splitting{
		"nothing changed":           {},
		"the prices are behind":     {kept: 1, stored: 1, known: 1},
		"the holdings are behind":   {stored: 1, priced: 1, known: 1},
		"the prices are two behind": {kept: 2, stored: 2, known: 2},
		"both are behind":           {stored: 2, priced: 1, known: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := rewards.NewService(s, nil, s, time.Now).Portfolio(t.Context(), rewards.AppID{}, rewards.UserID{})
			if err != nil || p.Value != 800*money.Dollar || s.forgotten > 1 {
				t.Errorf("worth %s, %v; forgotten %d times", p.Value, err, s.forgotten)
			}
		})
	}
}
