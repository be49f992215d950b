package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

// Cutover is the move of a store to another database. The zero value means that the store never moved.
type Cutover struct {
	To   string    // the other database, without credentials
	At   time.Time // nothing was written here since
	Done bool      // the other database has the store; otherwise that is unknown
}

// Freezer is an engine that can forbid writes by every program, this one included.
type Freezer interface {
	// Freeze forbids all writes except to the named setting, once tx commits: they fail with ErrCutOver. It may be
	// repeated.
	Freeze(ctx context.Context, tx Tx, setting string) error
	// Thaw allows writes again, once tx commits.
	Thaw(ctx context.Context, tx Tx) error
}

// ErrCutOver means that the store must not be used: another database has it, or may have it.
var ErrCutOver = errors.New("this database is frozen")

var errNoFreezer = errors.New("store: this database cannot be frozen")

// The setting of a cutover, and the first word of its value.
const (
	settingMoved = "moved"

	cutoverBegun    = "moving"
	cutoverComplete = "moved"
)

// CheckCutover fails with ErrCutOver after BeginCutover. Call it before serving a store.
func (s *Store) CheckCutover(ctx context.Context) error {
	c, err := s.Cutover(ctx)
	switch {
	case err != nil:
		return err
	case c.Done:
		return fmt.Errorf("%w: it was moved to %s at %s; start with that database",
			ErrCutOver, c.To, c.At.Format(time.RFC3339))
	case c.To != "":
		return fmt.Errorf("%w: it is being moved to %s since %s; repeat `stockrewards copy`, "+
			"or go back with `stockrewards copy --abandon`", ErrCutOver, c.To, c.At.Format(time.RFC3339))
	}
	return nil
}

// Cutover returns the move of the store to another database, if any.
func (s *Store) Cutover(ctx context.Context) (Cutover, error) { return read(ctx, s, readCutover) }

func readCutover(ctx context.Context, tx Tx) (Cutover, error) {
	value, err := setting(ctx, tx, settingMoved)
	if err != nil || value == "" {
		return Cutover{}, err
	}
	const fields = 3
	part := strings.SplitN(value, " ", fields)
	if len(part) != fields {
		return Cutover{}, fmt.Errorf("store: cannot read the setting %s: %q", settingMoved, value)
	}
	at, err := time.Parse(time.RFC3339Nano, part[1])
	return Cutover{To: part[2], At: at, Done: part[0] == cutoverComplete}, err
}

// BeginCutover freezes the store before it is copied to another database, which is named
// without credentials. The operator log is frozen too; its last entry is the cutover.
func (o *Operator) BeginCutover(ctx context.Context, to string) error {
	if err := o.by.Check(); err != nil {
		return err
	}
	return o.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		before, err := readCutover(ctx, tx)
		if err != nil {
			return err
		}
		if before.To == "" { // no earlier run has logged it
			moved := []rewards.Change{{Object: rewards.ObjectBooks, After: rewards.MovedState(to)}}
			if err := logChanges(ctx, tx, o.now(), o.by, moved); err != nil {
				return err
			}
		}
		return o.freeze(ctx, tx, cutoverBegun, to)
	})
}

// CompleteCutover records that the other database has the store.
func (o *Operator) CompleteCutover(ctx context.Context, to string) error {
	return o.engine.Write(ctx, func(ctx context.Context, tx Tx) error { return o.freeze(ctx, tx, cutoverComplete, to) })
}

func (s *Store) freeze(ctx context.Context, tx Tx, state, to string) error {
	freezer, ok := s.engine.Engine.(Freezer)
	if !ok {
		return errNoFreezer
	}
	value := state + " " + s.now().UTC().Format(time.RFC3339Nano) + " " + to
	if err := setSetting(ctx, tx, settingMoved, value); err != nil {
		return err
	}
	return freezer.Freeze(ctx, tx, settingMoved)
}

// AbandonCutover thaws the store. The caller knows that the other database does not have the
// store and will not get it.
func (o *Operator) AbandonCutover(ctx context.Context) error {
	freezer, ok := o.engine.Engine.(Freezer)
	if !ok {
		return errNoFreezer
	}
	return o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		before, err := readCutover(ctx, tx)
		if err != nil {
			return nil, err
		}
		if err := freezer.Thaw(ctx, tx); err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, `DELETE FROM settings WHERE name = ?1`, settingMoved)
		return []rewards.Change{{
			Object: rewards.ObjectBooks, Before: rewards.MovedState(before.To), After: rewards.MovedState(""),
		}}, err
	})
}
