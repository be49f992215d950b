package audit

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

const (
	microsPerMilli = 1000
	microsPerDay   = int64(24 * time.Hour / time.Microsecond)
)

// dayTotal is what was ordered on a day, by the orders.
type dayTotal struct {
	notional, house wide
	stored          bool
}

func (a *auditor) day(start int64) *dayTotal {
	d := a.days[start]
	if d == nil {
		d = new(dayTotal)
		a.days[start] = d
	}
	return d
}

// totals checks what the orders come to by asset and by day.
func (a *auditor) totals(ctx context.Context) error {
	a.custody()
	if err := errors.Join(a.booked(ctx), a.holds(ctx), a.spending(ctx)); err != nil {
		return err
	}
	return a.topUps(ctx)
}

// total is a row of positions.
type total struct{ asset, booked int64 }

// booked checks the running totals of the stocks.
func (a *auditor) booked(ctx context.Context) error {
	stored := make(map[int64]bool)
	err := readAll(ctx, a, stream[total]{
		what: "positions", query: `SELECT asset_id, booked FROM positions`,
		bind: func(t *total) []any { return []any{&t.asset, &t.booked} },
		key:  func(*total) key { return key{} },
	}, func(t *total) {
		a.t.row(checkCustody)
		a.checkAsset(t.asset, label("position"))
		filled := a.position(t.asset).filled
		switch {
		case stored[t.asset]:
			a.t.fail(checkCustody, "asset "+number(t.asset), "another row of it", "one")
		case !filled.is(t.booked):
			a.t.fail(checkCustody, "asset "+number(t.asset), shares(t.booked),
				filled.shares()+", the sum of its settled orders")
		}
		stored[t.asset] = true
	})
	if err != nil {
		return err
	}
	for _, asset := range slices.Sorted(maps.Keys(a.positions)) {
		if p := a.positions[asset]; !stored[asset] && !p.filled.is(0) {
			a.t.row(checkCustody)
			want := p.filled.shares() + ", the sum of its settled orders"
			a.t.fail(checkCustody, "asset "+number(asset), "no row", want)
		}
	}
	return nil
}

// held is from when something holds an asset.
type held struct{ asset, from int64 }

// holds checks that the holds of the assets follow from the corporate actions.
func (a *auditor) holds(ctx context.Context) error {
	from := make(map[int64]int64)
	read := func(what, query string, each func(*held)) error {
		return readAll(ctx, a, stream[held]{
			what: what, query: query,
			bind: func(h *held) []any { return []any{&h.asset, &h.from} },
			key:  func(*held) key { return key{} },
		}, each)
	}
	err := read("actions", `SELECT asset_id, CASE WHEN state = 2 THEN 1 ELSE hold_from END FROM actions
		WHERE state IN (1, 2) AND hold_from > 0`, func(h *held) {
		a.checkAsset(h.asset, label("corporate action"))
		if first, known := from[h.asset]; !known || h.from < first {
			from[h.asset] = h.from
		}
	})
	if err != nil {
		return err
	}
	return read("assets", `SELECT id, hold_from FROM assets`, func(h *held) {
		a.t.row(checkAssetKnown)
		if want := from[h.asset]; h.from != want {
			a.t.fail(checkAssetKnown, "asset "+number(h.asset), "held from "+micros(h.from),
				"from "+micros(want)+", by its actions")
		}
	})
}

func (a *auditor) custody() {
	for _, asset := range slices.Sorted(maps.Keys(a.positions)) {
		a.t.row(checkCustody)
		p := a.positions[asset]
		if p.held.plus(p.house) != p.filled {
			a.t.fail(checkCustody, "asset "+number(asset),
				p.held.shares()+" of the users and "+p.house.shares()+" of the house",
				p.filled.shares()+", what was filled")
		}
	}
}

// spent is a row of spending.
type spent struct{ day, notional, house int64 }

func (a *auditor) spending(ctx context.Context) error {
	err := readAll(ctx, a, stream[spent]{
		what: "spending", query: `SELECT day, notional, house FROM spending`,
		bind: func(s *spent) []any { return []any{&s.day, &s.notional, &s.house} },
		key:  func(*spent) key { return key{} },
	}, func(s *spent) {
		a.t.row(checkSpending)
		d, row := a.day(s.day), "spending of "+micros(s.day)
		switch {
		case d.stored:
			a.t.fail(checkSpending, row, "another row of that day", "one")
		case !d.notional.is(s.notional) || !d.house.is(s.house):
			a.t.fail(checkSpending, row, usd(s.notional)+", of it the house's "+usd(s.house),
				d.notional.usd()+", of it the house's "+d.house.usd()+", the sum of the day's orders")
		}
		d.stored = true
	})
	if err != nil {
		return err
	}
	for _, start := range slices.Sorted(maps.Keys(a.days)) {
		if d := a.days[start]; !d.stored {
			a.t.row(checkSpending)
			a.t.fail(checkSpending, "spending of "+micros(start), "no row",
				d.notional.usd()+", of it the house's "+d.house.usd()+", the sum of the day's orders")
		}
	}
	return nil
}

// topUp is a row of house_topups: what the house added for an app on a day.
type topUp struct{ day, amount int64 }

// topUps checks that the apps were charged for no more than the house added.
func (a *auditor) topUps(ctx context.Context) error {
	charged := make(map[int64]wide)
	err := readAll(ctx, a, stream[topUp]{
		what: "house_topups", query: `SELECT day, amount FROM house_topups`,
		bind: func(t *topUp) []any { return []any{&t.day, &t.amount} },
		key:  func(*topUp) key { return key{} },
	}, func(t *topUp) {
		charged[t.day] = charged[t.day].plus(wideOf(t.amount))
	})
	if err != nil {
		return err
	}
	for _, start := range slices.Sorted(maps.Keys(charged)) {
		a.t.row(checkSpending)
		if d := a.day(start); d.house.less(charged[start]) {
			a.t.fail(checkSpending, "house_topups of "+micros(start), charged[start].usd(),
				"at most "+d.house.usd()+", what the house added to the day's orders")
		}
	}
	return nil
}
