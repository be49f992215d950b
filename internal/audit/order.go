package audit

import (
	"context"
	"fmt"
)

// The stored numbers of an order's state.
const (
	planned = iota + 1
	submitted
	opened
	quarantined
	resolved
	settled
	refused
)

func stateName(state int64) string {
	names := [...]string{
		"missing", "planned", "submitted", "open", "quarantined", "resolved", "settled", "refused",
	}
	if state < 0 || state >= int64(len(names)) {
		return "in state " + number(state)
	}
	return names[state]
}

// order is a row of orders.
type order struct {
	id, clientID           string
	asset                  int64
	symbol                 string
	notional, house        int64
	membersHash            string
	state, attempts        int64
	firstAttemptAt         int64
	brokerID, brokerStatus string
	filledQty, price       int64
	reason                 string
	houseShares, settledAt int64
}

func orderStream() stream[order] {
	return stream[order]{
		what: "orders",
		query: `SELECT id, client_order_id, asset_id, symbol, notional, house, members_hash, state,
			attempts, first_attempt_at, broker_id, broker_status, filled_qty, filled_avg_price, reason,
			house_shares, settled_at FROM orders ORDER BY id`,
		bind: func(o *order) []any {
			return []any{
				&o.id, &o.clientID, &o.asset, &o.symbol, &o.notional, &o.house, &o.membersHash, &o.state,
				&o.attempts, &o.firstAttemptAt, &o.brokerID, &o.brokerStatus, &o.filledQty, &o.price,
				&o.reason, &o.houseShares, &o.settledAt,
			}
		},
		key: func(o *order) key { return key{o.id} },
	}
}

// member is a row of order_rewards with its allocation, if there is one.
type member struct {
	order          string
	position       int64
	app, reward    string
	amount         int64
	allocated      int64 // 1 when there is an allocation
	booked, shares int64
}

func memberStream() stream[member] {
	return stream[member]{
		what: "members by order",
		query: `SELECT m.order_id, m.position, m.app_id, m.reward_id, m.amount,
			CASE WHEN a.order_id IS NULL THEN 0 ELSE 1 END, coalesce(a.amount, 0), coalesce(a.shares, 0)
			FROM order_rewards m LEFT JOIN allocations a
			ON a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = m.order_id
			ORDER BY m.order_id, m.position`,
		bind: func(m *member) []any {
			return []any{
				&m.order, &m.position, &m.app, &m.reward, &m.amount, &m.allocated, &m.booked, &m.shares,
			}
		},
		key: func(m *member) key { return key{m.order} },
	}
}

// resolution is a row of order_resolutions.
type resolution struct {
	order                string
	filledQty, price, at int64
}

func resolutionStream() stream[resolution] {
	return stream[resolution]{
		what:  "resolutions",
		query: `SELECT order_id, filled_qty, price, at FROM order_resolutions ORDER BY order_id`,
		bind:  func(r *resolution) []any { return []any{&r.order, &r.filledQty, &r.price, &r.at} },
		key:   func(r *resolution) key { return key{r.order} },
	}
}

// orderView is an order with all that hangs on it.
type orderView struct {
	order
	assets      map[int64]bool
	members     []member
	resolutions []resolution

	carrying wide  // the members' amounts
	booked   wide  // the amounts of their allocations
	shares   wide  // of their allocations
	carried  int64 // dollars that were spent
}

func (v *orderView) name() string { return "order " + uuid(v.id) }

// orders checks every order with its members and what it brought.
func (a *auditor) orders(ctx context.Context) error {
	rows, err := open(ctx, a, orderStream())
	if err != nil {
		return err
	}
	j := orderJoin{a: a, v: &orderView{assets: a.assets}}
	if j.members, err = open(ctx, a, memberStream()); err != nil {
		return err
	}
	if j.resolutions, err = open(ctx, a, resolutionStream()); err != nil {
		return err
	}
	rules, last := orderRules(), ""
	err = rows.each(func(o *order) error {
		if err := j.claim(o); err != nil {
			return err
		}
		a.checkID(o.id, o.id == last, j.v)
		last = o.id
		apply(a.t, rules, j.v)
		if o.state == settled {
			a.settlement(j.v)
		}
		a.account(o)
		return nil
	})
	if err != nil {
		return err
	}
	return j.rest()
}

// orderJoin is the merge of orders with what hangs on them.
type orderJoin struct {
	a           *auditor
	v           *orderView
	members     *cursor[member]
	resolutions *cursor[resolution]
}

// claim gathers what hangs on one order.
func (j *orderJoin) claim(o *order) error {
	v, k := j.v, key{o.id}
	*v = orderView{order: *o, assets: v.assets, members: v.members[:0], resolutions: v.resolutions[:0]}
	err := j.members.claim(k, func(m *member) {
		j.a.t.row(checkReferences)
		v.members = append(v.members, *m)
		v.carrying.add(m.amount)
		v.booked.add(m.booked)
		v.shares.add(m.shares)
	}, j.strayMember)
	if err != nil {
		return err
	}
	err = j.resolutions.claim(k, func(r *resolution) {
		j.a.t.row(checkReferences)
		v.resolutions = append(v.resolutions, *r)
	}, j.strayResolution)
	v.carried = carriedDollars(o)
	return err
}

func (j *orderJoin) rest() error {
	if err := j.members.rest(j.strayMember); err != nil {
		return err
	}
	return j.resolutions.rest(j.strayResolution)
}

func (j *orderJoin) strayMember(m *member) {
	j.stray(fmt.Sprintf("member %d, %s", m.position, rewardName(m.app, m.reward)), m.order)
}

func (j *orderJoin) strayResolution(r *resolution) { j.stray("resolution", r.order) }

func (j *orderJoin) stray(row, order string) {
	j.a.t.row(checkReferences)
	j.a.t.fail(checkReferences, row, "the order "+uuid(order), "an order that exists")
}

// carriedDollars is how many of an order's dollars were spent: all when filled,
// otherwise what the fill cost, rounded down, at most the notional.
func carriedDollars(o *order) int64 {
	if o.brokerStatus == "filled" {
		return o.notional
	}
	spent, ok := cost(o.filledQty, o.price)
	if !ok {
		return o.notional
	}
	return min(spent, o.notional)
}

// account adds an order to what its day and its asset should come to.
func (a *auditor) account(o *order) {
	start := createdMillis(o.id) * microsPerMilli
	start -= start % microsPerDay
	d := a.day(start)
	d.notional.add(o.notional)
	d.house.add(o.house)
	if o.state == settled || o.state == refused {
		p := a.position(o.asset)
		p.filled.add(o.filledQty)
		p.house.add(o.houseShares)
	}
}
