package brokercheck

import (
	"context"
	"errors"
	"fmt"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// Ours is our side: what a store has of orders and positions.
type Ours struct {
	Installation  string // random; part of every client order id
	BrokerKind    string // "" until the store is pinned to a broker
	BrokerAccount string

	orders    map[string]*order // by client order id
	assets    map[int64]*asset
	conflicts map[string]conflict // by client order id
}

// Prefix returns the prefix of the store's client order ids.
func (o *Ours) Prefix() string { return "sr-" + o.Installation + "-" }

// order is a row of orders; resolved means that an operator decided it.
type order struct {
	id, clientID            string
	asset                   int64
	symbol                  string
	notional                int64
	state, attempts         int64
	firstAttemptAt          int64
	brokerID, brokerStatus  string
	filledQty, price        int64
	reason                  string
	settledAt               int64
	deadline, terminalSince int64
	corrected               int64 // filledQty, or what the broker corrected it to after it was booked
	resolved                bool
}

// ambiguous reports whether an attempt has an unknown outcome. Otherwise every attempt was
// refused for a temporary reason.
func (o *order) ambiguous() bool { return o.deadline != 0 }

// describe summarizes an order.
func (o *order) describe() string {
	text := value.OrderState(o.state)
	if o.brokerStatus != "" {
		text += fmt.Sprintf(" (%s)", o.brokerStatus)
	}
	text += fmt.Sprintf(": buy %s of %s", value.USD(o.notional), o.symbol)
	if o.filledQty != 0 {
		text += fmt.Sprintf(", %s at %s", value.Shares(o.filledQty), value.Price(o.price))
	}
	if o.reason != "" {
		text += ", " + o.reason
	}
	return text
}

// asset is a row of assets, with its last price and the shares that the store has.
type asset struct {
	id               int64
	brokerID, symbol string
	price, booked    int64
	held, house      value.Sum
	orders           int
	switched         int64 // when its last corporate action was applied
	sweeping         bool  // a corporate action's sweep goes on: the holdings lag behind what is booked
}

// conflict is a row of broker_conflicts.
type conflict struct {
	clientID                  string
	filledQty, acknowledgedAt int64
	reason                    string // of the acknowledgment
}

// Read reads our side on the snapshot of q.
func Read(ctx context.Context, q reader.Queryer) (*Ours, error) {
	o := &Ours{orders: make(map[string]*order), assets: make(map[int64]*asset), conflicts: make(map[string]conflict)}
	r := reader.New(ctx, q, reader.Options{})
	for _, read := range []func(*reader.Reader) error{
		o.readSettings, o.readAssets, o.readOrders, o.readHoldings, o.readSweep, o.readConflicts,
	} {
		if err := errors.Join(read(r), r.Done()); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *Ours) readSettings(r *reader.Reader) error {
	type setting struct{ name, value string }
	return reader.Each(r, reader.Stream[setting]{
		What: "settings", Query: `SELECT name, value FROM settings`,
		Bind: func(s *setting) []any { return []any{&s.name, &s.value} },
	}, func(s *setting) {
		switch s.name {
		case "installation_id":
			o.Installation = s.value
		case "broker_kind":
			o.BrokerKind = s.value
		case "broker_account":
			o.BrokerAccount = s.value
		}
	})
}

func (o *Ours) readAssets(r *reader.Reader) error {
	return reader.Each(r, reader.Stream[asset]{
		What: "assets with prices",
		Query: `SELECT a.id, a.broker_id, a.symbol, coalesce(p.price, 0), coalesce(b.booked, 0),
			coalesce((SELECT max(w.at) FROM switches w WHERE w.asset_id = a.id), 0)
			FROM assets a LEFT JOIN prices p ON p.asset_id = a.id LEFT JOIN positions b ON b.asset_id = a.id`,
		Bind: func(s *asset) []any { return []any{&s.id, &s.brokerID, &s.symbol, &s.price, &s.booked, &s.switched} },
	}, func(s *asset) {
		row := *s
		o.assets[s.id] = &row
	})
}

// asset returns an asset. It adds one that the catalog lacks.
func (o *Ours) asset(id int64) *asset {
	if o.assets[id] == nil {
		o.assets[id] = &asset{id: id, symbol: value.Asset(id)}
	}
	return o.assets[id]
}

func (o *Ours) readOrders(r *reader.Reader) error {
	return reader.Each(r, reader.Stream[order]{
		What: "orders with resolutions",
		Query: `SELECT o.id, o.client_order_id, o.asset_id, o.symbol, o.notional, o.state, o.attempts,
			o.first_attempt_at, o.broker_id, o.broker_status, o.filled_qty, o.filled_avg_price, o.reason,
			o.settled_at, o.deadline, o.terminal_since,
			coalesce((SELECT c.filled_qty FROM order_corrections c WHERE c.order_id = o.id
				ORDER BY c.number DESC LIMIT 1), o.filled_qty),
			CASE WHEN r.order_id IS NULL THEN 0 ELSE 1 END
			FROM orders o LEFT JOIN order_resolutions r ON r.order_id = o.id`,
		Bind: func(o *order) []any {
			return []any{
				&o.id, &o.clientID, &o.asset, &o.symbol, &o.notional, &o.state, &o.attempts,
				&o.firstAttemptAt, &o.brokerID, &o.brokerStatus, &o.filledQty, &o.price, &o.reason,
				&o.settledAt, &o.deadline, &o.terminalSince, &o.corrected, &o.resolved,
			}
		},
	}, func(row *order) {
		sent := *row
		o.orders[sent.clientID] = &sent
		o.asset(sent.asset).orders++
	})
}

func (o *Ours) readHoldings(r *reader.Reader) error {
	type holding struct{ asset, quantity int64 }
	bind := func(h *holding) []any { return []any{&h.asset, &h.quantity} }
	err := reader.Each(r, reader.Stream[holding]{
		What: "holdings by asset", Query: `SELECT asset_id, quantity FROM holdings`, Bind: bind,
	}, func(h *holding) { o.asset(h.asset).held.Add(h.quantity) })
	if err != nil {
		return err
	}
	return reader.Each(r, reader.Stream[holding]{
		What: "the house's shares", Query: `SELECT asset_id, quantity FROM house_holdings`, Bind: bind,
	}, func(h *holding) { o.asset(h.asset).house.Add(h.quantity) })
}

func (o *Ours) readSweep(r *reader.Reader) error {
	type stocks struct{ asset, target int64 }
	return reader.Each(r, reader.Stream[stocks]{
		What: "the open switch", Query: `SELECT asset_id, target_id FROM switches WHERE swept_at = 0`,
		Bind: func(s *stocks) []any { return []any{&s.asset, &s.target} },
	}, func(s *stocks) {
		o.asset(s.asset).sweeping = true
		if s.target != 0 {
			o.asset(s.target).sweeping = true
		}
	})
}

func (o *Ours) readConflicts(r *reader.Reader) error {
	return reader.Each(r, reader.Stream[conflict]{
		What:  "conflicts",
		Query: `SELECT client_order_id, filled_qty, acknowledged_at, reason FROM broker_conflicts`,
		Bind:  func(c *conflict) []any { return []any{&c.clientID, &c.filledQty, &c.acknowledgedAt, &c.reason} },
	}, func(c *conflict) { o.conflicts[c.clientID] = *c })
}
