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

	symbols []string // of the stock, one after the other
}

func (s *splitting) CatalogNumber() int64 { return int64(len(s.symbols)) }

func (s *splitting) Assets(context.Context) ([]rewards.Asset, error) {
	return []rewards.Asset{{ID: 1, Symbol: append([]string{"AAPL"}, s.symbols...)[len(s.symbols)], Enabled: true}}, nil
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

// A stock that was renamed, as this process knows, has its new symbol at once, although the catalog is kept for a while.
func TestARenamedStockAtOnce(t *testing.T) {
	t.Parallel()
	s := &splitting{}
	now := time.Now()
	service := rewards.NewService(s, nil, s, func() time.Time { return now })
	for _, want := range []string{"AAPL", "APPL", "PEAR"} {
		p, err := service.Portfolio(t.Context(), rewards.AppID{}, rewards.UserID{})
		list, failed := service.Catalog(t.Context())
		if err != nil || failed != nil || p.Holdings[0].Symbol != want || list[0].Symbol != want {
			t.Errorf("%+v, %v; %+v, %v; want %s", p, err, list, failed, want)
		}
		s.symbols = append(s.symbols, map[string]string{"AAPL": "APPL", "APPL": "PEAR"}[want])
	}
}
