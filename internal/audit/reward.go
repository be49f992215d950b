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
	place, shares                   int64 // in the last booked order, and that these bought
	reason                          string
}

func (r *reward) name() string { return rewardName(r.app, r.id) }

// rewardScan reads the table in its physical order; by an index each page would be read many
// times.
func rewardScan(inSegments bool) reader.Stream[reward] {
	number, order := "segment::bigint", ""
	if inSegments {
		number, order = "rowid", " ORDER BY rowid"
	}
	return reader.Stream[reward]{
		What: "rewards",
		Query: `SELECT ` + number + `, app_id, id, user_id, idempotency_key, fingerprint, amount, asset_id, symbol,
			source, metadata, status, booked, executed_at, failure_reason, counted, place, shares FROM rewards` + order,
		Bind: func(r *reward) []any {
			return []any{
				&r.number, &r.app, &r.id, &r.user, &r.key, &r.fingerprint, &r.amount, &r.asset, &r.symbol, &r.source,
				&r.metadata, &r.status, &r.booked, &r.executedAt, &r.reason, &r.counted,
				&r.place, &r.shares,
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
		&r.executedAt, &r.reason, &r.place, &r.shares,
	}
}

// part is a reward's membership in an order, and what the order bought for it. The state is 0 when the
// order does not exist.
type part struct {
	app, reward, order                 string
	place, before                      int64 // 0: as an earlier version stored it
	amount, bought, shares, completes  int64
	state, asset, filledAt, generation int64
	settledAt                          int64
}

func (p *part) name() string {
	return "part of order " + value.UUID(p.order) + " of " + rewardName(p.app, p.reward)
}

func (p *part) live() bool { return p.state > 0 && p.state < value.Settled }

// allocated reports whether the order bought something for the reward.
func (p *part) allocated() bool { return p.bought != 0 || p.shares != 0 }

func partStream() reader.Stream[part] {
	return reader.Stream[part]{
		What: "members by reward",
		Query: `SELECT m.app_id, m.reward_id, m.order_id, m.place, m.before, m.amount, m.bought, m.shares, m.completes,
			coalesce(o.state, 0), coalesce(o.asset_id, 0), coalesce(o.filled_at, 0), coalesce(o.generation, 0),
			coalesce(o.settled_at, 0) FROM all_members m LEFT JOIN orders o ON o.id = m.order_id`,
		Sort: true,
		Bind: func(p *part) []any {
			return []any{
				&p.app, &p.reward, &p.order, &p.place, &p.before, &p.amount, &p.bought, &p.shares, &p.completes,
				&p.state, &p.asset, &p.filledAt, &p.generation, &p.settledAt,
			}
		},
		Key: func(p *part) reader.Key { return reader.Key{p.app, p.reward} },
	}
}

// rewardView is a reward with its parts, oldest first. Until it is final, its status is that of its row in
// open_rewards.
type rewardView struct {
	reward
	stored      int64 // the status in its row
	open        []openReward
	waiting     int64
	assets      map[int64]bool
	parts       []part
	past        []pastAllocation
	allocations int       // parts that bought something
	booked      value.Sum // the amounts of the allocations
	shares      value.Sum // of the allocations
}

func rewardName(app, id string) string {
	return "reward " + value.UUID(id) + " of app " + value.UUID(app)
}

// rewards checks every reward: first alone, then with its orders.
func (a *auditor) rewards() error {
	scanned := a.r.NewSorter()
	if err := a.scanRewards(scanned); err != nil {
		return err
	}
	rows, err := reader.OpenSorted(a.r, rewardStream(), scanned)
	if err != nil {
		return err
	}
	j := rewardJoin{a: a, v: &rewardView{assets: a.assets}}
	if err := j.begin(); err != nil {
		return err
	}
	rules := rewardRules()
	var last reader.Key
	err = rows.Each(func(r *reward) error {
		if err := j.claim(r); err != nil {
			return err
		}
		a.setOpen(j.v)
		a.checkID(r.id, reader.Key{r.app, r.id} == last, j.v)
		last = reader.Key{r.app, r.id}
		a.checkTenant(r.app, j.v)
		apply(a.t, rules, j.v)
		a.checkAllocations(j.v)
		return errors.Join(a.addLot(j.v), j.addActivity())
	})
	if err != nil {
		return err
	}
	return j.rest()
}

// scanRewards checks each reward alone and keeps the columns that the other checks need.
func (a *auditor) scanRewards(into *reader.Sorter) error {
	segments, err := a.openSegments()
	if err != nil {
		return err
	}
	add, end := segments.add, segments.end
	if !a.inSegments {
		ofColumns, err := a.openColumnSegments()
		if err != nil {
			return err
		}
		add, end = ofColumns.add, ofColumns.entries.end
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
	newest := int64(0)
	err = rows.Each(func(r *reward) error {
		apply(a.t, alone, r)
		newest = max(newest, r.number)
		a.checkArrival(r)
		a.checkSymbol(r)
		return errors.Join(into.Add(kept), a.keys.Add(key), add(r), a.countInBudgets(r))
	})
	if err != nil {
		return err
	}
	a.checkArrivalsEnd(newest)
	return end()
}
