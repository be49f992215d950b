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
	a.custody()
	for _, pass := range []func() error{a.booked, a.holds, a.spending, a.topUps} {
		if err := pass(); err != nil {
			return err
		}
	}
	return nil
}

// custody checks that users and house hold what the orders filled.
func (a *auditor) custody() {
	for _, asset := range slices.Sorted(maps.Keys(a.positions)) {
		a.t.row(checkCustody)
		p := a.positions[asset]
		if p.held.Plus(p.house) != p.filled {
			a.t.fail(checkCustody, value.Asset(asset),
				p.held.Shares()+" of the users and "+p.house.Shares()+" of the house",
				p.filled.Shares()+", the sum of its fills")
		}
	}
}

// booked checks the running totals of the assets.
func (a *auditor) booked() error {
	type position struct{ asset, booked int64 }
	const sum = ", the sum of its settled orders"
	stored := make(map[int64]bool)
	err := reader.Each(a.r, reader.Stream[position]{
		What: "positions", Query: `SELECT asset_id, booked FROM positions`,
		Bind: func(p *position) []any { return []any{&p.asset, &p.booked} },
	}, func(p *position) {
		a.t.row(checkCustody)
		a.checkAsset(p.asset, label("position"))
		filled := a.position(p.asset).filled
		switch {
		case stored[p.asset]:
			a.t.fail(checkCustody, value.Asset(p.asset), "another position", "one")
		case !filled.Is(p.booked):
			a.t.fail(checkCustody, value.Asset(p.asset), value.Shares(p.booked), filled.Shares()+sum)
		}
		stored[p.asset] = true
	})
	if err != nil {
		return err
	}
	for _, asset := range slices.Sorted(maps.Keys(a.positions)) {
		if p := a.positions[asset]; !stored[asset] && !p.filled.Is(0) {
			a.t.row(checkCustody)
			a.t.fail(checkCustody, value.Asset(asset), "no position", p.filled.Shares()+sum)
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
	type spent struct{ day, notional, house int64 }
	err := reader.Each(a.r, reader.Stream[spent]{
		What: "spending", Query: `SELECT day, notional, house FROM spending`,
		Bind: func(s *spent) []any { return []any{&s.day, &s.notional, &s.house} },
	}, func(s *spent) {
		a.t.row(checkSpending)
		d, row := a.day(s.day), "spending of "+value.Time(s.day)
		switch {
		case d.stored:
			a.t.fail(checkSpending, row, "another row for the day", "one")
		case !d.notional.Is(s.notional) || !d.house.Is(s.house):
			a.t.fail(checkSpending, row, value.USD(s.notional)+", the house's part "+value.USD(s.house), d.describe())
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
