package paper

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"stockrewards/internal/money"
)

// The states of a corporate action.
const (
	actionAnnounced = "announced"
	actionHappened  = "happened"
	actionWithdrawn = "withdrawn"
)

// action is a corporate action in the books. It is traded neither on the old nor on
// the new basis from darkFrom until happensAt; without an effect on the stock's
// units both are the same.
type action struct {
	seq              int64
	id               string
	kind             string // "forward_split"
	symbol           string // of the stock whose units change
	body             string // the announcement, as the market data API lists it
	processDate      string
	exDate           string
	oldRate, newRate int64 // billionths; 0 when there is no ratio
	darkFrom         time.Time
	happensAt        time.Time
	state            string
}

// splits tells whether it changes quantities and prices by its ratio.
func (a *action) splits() bool { return a.kind == forwardSplit || a.kind == reverseSplit }

const actionColumns = `seq, id, type, symbol, body, process_date, ex_date, old_rate, new_rate,
	dark_from, happens_at, state`

func scanAction(row interface{ Scan(dest ...any) error }) (*action, error) {
	var a action
	var dark, happens int64
	err := row.Scan(&a.seq, &a.id, &a.kind, &a.symbol, &a.body, &a.processDate, &a.exDate,
		&a.oldRate, &a.newRate, &dark, &happens, &a.state)
	a.darkFrom, a.happensAt = fromMicros(dark), fromMicros(happens)
	return &a, err
}

func scanActions(rows *sql.Rows, err error) ([]*action, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err reports it
	var list []*action
	for rows.Next() {
		a, err := scanAction(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, rows.Err()
}

func insertAction(ctx context.Context, tx *sql.Tx, a *action) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO actions (id, type, symbol, body, process_date, ex_date,
		old_rate, new_rate, dark_from, happens_at, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
		a.id, a.kind, a.symbol, a.body, a.processDate, a.exDate, a.oldRate, a.newRate,
		a.darkFrom.UnixMicro(), a.happensAt.UnixMicro(), a.state)
	return err
}

func (a *action) setState(ctx context.Context, tx *sql.Tx, state string) error {
	_, err := tx.ExecContext(ctx, "UPDATE actions SET state = ?2 WHERE seq = ?1", a.seq, state)
	return err
}

// nextAction is the next action that falls due until now, or nil.
func nextAction(ctx context.Context, tx *sql.Tx, now time.Time) (*action, error) {
	a, err := scanAction(tx.QueryRowContext(ctx, `SELECT `+actionColumns+` FROM actions
		WHERE state = 'announced' AND happens_at <= ?1 ORDER BY happens_at, seq LIMIT 1`, now.UnixMicro()))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no action is no error
	}
	return a, err
}

// happen carries an action out: a split changes the position and leaves an activity.
// The other types have no effect on positions yet. A split whose result does not fit
// the books is withdrawn.
func happen(ctx context.Context, tx *sql.Tx, a *action) error {
	if !a.splits() {
		return a.setState(ctx, tx, actionHappened)
	}
	p, err := readPosition(ctx, tx, a.symbol)
	if err != nil {
		return err
	}
	qty, err := money.MulDiv(int64(p.qty), a.newRate, a.oldRate, money.Down)
	if err != nil {
		return a.setState(ctx, tx, actionWithdrawn)
	}
	before := p.qty
	p.qty = money.Shares(qty)
	if err := writePosition(ctx, tx, p); err != nil {
		return err
	}
	if before > 0 {
		if err := insertActivity(ctx, tx, a.activity(before, p.qty)); err != nil {
			return err
		}
	}
	return a.setState(ctx, tx, actionHappened)
}
