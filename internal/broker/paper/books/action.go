package books

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/money"
)

// The types of corporate actions.
const (
	ForwardSplit       = "forward_split"
	ReverseSplit       = "reverse_split"
	StockDividend      = "stock_dividend"
	CashDividend       = "cash_dividend"
	NameChange         = "name_change"
	SpinOff            = "spin_off"
	StockMerger        = "stock_merger"
	CashMerger         = "cash_merger"
	StockAndCashMerger = "stock_and_cash_merger"
	WorthlessRemoval   = "worthless_removal"
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
	Symbol           string // of the stock that it changes; when it happens, the symbol of that time
	AssetID          string
	Body             string // the announcement, as the market data API lists it
	Terms            string // the announcement as it was posted: what really happens
	Fates            []faults.Fault
	ProcessDate      string
	ExDate           string
	OldRate, NewRate int64 // the price is multiplied by the first and divided by the other; 0 for no change
	PostedAt         time.Time
	HaltFrom         time.Time
	HappensAt        time.Time // also the end of the halt
	State            string

	stage   stage
	dueAt   time.Time    // zero when nothing is left to do
	counted money.Shares // held when it took effect, or at the evening before the ex-date of a cash dividend
}

// Suffers returns the action's fault of that kind, and false for none.
func (a *Action) Suffers(kind string) (faults.Fault, bool) {
	for _, f := range a.Fates {
		if f.Kind == kind {
			return f, true
		}
	}
	return faults.Fault{}, false
}

// Fate returns the action's faults, one on each line.
func (a *Action) Fate() string {
	lines := make([]string, len(a.Fates))
	for i, f := range a.Fates {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

const selectAction = `SELECT id, type, symbol, asset_id, body, terms, fate, process_date, ex_date,
	old_rate, new_rate, posted_at, dark_from, happens_at, state, stage, due_at, counted FROM actions `

func scanAction(r row) (*Action, error) {
	var a Action
	var fate string
	err := r.Scan(&a.ID, &a.Type, &a.Symbol, &a.AssetID, &a.Body, &a.Terms, &fate, &a.ProcessDate, &a.ExDate,
		&a.OldRate, &a.NewRate, scanTime{&a.PostedAt}, scanTime{&a.HaltFrom}, scanTime{&a.HappensAt}, &a.State,
		&a.stage, scanTime{&a.dueAt}, &a.counted)
	if a.AssetID == "" { // it is older than the column
		a.AssetID = exchange.AssetID(a.Symbol)
	}
	for line := range strings.Lines(fate) {
		var f faults.Fault
		if err == nil {
			f, err = faults.Parse(line)
		}
		a.Fates = append(a.Fates, f)
	}
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

// Announce stores a new corporate action.
func (b *Books) Announce(ctx context.Context, a *Action, now time.Time) error {
	if err := b.catchUp(ctx, now); err != nil {
		return err
	}
	a.State, a.stage, a.dueAt = ActionAnnounced, stageHappen, a.HappensAt
	if a.Type == CashDividend {
		a.stage, a.dueAt = stageCount, a.HaltFrom
		a.HaltFrom = a.HappensAt // it halts nothing
	}
	_, err := b.writer.ExecContext(ctx, `INSERT INTO actions (id, type, symbol, asset_id, body, terms, fate,
		process_date, ex_date, old_rate, new_rate, posted_at, dark_from, happens_at, state, stage, due_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)`,
		a.ID, a.Type, a.Symbol, a.AssetID, a.Body, a.Terms, a.Fate(), a.ProcessDate, a.ExDate, a.OldRate, a.NewRate,
		stored(now), stored(a.HaltFrom), stored(a.HappensAt), a.State, a.stage, stored(a.dueAt))
	if err != nil {
		return err
	}
	return b.load(ctx)
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
		return a.withdraw(ctx, tx)
	})
	if err != nil {
		return err
	}
	return b.load(ctx)
}

func (a *Action) withdraw(ctx context.Context, tx *sql.Tx) error {
	a.State = ActionWithdrawn
	a.end()
	return a.update(ctx, tx)
}

// update stores what changes of an action.
func (a *Action) update(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `UPDATE actions SET symbol = ?2, state = ?3, stage = ?4, due_at = ?5,
		counted = ?6, old_rate = ?7, new_rate = ?8 WHERE id = ?1`,
		a.ID, a.Symbol, a.State, a.stage, stored(a.dueAt), a.counted, a.OldRate, a.NewRate)
	return err
}

// nextAction returns the first action that is due, or nil.
func nextAction(ctx context.Context, tx *sql.Tx, now time.Time) (*Action, error) {
	a, err := scanAction(tx.QueryRowContext(ctx, selectAction+`WHERE due_at IS NOT NULL AND due_at <= ?1
		ORDER BY due_at, seq LIMIT 1`, stored(now)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // nothing is due
	}
	return a, err
}
