package audit

import (
	"maps"
	"slices"
	"time"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

const microsPerDay = int64(24 * time.Hour / time.Microsecond)

// dayTotal is the sum of a day's orders.
type dayTotal struct {
	notional, house value.Sum
	stored          bool // spending has a row for the day
}

func (d *dayTotal) describe() string {
	return d.notional.USD() + ", the house's part " + d.house.USD() + ", the sum of the day's orders"
}

func (a *auditor) day(start int64) *dayTotal { return entryOf(a.days, start) }

// totals checks the totals of the orders by asset and by day.
func (a *auditor) totals() error {
	a.moveShares()
	a.checkSums()
	for _, pass := range []func() error{
		a.corrections, a.booked, a.houses, a.holds, a.readPayouts, a.readAppAssets, a.spending, a.topUps,
	} {
		if err := pass(); err != nil {
			return err
		}
	}
	return nil
}

// assetSum is a number of shares of an asset.
type assetSum struct{ asset, quantity int64 }

func assetSums(what, query string) reader.Stream[assetSum] {
	return reader.Stream[assetSum]{
		What: what, Query: query, Bind: func(p *assetSum) []any { return []any{&p.asset, &p.quantity} },
	}
}

// correction is a row of order_corrections with its order.
type correction struct {
	order                             string
	number, filled, change            int64
	state, asset, generation, ordered int64
}

// corrections adds what the broker corrected of settled orders and of positions.
func (a *auditor) corrections() error {
	var last correction
	err := reader.Each(a.r, reader.Stream[correction]{
		What: "corrections of orders",
		Query: `SELECT c.order_id, c.number, c.filled_qty, c.change, coalesce(o.state, 0), coalesce(o.asset_id, 0),
			coalesce(o.generation, 0), coalesce(o.filled_qty, 0) FROM order_corrections c
			LEFT JOIN orders o ON o.id = c.order_id ORDER BY c.order_id, c.number`,
		Bind: func(c *correction) []any {
			return []any{
				&c.order, &c.number, &c.filled, &c.change, &c.state, &c.asset, &c.generation, &c.ordered,
			}
		},
	}, func(c *correction) {
		a.t.row(checkReferences)
		if last.order != c.order {
			last = correction{filled: c.ordered}
		}
		row := "correction " + value.Int(c.number) + " of order " + value.UUID(c.order)
		switch {
		case c.state != value.Settled:
			a.t.fail(checkReferences, row, "an order that is "+value.OrderState(c.state), "a settled order")
		case c.number != last.number+1:
			a.t.fail(checkReferences, row, "after correction "+value.Int(last.number), "the next number")
		case !a.corrected(c, last.filled):
			a.t.fail(checkCustody, row, value.Shares(c.change)+" more", value.Shares(c.filled)+" less "+
				value.Shares(last.filled)+", in the units of a generation since the order's")
		}
		a.position(c.asset).corrected.Add(c.change)
		last = *c
	})
	if err != nil {
		return err
	}
	type given struct {
		activity              string
		asset, change, qty, n int64
	}
	return reader.Each(a.r, reader.Stream[given]{
		What: "corrections of positions",
		Query: `SELECT c.activity_id, c.asset_id, c.change, coalesce(b.qty, 0), CASE WHEN b.id IS NULL THEN 0 ELSE 1 END
			FROM position_corrections c LEFT JOIN broker_activities b ON b.id = c.activity_id`,
		Bind: func(c *given) []any { return []any{&c.activity, &c.asset, &c.change, &c.qty, &c.n} },
	}, func(c *given) {
		row := "correction of a position by the activity " + c.activity
		a.checkAsset(c.asset, label(row))
		a.t.row(checkCustody)
		if c.n != 1 || c.change != c.qty {
			a.t.fail(checkCustody, row, value.Shares(c.change), value.Shares(c.qty)+", as the stored activity says")
		}
		a.position(c.asset).corrected.Add(c.change)
	})
}

// corrected reports whether a correction changed the house's shares by its difference to the fill
// before, in the units of the order's generation or of a later one.
func (a *auditor) corrected(c *correction, before int64) bool {
	var since []*unitSwitch
	for _, w := range a.ofAsset[c.asset] {
		if w.generation > c.generation {
			since = append(since, w)
		}
	}
	for n := range len(since) + 1 {
		now, ok := converted(c.filled, since[:n])
		was, fits := converted(before, since[:n])
		if ok && fits && now-was == c.change {
			return true
		}
	}
	return false
}

// converted converts a quantity by switches, oldest first. One that is undone changes nothing.
func converted(q int64, list []*unitSwitch) (int64, bool) {
	undone := make(map[int64]bool)
	for _, w := range slices.Backward(list) {
		undone[w.undoes] = undone[w.undoes] || !undone[w.number]
	}
	ok := true
	for _, w := range list {
		if w.undoes == 0 && !undone[w.number] && ok {
			q, ok = value.MulDiv(q, w.keepNew, w.keepOld)
		}
	}
	return q, ok
}

// booked checks the running totals of the assets.
func (a *auditor) booked() error {
	return a.compareStored(assetSums("positions", `SELECT asset_id, booked FROM positions`), "position",
		func(p *position) value.Sum { return p.filled.Plus(p.moved).Plus(p.corrected) },
		"the sum of its settled orders, corporate actions and corrections")
}

// houses checks that the house has what the users do not have of the booked shares.
func (a *auditor) houses() error {
	stream := assetSums("the house's shares", `SELECT asset_id, quantity FROM house_holdings`)
	err := a.compareStored(stream, "row of the house",
		func(p *position) value.Sum { return p.ordered.Plus(p.residues).Plus(p.corrected).Plus(p.taken) },
		"the house's, by orders, corporate actions, corrections and reversals")
	if err != nil {
		return err
	}
	if err := reader.Each(a.r, stream, func(h *assetSum) { a.position(h.asset).house.Add(h.quantity) }); err != nil {
		return err
	}
	for _, asset := range slices.Sorted(maps.Keys(a.positions)) {
		a.t.row(checkCustody)
		p := a.positions[asset]
		if want := p.filled.Plus(p.moved).Plus(p.corrected).Minus(p.pending); p.held.Plus(p.house) != want {
			a.t.fail(checkCustody, value.Asset(asset),
				p.held.Shares()+" of the users and "+p.house.Shares()+" of the house", want.Shares()+" booked")
		}
	}
	return nil
}

// compareStored compares a stored total of each asset with what it must be. A missing row is zero.
func (a *auditor) compareStored(
	s reader.Stream[assetSum], what string, want func(*position) value.Sum, expected string,
) error {
	stored := make(map[int64]bool)
	err := reader.Each(a.r, s, func(p *assetSum) {
		a.t.row(checkCustody)
		a.checkAsset(p.asset, label(what))
		sum := want(a.position(p.asset))
		switch {
		case stored[p.asset]:
			a.t.fail(checkCustody, value.Asset(p.asset), "another "+what, "one")
		case !sum.Is(p.quantity):
			a.t.fail(checkCustody, value.Asset(p.asset), value.Shares(p.quantity)+" in the "+what,
				sum.Shares()+", "+expected)
		}
		stored[p.asset] = true
	})
	if err != nil {
		return err
	}
	for _, asset := range slices.Sorted(maps.Keys(a.positions)) {
		if sum := want(a.positions[asset]); !stored[asset] && !sum.Is(0) {
			a.t.row(checkCustody)
			a.t.fail(checkCustody, value.Asset(asset), "no "+what, sum.Shares()+", "+expected)
		}
	}
	return nil
}

// holds checks that assets are held exactly as their corporate actions say.
func (a *auditor) holds() error {
	type hold struct{ asset, from int64 }
	from := make(map[int64]int64)
	read := func(what, query string, each func(*hold)) error {
		return reader.Each(a.r, reader.Stream[hold]{
			What: what, Query: query,
			Bind: func(h *hold) []any { return []any{&h.asset, &h.from} },
		}, each)
	}
	err := read("actions", `SELECT asset_id, CASE WHEN state = 2 THEN 1 ELSE hold_from END FROM actions
		WHERE state IN (1, 2) AND hold_from > 0`, func(h *hold) {
		a.checkAsset(h.asset, label("corporate action"))
		if first, known := from[h.asset]; !known || h.from < first {
			from[h.asset] = h.from
		}
	})
	if err != nil {
		return err
	}
	return read("assets", `SELECT id, hold_from FROM assets`, func(h *hold) {
		a.t.row(checkAssetKnown)
		if want := from[h.asset]; h.from != want {
			a.t.fail(checkAssetKnown, value.Asset(h.asset), "held from "+value.Time(h.from),
				"from "+value.Time(want)+", by its actions")
		}
	})
}

// spending checks what the daily limits are measured by.
func (a *auditor) spending() error {
	type spent struct{ day, notional, house, shortage int64 }
	err := reader.Each(a.r, reader.Stream[spent]{
		What: "spending", Query: `SELECT day, notional, house, shortage FROM spending`,
		Bind: func(s *spent) []any { return []any{&s.day, &s.notional, &s.house, &s.shortage} },
	}, func(s *spent) {
		a.t.row(checkSpending)
		d, row := a.day(s.day), "spending of "+value.Time(s.day)
		switch {
		case d.stored:
			a.t.fail(checkSpending, row, "another row for the day", "one")
		case !d.notional.Is(s.notional) || !d.house.Is(s.house):
			a.t.fail(checkSpending, row, value.USD(s.notional)+", the house's part "+value.USD(s.house), d.describe())
		case s.shortage < 0 || s.shortage > s.house:
			a.t.fail(checkSpending, row, value.USD(s.shortage)+" for shares that the house owes",
				"from $0 to the house's part, "+value.USD(s.house))
		}
		d.stored = true
	})
	if err != nil {
		return err
	}
	for _, start := range slices.Sorted(maps.Keys(a.days)) {
		if d := a.days[start]; !d.stored {
			a.t.row(checkSpending)
			a.t.fail(checkSpending, "spending of "+value.Time(start), "no row", d.describe())
		}
	}
	return nil
}

// topUps checks that on each day the apps were charged at most what the house added.
func (a *auditor) topUps() error {
	type topUp struct{ day, amount int64 }
	charged := make(map[int64]value.Sum)
	err := reader.Each(a.r, reader.Stream[topUp]{
		What: "house_topups", Query: `SELECT day, amount FROM house_topups`,
		Bind: func(t *topUp) []any { return []any{&t.day, &t.amount} },
	}, func(t *topUp) {
		charged[t.day] = charged[t.day].Plus(value.SumOf(t.amount))
	})
	if err != nil {
		return err
	}
	for _, start := range slices.Sorted(maps.Keys(charged)) {
		a.t.row(checkSpending)
		if d := a.day(start); d.house.Less(charged[start]) {
			a.t.fail(checkSpending, "house_topups of "+value.Time(start), charged[start].USD(),
				"at most "+d.house.USD()+", which the house added to the day's orders")
		}
	}
	return nil
}
