package books

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"stockrewards/internal/money"
)

// Funds are the account's dollars.
type Funds struct {
	Cash money.USD
	Held money.USD // by open buys
}

// BuyingPower returns how much a new order may cost.
func (f Funds) BuyingPower() money.USD { return f.Cash - f.Held }

// Position is the account's shares of a stock.
type Position struct {
	Symbol string
	Qty    money.Shares
	Cost   money.USD    // what they cost
	Held   money.Shares // by open sells; known only in a statement
}

// Statement returns the account's dollars and shares at one instant. The positions are
// in order of symbol.
func (b *Books) Statement(ctx context.Context, now time.Time) (f Funds, list []Position, err error) {
	if err := b.catchUp(ctx, now); err != nil {
		return f, nil, err
	}
	err = inTx(ctx, b.reader, func(tx *sql.Tx) error {
		if f, err = readFunds(ctx, tx); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT symbol, qty, cost, coalesce(held, 0) FROM positions
			LEFT JOIN (SELECT symbol, sum(hold_qty) AS held FROM orders
				WHERE due_at IS NOT NULL AND side = 'sell' GROUP BY symbol) USING (symbol)
			ORDER BY symbol`)
		list, err = scanAll(rows, err, func(r row) (p Position, err error) {
			err = r.Scan(&p.Symbol, &p.Qty, &p.Cost, &p.Held)
			return p, err
		})
		return err
	})
	return f, list, err
}

func readFunds(ctx context.Context, tx *sql.Tx) (f Funds, err error) {
	err = tx.QueryRowContext(ctx, "SELECT cash, held FROM account").Scan(&f.Cash, &f.Held)
	return f, err
}

// readPosition returns the position in a stock, one of zero shares when it is missing.
func readPosition(ctx context.Context, tx *sql.Tx, symbol string) (Position, error) {
	p := Position{Symbol: symbol}
	err := tx.QueryRowContext(ctx, "SELECT qty, cost FROM positions WHERE symbol = ?1", symbol).Scan(&p.Qty, &p.Cost)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return p, err
}

// readHeldShares returns how many shares of the stock open sells hold.
func readHeldShares(ctx context.Context, tx *sql.Tx, symbol string) (held money.Shares, err error) {
	err = tx.QueryRowContext(ctx, `SELECT coalesce(sum(hold_qty), 0) FROM orders
		WHERE due_at IS NOT NULL AND symbol = ?1 AND side = 'sell'`, symbol).Scan(&held)
	return held, err
}

// writePosition replaces the position, and deletes it when it has no shares.
func writePosition(ctx context.Context, tx *sql.Tx, p Position) error {
	if p.Qty == 0 {
		_, err := tx.ExecContext(ctx, "DELETE FROM positions WHERE symbol = ?1", p.Symbol)
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO positions (symbol, qty, cost) VALUES (?1, ?2, ?3)
		ON CONFLICT (symbol) DO UPDATE SET qty = excluded.qty, cost = excluded.cost`, p.Symbol, p.Qty, p.Cost)
	return err
}
