package audit_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// desk is a broker that agrees with the books of a history, until a test changes it.
type desk struct {
	*audittest.World
	copy      *audittest.Copy
	first     map[string]audit.BrokerOrder // by the name of the order in the history
	last      map[string]audit.BrokerOrder
	positions map[string]audit.BrokerPosition // by symbol
	now       time.Time
}

// newDesk mirrors a history.
func newDesk(t *testing.T, in audittest.Place) *desk {
	t.Helper()
	w := audittest.History(t, in)
	audittest.Exec(t, audittest.Open(t, w.Where), `INSERT INTO settings (name, value) VALUES
		('installation_id', 'test'), ('broker_kind', 'paper'), ('broker_account', 'acct')`)
	d := &desk{
		World: w, copy: w.Copy(t), now: w.Now.Add(5 * time.Minute),
		first: make(map[string]audit.BrokerOrder), positions: make(map[string]audit.BrokerPosition),
	}
	for name, id := range w.IDs {
		o, err := w.Order(t.Context(), id)
		if err != nil || o.Attempts == 0 || o.State == rewards.OrderRefused || o.State == rewards.OrderSubmitted && o.BrokerID == "" {
			continue
		}
		d.first[name] = mirror(o)
		p := d.positions[o.Symbol]
		p.Symbol = o.Symbol
		p.Qty += o.FilledQty
		d.positions[o.Symbol] = p
	}
	d.last = maps.Clone(d.first)
	return d
}

// clone returns a desk that can be changed without changing d; they share the store.
func (d *desk) clone() *desk {
	c := *d
	c.first, c.last, c.positions = maps.Clone(d.first), maps.Clone(d.last), maps.Clone(d.positions)
	return &c
}

// mirror is an order as a broker that agrees tells of it.
func mirror(o rewards.Order) audit.BrokerOrder {
	b := audit.BrokerOrder{
		ClientOrderID: o.ClientOrderID, BrokerID: o.BrokerID, Symbol: o.Symbol, Side: "buy",
		Status: o.BrokerStatus, Notional: o.Notional, FilledQty: o.FilledQty, AveragePrice: o.FilledAvgPrice,
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

// both changes an order in both readings.
func (d *desk) both(name string, change func(*audit.BrokerOrder)) {
	b := d.last[name]
	change(&b)
	d.first[name], d.last[name] = b, b
}

// drop makes the broker forget an order.
func (d *desk) drop(name string) {
	delete(d.first, name)
	delete(d.last, name)
}

// known makes the broker tell of an order of the history that it did not have.
func (d *desk) known(t *testing.T, name, status string, qty money.Shares, price money.Price) {
	t.Helper()
	o, err := d.Order(t.Context(), d.IDs[name])
	check(t, err)
	b := mirror(o)
	b.Status, b.FilledQty, b.AveragePrice = status, qty, price
	d.first[name], d.last[name] = b, b
}

// hold adds shares to a position.
func (d *desk) hold(symbol string, qty money.Shares) {
	p := d.positions[symbol]
	p.Symbol, p.Qty = symbol, p.Qty+qty
	d.positions[symbol] = p
}

func (d *desk) side() audit.BrokerSide {
	s := audit.BrokerSide{
		First: slices.Collect(maps.Values(d.first)), Positions: slices.Collect(maps.Values(d.positions)),
		Last: slices.Collect(maps.Values(d.last)),
	}
	slices.SortFunc(s.First, func(a, b audit.BrokerOrder) int { return strings.Compare(a.ClientOrderID, b.ClientOrderID) })
	return s
}

// books reads what is compared.
func (d *desk) books(t *testing.T) *audit.BrokerBooks {
	t.Helper()
	file, err := open(t.Context(), d.copy.Where)
	check(t, err)
	books, err := audit.ReadBrokerBooks(t.Context(), file)
	check(t, errors.Join(err, file.Close()))
	return books
}

func (d *desk) compare(t *testing.T) audit.BreaksReport {
	t.Helper()
	return audit.Compare(d.books(t), d.side(), d.now)
}

// lines are the items of a report, sorted.
func lines(r audit.BreaksReport) []string {
	var list []string
	for _, i := range r.Items {
		list = append(list, string(i.Severity)+" "+i.Code+" "+i.Symbol)
	}
	slices.Sort(list)
	return list
}

// added are the lines that a second report has beyond the first, and those that it lacks.
func added(before, after []string) []string {
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
