package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// holder is a user and a stock.
type holder struct {
	app   rewards.AppID
	user  rewards.UserID
	asset rewards.AssetID
}

// stock has the totals of a stock.
type stock struct {
	symbol string
	filled money.Shares // by settled orders, changed by corporate actions and corrections
	booked money.Shares // as stored
	house  money.Shares // as stored, with those of acknowledged orders that are not booked
	held   money.Shares // by users
	busy   bool         // live orders may make the broker's position differ
}

// waiting counts what is not bought yet of the rewards in a status.
type waiting struct {
	rewards int
	dollars money.USD
}

// totals is read before the first line is written. It grows with the number of stocks and
// of partly bought rewards, not with the number of rewards.
type totals struct {
	symbols      map[rewards.AssetID]string
	stocks       map[rewards.AssetID]*stock // those with an order or a holding
	due          money.USD                  // by apps, for holdings and partly bought rewards
	partly       map[holder]money.USD       // dollars spent on rewards that are not complete
	uncounted    map[holder]money.USD       // the same, without a holding yet
	waiting      map[rewards.Status]waiting // by status
	acknowledged []acknowledgedOrder
	positions    *Positions // may be nil
	notCompared  []string   // symbols of busy stocks, sorted
	last         time.Time  // the latest transaction so far
	switches     []rewards.Switch
	receipts     []rewards.Receipt
	corrections  []rewards.Correction
	houseCost    map[rewards.AssetID]generationCost
}

func readTotals(ctx context.Context, source Source, positions *Positions) (*totals, error) {
	t := &totals{
		symbols: map[rewards.AssetID]string{}, stocks: map[rewards.AssetID]*stock{},
		partly: map[holder]money.USD{}, waiting: map[rewards.Status]waiting{}, positions: positions,
		houseCost: map[rewards.AssetID]generationCost{},
	}
	assets, err := source.Assets(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range assets {
		t.symbols[a.ID] = a.Symbol
	}
	orders, err := source.Acknowledged(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		o.Symbol = cmp.Or(t.symbols[o.AssetID], o.Symbol)
		t.acknowledged = append(t.acknowledged, acknowledgedOrder{AcknowledgedOrder: o})
	}
	if err := source.Fills(ctx, t.addFill); err != nil {
		return nil, err
	}
	if err := t.readActions(ctx, source); err != nil {
		return nil, err
	}
	if err := source.Pending(ctx, t.addPending); err != nil {
		return nil, err
	}
	t.uncounted = maps.Clone(t.partly)
	if err := source.Holdings(ctx, t.addHolding); err != nil {
		return nil, err
	}
	for _, s := range t.stocks {
		if s.busy && positions != nil {
			t.notCompared = append(t.notCompared, s.symbol)
		}
	}
	slices.Sort(t.notCompared)
	for _, symbol := range t.commodities() {
		if err := checkSymbol(symbol); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// stock returns the totals of a stock.
func (t *totals) stock(id rewards.AssetID) (*stock, error) {
	if s, ok := t.stocks[id]; ok {
		return s, nil
	}
	symbol, ok := t.symbols[id]
	if !ok {
		return nil, fmt.Errorf("the asset %d is not in the catalog", id)
	}
	s := &stock{symbol: symbol}
	t.stocks[id] = s
	return s, nil
}

func (t *totals) addFill(f rewards.Fill) error {
	s, err := t.stock(f.AssetID)
	if err != nil {
		return err
	}
	if f.State == rewards.OrderSettled {
		if s.filled, err = money.AddShares(s.filled, f.Filled); err != nil {
			return err
		}
	}
	if !f.State.Final() || t.positions != nil && !f.SettledAt.Before(t.positions.Asked) {
		s.busy = true
	}
	return nil
}

func (t *totals) addPending(r rewards.PendingReward) (err error) {
	w := t.waiting[r.Status]
	w.rewards++
	if w.dollars, err = money.AddUSD(w.dollars, r.Amount-r.Booked); err != nil {
		return err
	}
	t.waiting[r.Status] = w
	if r.Booked == 0 {
		return nil
	}
	key := holder{r.AppID, r.UserID, r.AssetID}
	if t.partly[key], err = money.AddUSD(t.partly[key], r.Booked); err != nil {
		return err
	}
	t.due, err = money.AddUSD(t.due, r.Booked)
	return err
}

func (t *totals) addHolding(h rewards.UserHolding) error {
	delete(t.uncounted, holder{h.AppID, h.UserID, h.AssetID})
	s, err := t.stock(h.AssetID)
	if err != nil {
		return err
	}
	if s.held, err = money.AddShares(s.held, h.Quantity); err != nil {
		return err
	}
	t.due, err = money.AddUSD(t.due, h.CostBasis-h.Moved)
	return err
}

// commodities returns the symbols of every stock in the journal, sorted.
func (t *totals) commodities() []string {
	found := map[string]bool{}
	for _, s := range t.stocks {
		found[s.symbol] = true
	}
	for _, c := range t.acknowledged {
		found[c.Symbol] = true
	}
	if t.positions != nil {
		for _, p := range t.positions.List {
			found[p.Symbol] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// sortedStocks returns the stocks by symbol.
func (t *totals) sortedStocks() []*stock {
	return slices.SortedFunc(maps.Values(t.stocks), func(a, b *stock) int {
		return strings.Compare(a.symbol, b.symbol)
	})
}

// sortedUncounted returns the keys of uncounted, sorted by account.
func (t *totals) sortedUncounted() []holder {
	return slices.SortedFunc(maps.Keys(t.uncounted), func(a, b holder) int {
		return strings.Compare(t.accountOf(a), t.accountOf(b))
	})
}

// accountOf returns the account for the dollars of a user and a stock.
func (t *totals) accountOf(h holder) string { return receivableFor(h.app, h.user, t.symbols[h.asset]) }
