package brokercheck_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/audit/brokercheck"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

func TestMain(m *testing.M) { audittest.Main(m) }

const (
	dollar = money.Dollar
	aShare = money.Share
	perUSD = audittest.PerUSD
)

var check = audittest.Check

// desk is a broker that agrees with a history, until a test changes it.
type desk struct {
	*audittest.World
	copy      *audittest.Copy
	first     map[string]brokercheck.Order // by the name of the order in the history
	last      map[string]brokercheck.Order
	positions map[string]brokercheck.Position // by symbol
	now       time.Time
}

func newDesk(t *testing.T, in audittest.Place) *desk {
	t.Helper()
	w := audittest.History(t, in)
	audittest.Exec(t, audittest.SQL(t, w.Where), `INSERT INTO settings (name, value) VALUES
		('installation_id', 'test'), ('broker_kind', 'paper'), ('broker_account', 'acct')
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`)
	d := &desk{
		World: w, copy: w.Copy(t), now: w.Now.Add(5 * time.Minute),
		first: make(map[string]brokercheck.Order), positions: make(map[string]brokercheck.Position),
	}
	for name, id := range w.IDs {
		o, err := w.Order(t.Context(), id)
		if err != nil || o.Attempts == 0 || o.State == rewards.OrderRefused || o.State == rewards.OrderSubmitted && o.BrokerID == "" {
			continue
		}
		d.first[name] = mirror(o)
		if !o.State.Final() {
			d.hold(o.Symbol, o.FilledQty)
		}
	}
	booked, err := w.Booked(t.Context())
	check(t, err)
	for _, b := range booked {
		d.hold(b.Symbol, b.Quantity)
	}
	d.last = maps.Clone(d.first)
	return d
}

// clone returns a desk with its own orders and positions; the store is shared.
func (d *desk) clone() *desk {
	c := *d
	c.first, c.last, c.positions = maps.Clone(d.first), maps.Clone(d.last), maps.Clone(d.positions)
	return &c
}

// mirror returns an order as an agreeing broker reports it.
func mirror(o rewards.Order) brokercheck.Order {
	b := brokercheck.Order{
		ClientOrderID: o.ClientOrderID, BrokerID: o.BrokerID, Symbol: o.Symbol, Side: "buy",
		Status: o.BrokerStatus, Notional: o.Notional, FilledQty: o.Corrected, AveragePrice: o.FilledAvgPrice,
		SubmittedAt: o.FirstAttemptAt, FilledAt: o.FilledAt,
	}
	if b.BrokerID == "" {
		b.BrokerID = "b-" + o.ClientOrderID
	}
	if b.Status == "" {
		b.Status = "new"
	}
	return b
}

// hold adds shares to a position.
func (d *desk) hold(symbol string, qty money.Shares) {
	p := d.positions[symbol]
	p.Symbol, p.Qty = symbol, p.Qty+qty
	d.positions[symbol] = p
}

func (d *desk) theirs() brokercheck.Theirs {
	return brokercheck.Theirs{
		First: slices.Collect(maps.Values(d.first)), Positions: slices.Collect(maps.Values(d.positions)),
		Last: slices.Collect(maps.Values(d.last)),
	}
}

func (d *desk) ours(t *testing.T) *brokercheck.Ours {
	t.Helper()
	store, err := audittest.Open(t.Context(), d.copy.Where)
	check(t, err)
	ours, err := brokercheck.Read(t.Context(), store)
	check(t, errors.Join(err, store.Close()))
	return ours
}

func (d *desk) compare(t *testing.T) brokercheck.Report {
	t.Helper()
	return brokercheck.Compare(d.ours(t), d.theirs(), d.now)
}

// lines returns the items of a report, sorted.
func lines(r brokercheck.Report) []string {
	var list []string
	for _, i := range r.Items {
		list = append(list, string(i.Severity)+" "+i.Code+" "+i.Symbol)
	}
	slices.Sort(list)
	return list
}

// diff returns the lines that were added and, marked, those that are gone.
func diff(before, after []string) []string {
	left := slices.Clone(before)
	var list []string
	for _, line := range after {
		if i := slices.Index(left, line); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		list = append(list, line)
	}
	for _, line := range left {
		list = append(list, "no more: "+line)
	}
	return list
}
