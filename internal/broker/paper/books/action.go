package books

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/money"
)

// The types of corporate actions that change positions and prices.
const (
	ForwardSplit = "forward_split"
	ReverseSplit = "reverse_split"
)

// The states of a corporate action.
const (
	ActionAnnounced = "announced"
	ActionHappened  = "happened"
	ActionWithdrawn = "withdrawn"
)

// Action is a corporate action.
type Action struct {
	ID               string
	Type             string // "forward_split"
	Symbol           string // of the stock whose units change
	Body             string // the announcement, as the market data API lists it
	ProcessDate      string
	ExDate           string
	OldRate, NewRate int64 // of a split, in billionths; 0 for other types
	HaltFrom         time.Time
	HappensAt        time.Time // also the end of the halt
	State            string
}

// splits reports whether the action changes quantities and prices by its ratio.
func (a *Action) splits() bool { return a.Type == ForwardSplit || a.Type == ReverseSplit }

const selectAction = `SELECT id, type, symbol, body, process_date, ex_date, old_rate, new_rate,
	dark_from, happens_at, state FROM actions `

func scanAction(r row) (*Action, error) {
	var a Action
	err := r.Scan(&a.ID, &a.Type, &a.Symbol, &a.Body, &a.ProcessDate, &a.ExDate, &a.OldRate, &a.NewRate,
		scanTime{&a.HaltFrom}, scanTime{&a.HappensAt}, &a.State)
	return &a, err
}

// Actions returns all corporate actions in order of announcement.
func (b *Books) Actions(ctx context.Context, now time.Time) ([]*Action, error) {
	if err := b.catchUp(ctx, now); err != nil {
		return nil, err
	}
	rows, err := b.reader.QueryContext(ctx, selectAction+"ORDER BY seq")
	return scanAll(rows, err, scanAction)
}

// LoadActions makes the exchange halt trading and adjust prices for the corporate actions
// in the books. Call it before each request: another process may have announced one.
func (b *Books) LoadActions(ctx context.Context) error {
	rows, err := b.reader.QueryContext(ctx, selectAction+"WHERE state <> 'withdrawn' ORDER BY happens_at, seq")
	list, err := scanAll(rows, err, scanAction)
	if err != nil {
		return err
	}
	changes := make(map[string][]exchange.Change)
	for _, a := range list {
		changes[a.Symbol] = append(changes[a.Symbol],
			exchange.Change{HaltFrom: a.HaltFrom, At: a.HappensAt, OldRate: a.OldRate, NewRate: a.NewRate})
	}
	b.Exchange.SetChanges(changes)
	return nil
}

// Announce stores a new corporate action.
func (b *Books) Announce(ctx context.Context, a *Action, now time.Time) error {
	if err := b.catchUp(ctx, now); err != nil {
		return err
	}
	_, err := b.writer.ExecContext(ctx, `INSERT INTO actions (id, type, symbol, body, process_date, ex_date,
		old_rate, new_rate, dark_from, happens_at, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
		a.ID, a.Type, a.Symbol, a.Body, a.ProcessDate, a.ExDate, a.OldRate, a.NewRate,
		stored(a.HaltFrom), stored(a.HappensAt), a.State)
	if err != nil {
		return err
	}
	return b.LoadActions(ctx)
}

// Withdraw withdraws a corporate action that has not happened.
func (b *Books) Withdraw(ctx context.Context, id string, now time.Time) error {
	if err := b.catchUp(ctx, now); err != nil {
		return err
	}
	err := b.update(ctx, func(tx *sql.Tx) error {
		a, err := scanAction(tx.QueryRowContext(ctx, selectAction+"WHERE id = ?1", id))
		switch {
		case errors.Is(err, sql.ErrNoRows), err == nil && a.State == ActionWithdrawn:
			return apierror.NotFound("there is no corporate action with the id %s", id)
		case err != nil:
			return err
		case a.State == ActionHappened:
			return apierror.FromStatus(http.StatusConflict, "the corporate action "+id+" has happened")
		}
		return a.setState(ctx, tx, ActionWithdrawn)
	})
	if err != nil {
		return err
	}
	return b.LoadActions(ctx)
}

func (a *Action) setState(ctx context.Context, tx *sql.Tx, state string) error {
	_, err := tx.ExecContext(ctx, "UPDATE actions SET state = ?2 WHERE id = ?1", a.ID, state)
	return err
}

// nextAction returns the first action that is due, or nil.
func nextAction(ctx context.Context, tx *sql.Tx, now time.Time) (*Action, error) {
	a, err := scanAction(tx.QueryRowContext(ctx, selectAction+`WHERE state = 'announced' AND happens_at <= ?1
		ORDER BY happens_at, seq LIMIT 1`, stored(now)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // nothing is due
	}
	return a, err
}

// happen carries the action out: a split changes the position and leaves an activity. The
// other types do not change positions yet. A split whose result overflows is withdrawn.
func (a *Action) happen(ctx context.Context, tx *sql.Tx) error {
	if !a.splits() {
		return a.setState(ctx, tx, ActionHappened)
	}
	p, err := readPosition(ctx, tx, a.Symbol)
	if err != nil {
		return err
	}
	qty, err := money.MulDiv(int64(p.Qty), a.NewRate, a.OldRate, money.Down)
	if err != nil {
		return a.setState(ctx, tx, ActionWithdrawn)
	}
	before := p.Qty
	p.Qty = money.Shares(qty)
	if err := writePosition(ctx, tx, p); err != nil {
		return err
	}
	if before > 0 {
		if err := a.activity(p.Qty-before).insert(ctx, tx); err != nil {
			return err
		}
	}
	return a.setState(ctx, tx, ActionHappened)
}
