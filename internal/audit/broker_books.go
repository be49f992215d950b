package audit

import (
	"context"
	"errors"
)

// BrokerBooks are our books as far as they are compared with a broker's.
type BrokerBooks struct {
	Installation  string // random; part of every client order id
	BrokerKind    string // "" while the books belong to no broker
	BrokerAccount string

	orders    map[string]*sentOrder // by client order id
	assets    map[int64]*heldAsset
	conflicts map[string]conflict // by client order id
}

// Prefix begins the client order id of every order of these books.
func (b *BrokerBooks) Prefix() string { return "sr-" + b.Installation + "-" }

// sentOrder is a row of orders, with what an operator decided.
type sentOrder struct {
	order
	deadline, terminalSince int64
	resolved                bool
}

// ambiguous reports whether an attempt has an outcome that is not known. Otherwise every
// attempt was refused for a reason that passes.
func (o *sentOrder) ambiguous() bool { return o.deadline != 0 }

// heldAsset is a row of assets, with what the books hold of it and its last price.
type heldAsset struct {
	id               int64
	brokerID, symbol string
	price            int64
	held, house      wide
	orders           int
}

// conflict is a row of broker_conflicts.
type conflict struct {
	clientID              string
	filledQty, ackAt      int64
	acknowledgementReason string
}

// ReadBrokerBooks reads the books on the snapshot that q reads.
func ReadBrokerBooks(ctx context.Context, q Queryer) (*BrokerBooks, error) {
	b := &BrokerBooks{
		orders: make(map[string]*sentOrder), assets: make(map[int64]*heldAsset),
		conflicts: make(map[string]conflict),
	}
	a := &auditor{ctx: ctx, q: q}
	for _, read := range []func(context.Context, *auditor) error{
		b.readSettings, b.readAssets, b.readOrders, b.readHoldings, b.readConflicts,
	} {
		if err := errors.Join(read(ctx, a), a.closeAll()); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func unordered[R any](*R) key { return key{} }

func (b *BrokerBooks) readSettings(ctx context.Context, a *auditor) error {
	type setting struct{ name, value string }
	return readAll(ctx, a, stream[setting]{
		what: "settings", query: `SELECT name, value FROM settings`, key: unordered[setting],
		bind: func(s *setting) []any { return []any{&s.name, &s.value} },
	}, func(s *setting) {
		switch s.name {
		case "installation_id":
			b.Installation = s.value
		case "broker_kind":
			b.BrokerKind = s.value
		case "broker_account":
			b.BrokerAccount = s.value
		}
	})
}

func (b *BrokerBooks) readAssets(ctx context.Context, a *auditor) error {
	return readAll(ctx, a, stream[heldAsset]{
		what: "assets with prices", key: unordered[heldAsset],
		query: `SELECT a.id, a.broker_id, a.symbol, coalesce(p.price, 0)
			FROM assets a LEFT JOIN prices p ON p.asset_id = a.id`,
		bind: func(s *heldAsset) []any { return []any{&s.id, &s.brokerID, &s.symbol, &s.price} },
	}, func(s *heldAsset) {
		row := *s
		b.assets[s.id] = &row
	})
}

// asset is the row of an asset; one that is missing in the catalog gets one.
func (b *BrokerBooks) asset(id int64) *heldAsset {
	if b.assets[id] == nil {
		b.assets[id] = &heldAsset{id: id, symbol: "asset " + number(id)}
	}
	return b.assets[id]
}

func (b *BrokerBooks) readOrders(ctx context.Context, a *auditor) error {
	return readAll(ctx, a, stream[sentOrder]{
		what: "orders with resolutions", key: unordered[sentOrder],
		query: `SELECT o.id, o.client_order_id, o.asset_id, o.symbol, o.notional, o.state, o.attempts,
			o.first_attempt_at, o.broker_id, o.broker_status, o.filled_qty, o.filled_avg_price, o.reason,
			o.house_shares, o.settled_at, o.deadline, o.terminal_since,
			CASE WHEN r.order_id IS NULL THEN 0 ELSE 1 END
			FROM orders o LEFT JOIN order_resolutions r ON r.order_id = o.id`,
		bind: func(o *sentOrder) []any {
			return []any{
				&o.id, &o.clientID, &o.asset, &o.symbol, &o.notional, &o.state, &o.attempts,
				&o.firstAttemptAt, &o.brokerID, &o.brokerStatus, &o.filledQty, &o.price, &o.reason,
				&o.houseShares, &o.settledAt, &o.deadline, &o.terminalSince, &o.resolved,
			}
		},
	}, func(o *sentOrder) {
		row := *o
		b.orders[o.clientID] = &row
		s := b.asset(o.asset)
		s.orders++
		if o.state == settled {
			s.house.add(o.houseShares)
		}
	})
}

func (b *BrokerBooks) readHoldings(ctx context.Context, a *auditor) error {
	type holding struct{ asset, quantity int64 }
	return readAll(ctx, a, stream[holding]{
		what: "holdings by asset", query: `SELECT asset_id, quantity FROM holdings`, key: unordered[holding],
		bind: func(h *holding) []any { return []any{&h.asset, &h.quantity} },
	}, func(h *holding) { b.asset(h.asset).held.add(h.quantity) })
}

func (b *BrokerBooks) readConflicts(ctx context.Context, a *auditor) error {
	return readAll(ctx, a, stream[conflict]{
		what: "conflicts", key: unordered[conflict],
		query: `SELECT client_order_id, filled_qty, acknowledged_at, reason FROM broker_conflicts`,
		bind: func(c *conflict) []any {
			return []any{&c.clientID, &c.filledQty, &c.ackAt, &c.acknowledgementReason}
		},
	}, func(c *conflict) { b.conflicts[c.clientID] = *c })
}
