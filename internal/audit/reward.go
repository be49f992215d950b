package audit

import (
	"context"
	"errors"
)

// The stored numbers of a reward's status.
const (
	recorded = iota + 1
	executing
	executed
	failed
)

// reward is a row of rewards.
type reward struct {
	app, id, user, key, fingerprint string
	amount, asset                   int64
	symbol, source, metadata        string
	status, waiting, booked         int64
	executedAt                      int64
	reason                          string
}

func (r *reward) name() string { return rewardName(r.app, r.id) }

// rewardScan reads the table as it lies: by an index it would be read many times over.
func rewardScan() stream[reward] {
	return stream[reward]{
		what: "rewards",
		query: `SELECT app_id, id, user_id, idempotency_key, fingerprint, amount, asset_id, symbol, source,
			metadata, status, waiting, booked, executed_at, failure_reason FROM rewards`,
		bind: func(r *reward) []any {
			return []any{
				&r.app, &r.id, &r.user, &r.key, &r.fingerprint, &r.amount, &r.asset, &r.symbol, &r.source,
				&r.metadata, &r.status, &r.waiting, &r.booked, &r.executedAt, &r.reason,
			}
		},
		key: func(*reward) key { return key{} },
	}
}

// rewardStream is what is left of the rewards when each by itself was checked.
func rewardStream() stream[reward] {
	return stream[reward]{
		what: "rewards with their orders",
		bind: (*reward).sorted,
		key:  func(r *reward) key { return key{r.app, r.id} },
	}
}

func (r *reward) sorted() []any {
	return []any{
		&r.app, &r.id, &r.user, &r.amount, &r.asset, &r.symbol, &r.status, &r.waiting, &r.booked,
		&r.executedAt, &r.reason,
	}
}

// part is a reward's membership in an order; state is 0 when there is no such order.
type part struct {
	app, reward, order     string
	amount                 int64
	state, asset, filledAt int64
}

func (p *part) live() bool { return p.state > 0 && p.state < settled }

func partStream() stream[part] {
	return stream[part]{
		what: "members by reward",
		query: `SELECT m.app_id, m.reward_id, m.order_id, m.amount,
			coalesce(o.state, 0), coalesce(o.asset_id, 0), coalesce(o.filled_at, 0)
			FROM order_rewards m LEFT JOIN orders o ON o.id = m.order_id`,
		sort: true,
		bind: func(p *part) []any {
			return []any{&p.app, &p.reward, &p.order, &p.amount, &p.state, &p.asset, &p.filledAt}
		},
		key: func(p *part) key { return key{p.app, p.reward} },
	}
}

// allocation is a row of allocations.
type allocation struct {
	app, reward, order string
	amount, shares     int64
}

func (a *allocation) name() string {
	return "allocation of order " + uuid(a.order) + " to " + rewardName(a.app, a.reward)
}

func (a *allocation) bind() []any {
	return []any{&a.app, &a.reward, &a.order, &a.amount, &a.shares}
}

func allocationsByReward() stream[allocation] {
	return stream[allocation]{
		what: "allocations by reward",
		query: `SELECT app_id, reward_id, order_id, amount, shares FROM allocations
			ORDER BY app_id, reward_id, order_id`,
		bind: (*allocation).bind,
		key:  func(a *allocation) key { return key{a.app, a.reward} },
	}
}

// rewardView is a reward with its parts and its allocations, oldest first.
type rewardView struct {
	reward
	assets      map[int64]bool
	parts       []part
	allocations []allocation
	booked      wide // by its allocations
	shares      wide
}

func rewardName(app, id string) string { return "reward " + uuid(id) + " of app " + uuid(app) }

// rewards checks every reward by itself, then with what the orders made of it.
func (a *auditor) rewards(ctx context.Context) error {
	scanned := a.newSorter()
	if err := a.scanRewards(ctx, scanned); err != nil {
		return err
	}
	rows, err := reopen(a, rewardStream(), scanned)
	if err != nil {
		return err
	}
	parts, err := open(ctx, a, partStream())
	if err != nil {
		return err
	}
	allocations, err := open(ctx, a, allocationsByReward())
	if err != nil {
		return err
	}
	v := &rewardView{assets: a.assets}
	rules := rewardRules()
	var last key
	err = rows.each(func(r *reward) error {
		v.reset(r)
		if err := a.claimParts(v, parts, allocations); err != nil {
			return err
		}
		k := rows.key(r)
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
	if err := parts.rest(a.strayPart); err != nil {
		return err
	}
	return allocations.rest(a.strayAllocation)
}

// scanRewards checks what can be seen of one reward alone, and keeps the rest.
func (a *auditor) scanRewards(ctx context.Context, into *sorter) error {
	rows, err := open(ctx, a, rewardScan())
	if err != nil {
		return err
	}
	alone := []rule[*reward]{{checkFingerprint, a.fingerprint}}
	none := ""
	kept, key := rows.row.sorted(), []any{&rows.row.app, &rows.row.key, &none}
	return rows.each(func(r *reward) error {
		apply(a.t, alone, r)
		return errors.Join(into.add(kept), a.keys.add(key))
	})
}

func (v *rewardView) reset(r *reward) {
	*v = rewardView{reward: *r, assets: v.assets, parts: v.parts[:0], allocations: v.allocations[:0]}
}

func (a *auditor) claimParts(v *rewardView, parts *cursor[part], allocations *cursor[allocation]) error {
	k := key{v.app, v.id}
	err := parts.claim(k, func(p *part) {
		a.t.row(checkTenancy)
		v.parts = append(v.parts, *p)
	}, a.strayPart)
	if err != nil {
		return err
	}
	return allocations.claim(k, func(b *allocation) {
		a.t.row(checkTenancy)
		v.allocations = append(v.allocations, *b)
		v.booked.add(b.amount)
		v.shares.add(b.shares)
	}, a.strayAllocation)
}

func (a *auditor) strayPart(p *part) {
	a.noReward("member of order "+uuid(p.order), p.app, p.reward)
}

func (a *auditor) strayAllocation(b *allocation) {
	a.noReward("allocation of order "+uuid(b.order), b.app, b.reward)
}

func (a *auditor) noReward(row, app, reward string) {
	a.t.row(checkTenancy)
	a.t.fail(checkTenancy, row, "the reward "+uuid(reward), "one of the app "+uuid(app))
}

// checkAllocations checks that a reward's allocations are each of an order of its own.
func (a *auditor) checkAllocations(v *rewardView) {
	next := 0
	for i := range v.allocations {
		b := &v.allocations[i]
		a.t.row(checkAllocationUnique)
		if i > 0 && b.order == v.allocations[i-1].order {
			a.t.fail(checkAllocationUnique, b.name(), "another one", "one")
		}
		for next < len(v.parts) && v.parts[next].order < b.order {
			next++
		}
		a.t.row(checkAllocationMember)
		switch {
		case next == len(v.parts) || v.parts[next].order != b.order:
			a.t.fail(checkAllocationMember, b.name(), "an order that does not carry it", "one that does")
		case v.parts[next].state != settled:
			a.t.fail(checkAllocationMember, b.name(),
				"an order that is "+stateName(v.parts[next].state), "a settled one")
		}
	}
}
