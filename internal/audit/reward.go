package audit

import (
	"errors"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// The stored statuses of a reward.
const (
	recorded = iota + 1
	executing
	executed
	failed
)

// reward is a row of rewards.
type reward struct {
	number                          int64 // in segments; else 0
	app, id, user, key, fingerprint string
	amount, asset                   int64
	symbol, source, metadata        string
	status, booked                  int64
	executedAt, counted             int64
	reason                          string
}

func (r *reward) name() string { return rewardName(r.app, r.id) }

// rewardScan reads the table in its physical order; by an index each page would be read many
// times.
func rewardScan(inSegments bool) reader.Stream[reward] {
	number, order := "0", ""
	if inSegments {
		number, order = "rowid", " ORDER BY rowid"
	}
	return reader.Stream[reward]{
		What: "rewards",
		Query: `SELECT ` + number + `, app_id, id, user_id, idempotency_key, fingerprint, amount, asset_id, symbol,
			source, metadata, status, booked, executed_at, failure_reason, counted FROM rewards` + order,
		Bind: func(r *reward) []any {
			return []any{
				&r.number, &r.app, &r.id, &r.user, &r.key, &r.fingerprint, &r.amount, &r.asset, &r.symbol, &r.source,
				&r.metadata, &r.status, &r.booked, &r.executedAt, &r.reason, &r.counted,
			}
		},
	}
}

// rewardStream reads the columns that scanRewards keeps.
func rewardStream() reader.Stream[reward] {
	return reader.Stream[reward]{
		What: "rewards with their orders",
		Bind: (*reward).sorted,
		Key:  func(r *reward) reader.Key { return reader.Key{r.app, r.id} },
	}
}

func (r *reward) sorted() []any {
	return []any{
		&r.app, &r.id, &r.user, &r.amount, &r.asset, &r.symbol, &r.status, &r.booked,
		&r.executedAt, &r.reason,
	}
}

// part is a reward's membership in an order. The state is 0 when the order does not exist.
type part struct {
	app, reward, order                 string
	amount                             int64
	state, asset, filledAt, generation int64
	settledAt                          int64
}

func (p *part) live() bool { return p.state > 0 && p.state < value.Settled }

func partStream() reader.Stream[part] {
	return reader.Stream[part]{
		What: "members by reward",
		Query: `SELECT m.app_id, m.reward_id, m.order_id, m.amount,
			coalesce(o.state, 0), coalesce(o.asset_id, 0), coalesce(o.filled_at, 0), coalesce(o.generation, 0),
			coalesce(o.settled_at, 0) FROM order_rewards m LEFT JOIN orders o ON o.id = m.order_id`,
		Sort: true,
		Bind: func(p *part) []any {
			return []any{
				&p.app, &p.reward, &p.order, &p.amount, &p.state, &p.asset, &p.filledAt, &p.generation, &p.settledAt,
			}
		},
		Key: func(p *part) reader.Key { return reader.Key{p.app, p.reward} },
	}
}

// allocation is a row of allocations.
type allocation struct {
	app, reward, order string
	amount, shares     int64
	user               string
	at, cost           int64
}

func (a *allocation) name() string {
	return "allocation of order " + value.UUID(a.order) + " to " + rewardName(a.app, a.reward)
}

func allocationsByReward() reader.Stream[allocation] {
	return reader.Stream[allocation]{
		What: "allocations by reward",
		Query: `SELECT app_id, reward_id, order_id, amount, shares, user_id, at, cost FROM allocations
			ORDER BY app_id, reward_id, order_id`,
		Bind: func(a *allocation) []any {
			return []any{&a.app, &a.reward, &a.order, &a.amount, &a.shares, &a.user, &a.at, &a.cost}
		},
		Key: func(a *allocation) reader.Key { return reader.Key{a.app, a.reward} },
	}
}

// rewardView is a reward with its parts and allocations, oldest first. Until it is final, its status
// is that of its row in open_rewards.
type rewardView struct {
	reward
	stored      int64 // the status in its row
	open        []openReward
	waiting     int64
	assets      map[int64]bool
	parts       []part
	allocations []allocation
	booked      value.Sum // the amounts of the allocations
	shares      value.Sum // of the allocations
}

func rewardName(app, id string) string {
	return "reward " + value.UUID(id) + " of app " + value.UUID(app)
}

// rewards checks every reward: first alone, then with its orders and allocations.
func (a *auditor) rewards() error {
	scanned := a.r.NewSorter()
	if err := a.scanRewards(scanned); err != nil {
		return err
	}
	rows, err := reader.OpenSorted(a.r, rewardStream(), scanned)
	if err != nil {
		return err
	}
	parts, err := reader.Open(a.r, partStream())
	if err != nil {
		return err
	}
	allocations, err := reader.Open(a.r, allocationsByReward())
	if err != nil {
		return err
	}
	open, err := reader.Open(a.r, openStream())
	if err != nil {
		return err
	}
	v := &rewardView{assets: a.assets}
	rules := rewardRules()
	var last reader.Key
	err = rows.Each(func(r *reward) error {
		*v = rewardView{
			reward: *r, assets: v.assets, parts: v.parts[:0], allocations: v.allocations[:0], open: v.open[:0],
		}
		k := reader.Key{r.app, r.id}
		err := errors.Join(a.claimParts(v, parts, allocations),
			open.Claim(k, func(o *openReward) { v.open = append(v.open, *o) }, a.strayOpen))
		if err != nil {
			return err
		}
		a.setOpen(v)
		a.checkID(r.id, k == last, v)
		last = k
		a.checkTenant(r.app, v)
		apply(a.t, rules, v)
		a.checkAllocations(v)
		return a.addLot(v)
	})
	if err != nil {
		return err
	}
	return errors.Join(parts.Rest(a.strayPart), open.Rest(a.strayOpen), allocations.Rest(a.strayAllocation))
}

// scanRewards checks each reward alone and keeps the columns that the other checks need.
func (a *auditor) scanRewards(into *reader.Sorter) error {
	segments, err := a.openSegments()
	if err != nil {
		return err
	}
	if err := a.readArrivals(); err != nil {
		return err
	}
	rows, err := reader.Open(a.r, rewardScan(a.inSegments))
	if err != nil {
		return err
	}
	alone := []rule[*reward]{{checkFingerprint, a.fingerprint}}
	noRow := "" // the reward's key names it
	kept, key := rows.Row.sorted(), []any{&rows.Row.app, &rows.Row.key, &noRow}
	err = rows.Each(func(r *reward) error {
		apply(a.t, alone, r)
		a.checkArrival(r)
		return errors.Join(into.Add(kept), a.keys.Add(key), segments.add(r), a.countInBudgets(r))
	})
	if err != nil {
		return err
	}
	return segments.end()
}

func (a *auditor) claimParts(v *rewardView, parts *reader.Cursor[part], allocations *reader.Cursor[allocation]) error {
	k := reader.Key{v.app, v.id}
	err := parts.Claim(k, func(p *part) {
		a.t.row(checkTenancy)
		v.parts = append(v.parts, *p)
	}, a.strayPart)
	if err != nil {
		return err
	}
	return allocations.Claim(k, func(b *allocation) {
		a.t.row(checkTenancy)
		v.allocations = append(v.allocations, *b)
		v.booked.Add(b.amount)
		v.shares.Add(b.shares)
	}, a.strayAllocation)
}

func (a *auditor) strayPart(p *part) {
	a.notInApp("member of order "+value.UUID(p.order), p.app, "reward", p.reward)
}

func (a *auditor) strayAllocation(b *allocation) {
	a.notInApp("allocation of order "+value.UUID(b.order), b.app, "reward", b.reward)
}

// checkAllocations checks that each allocation of a reward belongs to another settled order that
// carried the reward.
func (a *auditor) checkAllocations(v *rewardView) {
	next := 0
	for i := range v.allocations {
		b := &v.allocations[i]
		a.t.row(checkAllocationUnique)
		if i > 0 && b.order == v.allocations[i-1].order {
			a.t.fail(checkAllocationUnique, b.name(), "another allocation", "one")
		}
		for next < len(v.parts) && v.parts[next].order < b.order {
			next++
		}
		a.t.row(checkAllocationMember)
		switch {
		case next == len(v.parts) || v.parts[next].order != b.order:
			a.t.fail(checkAllocationMember, b.name(), "an order that did not carry it", "an order that did")
		case v.parts[next].state != value.Settled:
			a.t.fail(checkAllocationMember, b.name(),
				"an order that is "+value.OrderState(v.parts[next].state), "a settled order")
		default:
			a.checkActivity(v, b, v.parts[next].settledAt, i == len(v.allocations)-1)
		}
	}
}

// checkActivity checks what makes an allocation an entry of its user's activity. Then the entries add
// up to the holdings, which users compares with the allocations.
func (a *auditor) checkActivity(v *rewardView, b *allocation, settledAt int64, last bool) {
	a.t.row(checkActivity)
	want := allocation{user: v.user, at: settledAt}
	if last && v.status == executed {
		want.cost = v.amount
	}
	if found := (allocation{user: b.user, at: b.at, cost: b.cost}); found != want {
		a.t.fail(checkActivity, b.name(), found.activity(), want.activity())
	}
}

// activity describes what an allocation is in its user's activity.
func (a *allocation) activity() string {
	return "of user " + value.Hex(a.user) + ", at " + value.Time(a.at) + ", with a cost basis of " + value.USD(a.cost)
}
