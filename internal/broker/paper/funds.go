package paper

import (
	"context"
	"database/sql"
	"errors"

	"stockrewards/internal/money"
)

// funds are the account's dollars.
type funds struct {
	cash money.USD
	held money.USD // by open buys
}

// buyingPower is what a new order may cost.
func (f funds) buyingPower() money.USD { return f.cash - f.held }

func readFunds(ctx context.Context, tx *sql.Tx) (funds, error) {
	var cash, held int64
	err := tx.QueryRowContext(ctx, "SELECT cash, held FROM account").Scan(&cash, &held)
	return funds{money.USD(cash), money.USD(held)}, err
}

// position is how much of a stock the account has, and what it paid for it.
type position struct {
	symbol string
	qty    money.Shares
	cost   money.USD
}

// readPosition is the position in the stock, an empty one when there is none.
func readPosition(ctx context.Context, tx *sql.Tx, symbol string) (position, error) {
	var qty, cost int64
	const query = "SELECT qty, cost FROM positions WHERE symbol = ?1"
	err := tx.QueryRowContext(ctx, query, symbol).Scan(&qty, &cost)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return position{symbol, money.Shares(qty), money.USD(cost)}, err
}

func readPositions(ctx context.Context, tx *sql.Tx) ([]position, error) {
	rows, err := tx.QueryContext(ctx, "SELECT symbol, qty, cost FROM positions ORDER BY symbol")
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	var list []position
	for rows.Next() {
		var symbol string
		var qty, cost int64
		if err := rows.Scan(&symbol, &qty, &cost); err != nil {
			return nil, err
		}
		list = append(list, position{symbol, money.Shares(qty), money.USD(cost)})
	}
	return list, rows.Err()
}

// writePosition replaces the position; one without shares is none.
func writePosition(ctx context.Context, tx *sql.Tx, p position) error {
	if p.qty == 0 {
		_, err := tx.ExecContext(ctx, "DELETE FROM positions WHERE symbol = ?1", p.symbol)
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO positions (symbol, qty, cost) VALUES (?1, ?2, ?3)
		ON CONFLICT (symbol) DO UPDATE SET qty = excluded.qty, cost = excluded.cost`,
		p.symbol, int64(p.qty), int64(p.cost))
	return err
}

// readHeldShares is how many shares of the stock open sells hold.
func readHeldShares(ctx context.Context, tx *sql.Tx, symbol string) (money.Shares, error) {
	var held int64
	err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(hold_qty), 0) FROM orders
		WHERE due_at IS NOT NULL AND symbol = ?1 AND side = 'sell'`, symbol).Scan(&held)
	return money.Shares(held), err
}
