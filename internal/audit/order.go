package audit

import (
	"errors"
	"fmt"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

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
	generation, number     int64
}

func orderStream() reader.Stream[order] {
	return reader.Stream[order]{
		What: "orders",
		Query: `SELECT id, client_order_id, asset_id, symbol, notional, house, members_hash, state,
			attempts, first_attempt_at, broker_id, broker_status, filled_qty, filled_avg_price, reason,
			house_shares, settled_at, generation, number FROM orders ORDER BY id`,
		Bind: func(o *order) []any {
			return []any{
				&o.id, &o.clientID, &o.asset, &o.symbol, &o.notional, &o.house, &o.membersHash, &o.state,
				&o.attempts, &o.firstAttemptAt, &o.brokerID, &o.brokerStatus, &o.filledQty, &o.price,
				&o.reason, &o.houseShares, &o.settledAt, &o.generation, &o.number,
			}
		},
		Key: func(o *order) reader.Key { return reader.Key{o.id} },
	}
}

// member is a row of order_members.
type member struct {
	order          string
	position       int64
	app, reward    string
	amount         int64
	booked, shares int64 // what was bought
	place          int64
}

// allocated reports whether the order bought something for the member.
func (m *member) allocated() bool { return m.booked != 0 || m.shares != 0 }

// memberStream reads the members of orders. SQLite reads them order by order. PostgreSQL would compare each member of
// that view with each order; it joins all_members by hashes.
func memberStream(orderByOrder bool) reader.Stream[member] {
	from := `order_members`
	if !orderByOrder {
		from = `all_members WHERE length(order_id) > 0`
	}
	return reader.Stream[member]{
		What: "members by order",
		Query: `SELECT order_id, position, app_id, reward_id, amount, bought, shares, place FROM ` + from + `
			ORDER BY order_id, position`,
		Bind: func(m *member) []any {
			return []any{&m.order, &m.position, &m.app, &m.reward, &m.amount, &m.booked, &m.shares, &m.place}
		},
		Key: func(m *member) reader.Key { return reader.Key{m.order} },
	}
}

// resolution is a row of order_resolutions.
type resolution struct {
	order                string
	filledQty, price, at int64
}

func resolutionStream() reader.Stream[resolution] {
	return reader.Stream[resolution]{
		What:  "resolutions",
		Query: `SELECT order_id, filled_qty, price, at FROM order_resolutions ORDER BY order_id`,
		Bind:  func(r *resolution) []any { return []any{&r.order, &r.filledQty, &r.price, &r.at} },
		Key:   func(r *resolution) reader.Key { return reader.Key{r.order} },
	}
}

// orderView is an order with its members and resolutions.
type orderView struct {
	order
	assets      map[int64]bool
	members     []member
	resolutions []resolution

	carrying value.Sum // the members' amounts
	booked   value.Sum // the amounts of their allocations
	shares   value.Sum // of their allocations
	carried  int64     // the dollars spent
}

func (v *orderView) name() string { return "order " + value.UUID(v.id) }

// orders checks every order with its members and its fill.
func (a *auditor) orders() error {
	rows, err := reader.Open(a.r, orderStream())
	if err != nil {
		return err
	}
	j := orderJoin{a: a, v: &orderView{assets: a.assets}}
	if j.members, err = reader.Open(a.r, memberStream(a.inSegments)); err != nil {
		return err
	}
	if j.resolutions, err = reader.Open(a.r, resolutionStream()); err != nil {
		return err
	}
	j.events, err = reader.OpenSorted(a.r, reader.Stream[ending]{
		What: "events of orders", Bind: (*ending).columns,
		Key: func(e *ending) reader.Key { return place(e.order, e.position) },
	}, a.log.ofOrders)
	if err != nil {
		return err
	}
	rules, last := orderRules(), ""
	err = rows.Each(func(o *order) error {
		if err := j.claim(o); err != nil {
			return err
		}
		a.checkID(o.id, o.id == last, j.v)
		last = o.id
		apply(a.t, rules, j.v)
		if o.state == value.Settled {
			a.settlement(j.v)
		}
		a.checkActionOrder(o)
		a.checkOrderGeneration(o)
		a.addToTotals(o)
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(j.members.Rest(j.strayMember), j.resolutions.Rest(j.strayResolution),
		j.events.Rest(j.strayEvent), j.failed)
}

// orderJoin merges orders with their members, the events of these, and resolutions.
type orderJoin struct {
	a           *auditor
	v           *orderView
	members     *reader.Cursor[member]
	resolutions *reader.Cursor[resolution]
	events      *reader.Cursor[ending]
	failed      error // to keep an event
}

// claim collects the members and resolutions of an order.
func (j *orderJoin) claim(o *order) error {
	v, k := j.v, reader.Key{o.id}
	*v = orderView{order: *o, assets: v.assets, members: v.members[:0], resolutions: v.resolutions[:0]}
	v.carried = carriedDollars(o)
	err := j.members.Claim(k, func(m *member) {
		j.a.t.row(checkReferences)
		v.members = append(v.members, *m)
		j.claimEvents(m)
		v.carrying.Add(m.amount)
		v.booked.Add(m.booked)
		v.shares.Add(m.shares)
	}, j.strayMember)
	if err := errors.Join(err, j.failed); err != nil {
		return err
	}
	return j.resolutions.Claim(k, func(r *resolution) {
		j.a.t.row(checkReferences)
		v.resolutions = append(v.resolutions, *r)
	}, j.strayResolution)
}

func (j *orderJoin) strayMember(m *member) {
	j.claimEvents(m)
	j.stray(fmt.Sprintf("member %d, %s", m.position, rewardName(m.app, m.reward)), m.order)
}

func (j *orderJoin) strayResolution(r *resolution) { j.stray("resolution", r.order) }

func (j *orderJoin) stray(row, order string) {
	j.a.t.row(checkReferences)
	j.a.t.fail(checkReferences, row, "the order "+value.UUID(order), "an order that exists")
}

// carriedDollars returns the dollars that an order spent: its notional when filled, otherwise
// the fill's cost, rounded down, at most the notional.
func carriedDollars(o *order) int64 {
	if o.brokerStatus == "filled" {
		return o.notional
	}
	spent, ok := value.Cost(o.filledQty, o.price)
	if !ok {
		return o.notional
	}
	return min(spent, o.notional)
}

// addToTotals adds an order to the totals of its day and its asset.
func (a *auditor) addToTotals(o *order) {
	start := value.Created(o.id)
	start -= start % microsPerDay
	d := a.day(start)
	d.notional.Add(o.notional)
	d.house.Add(max(0, o.house))
	if o.state == value.Settled || o.state == value.Refused {
		p := a.position(o.asset)
		p.filled.Add(o.filledQty)
		p.ordered.Add(o.houseShares)
	}
}
