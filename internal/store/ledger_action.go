package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// Switches lists what corporate actions and their undoes did to stocks, in their order.
func (l LedgerReader) Switches(ctx context.Context) ([]rewards.Switch, error) {
	return fetchAll(ctx, l.tx, scanSwitch, `SELECT `+switchColumns+` FROM switches ORDER BY number`)
}

// Effects calls each with what a switch did to the users' holdings, in the order of app and user.
func (l LedgerReader) Effects(ctx context.Context, number int64, each func(rewards.Effect) error) error {
	return fetchEach(ctx, l.tx, scanEffect, each, `SELECT `+effectColumns+` FROM effects WHERE switch = ?1
		ORDER BY app_id, user_id, asset_id`, number)
}

// Receipts lists the cash that the broker paid for actions, oldest first.
func (l LedgerReader) Receipts(ctx context.Context) ([]rewards.Receipt, error) {
	policies, err := dividendPolicies(ctx, l.tx, time.Time{})
	if err != nil {
		return nil, err
	}
	return fetchAll(ctx, l.tx, func(row Row) (r rewards.Receipt, err error) {
		r.Policies = policies
		r.Payout, err = scanPayout(suffixed{row, []any{(*string)(&r.Type), (*int64)(&r.AssetID)}})
		return r, err
	}, `SELECT `+payoutColumns+`, type, asset_id
		FROM (SELECT p.*, a.type, a.asset_id FROM payouts p JOIN actions a ON a.id = p.action_id) AS paid
		ORDER BY at, action_id`)
}

// CashInLieu lists what the broker paid for fractions of shares, and took back, oldest first. What it canceled is
// not among it.
func (l LedgerReader) CashInLieu(ctx context.Context) ([]rewards.CashInLieu, error) {
	return fetchAll(ctx, l.tx, func(row Row) (c rewards.CashInLieu, err error) {
		err = row.Scan(&c.ActivityID, &c.Symbol, (*int64)(&c.Net), toTime{&c.At})
		return c, err
	}, `SELECT id, symbol, net, seen_at FROM broker_activities WHERE type = '`+rewards.ActivityCashInLieu+`'
		AND status <> '`+rewards.ActivityCanceled+`' AND net <> 0 AND problem = '' ORDER BY seen_at, id`)
}

// Corrections lists the corrected fills and positions, with the stocks' symbols of now, oldest first.
// Those of positions have no order.
func (l LedgerReader) Corrections(ctx context.Context) ([]rewards.Correction, error) {
	return fetchAll(ctx, l.tx, func(row Row) (c rewards.Correction, err error) {
		err = row.Scan(&c.ClientOrderID, &c.Symbol, (*int64)(&c.FilledQty), (*int64)(&c.Change), toTime{&c.At})
		return c, err
	}, `SELECT * FROM (SELECT o.client_order_id, a.symbol, c.filled_qty, c.change, c.at FROM order_corrections c
			JOIN orders o ON o.id = c.order_id JOIN assets a ON a.id = o.asset_id
		UNION ALL SELECT '', a.symbol, 0, c.change, c.at FROM position_corrections c
			JOIN assets a ON a.id = c.asset_id) AS corrected ORDER BY 5, 1, 2, 4`)
}

// Stocks lists the booked shares of the stocks.
func (l LedgerReader) Stocks(ctx context.Context) ([]rewards.Stock, error) {
	return fetchAll(ctx, l.tx, func(row Row) (s rewards.Stock, err error) {
		err = row.Scan((*int64)(&s.AssetID), (*int64)(&s.Booked), (*int64)(&s.House))
		return s, err
	}, `SELECT a.id, coalesce(p.booked, 0), coalesce(h.quantity, 0) FROM assets a
		LEFT JOIN positions p ON p.asset_id = a.id LEFT JOIN house_holdings h ON h.asset_id = a.id
		WHERE p.asset_id IS NOT NULL OR h.asset_id IS NOT NULL ORDER BY a.id`)
}
