package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

// Cutover says that the books were moved to another database, or are being moved.
// The zero value says that they live here.
type Cutover struct {
	To   string    // the other database, without credentials
	At   time.Time // since when nothing is written here
	Done bool      // the books are there; otherwise it is not certain
}

// Freezer is an engine that can forbid all writing of every program, this one
// included, until it is allowed again. Both take part in a transaction.
type Freezer interface {
	// Freeze forbids it, except of the setting of that name. It may be repeated.
	Freeze(ctx context.Context, tx Tx, setting string) error
	// Thaw allows it again.
	Thaw(ctx context.Context, tx Tx) error
}

// ErrCutOver says that books must not be used any more: they live elsewhere, or may.
var ErrCutOver = errors.New("these books are sealed")

var errNoFreezer = errors.New("store: this database cannot be sealed")

const (
	settingMoved = "moved"

	sealMoving = "moving"
	sealMoved  = "moved"
)

// CheckCutover fails with ErrMoved when the books were moved to another database, or
// are being moved. Whoever serves books must ask before.
func (s *Store) CheckCutover(ctx context.Context) error {
	seal, err := s.Cutover(ctx)
	switch {
	case err != nil:
		return err
	case seal.Done:
		return fmt.Errorf("%w: they were moved to %s at %s; start with that database",
			ErrCutOver, seal.To, seal.At.Format(time.RFC3339))
	case seal.To != "":
		return fmt.Errorf("%w: since %s they are being moved to %s; repeat `stockrewards copy`, "+
			"or go back by `stockrewards copy --abandon`", ErrCutOver, seal.At.Format(time.RFC3339), seal.To)
	}
	return nil
}

// Cutover reads whether the books were moved.
func (s *Store) Cutover(ctx context.Context) (seal Cutover, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		seal, err = readSeal(ctx, tx)
		return err
	})
	return seal, err
}

func readSeal(ctx context.Context, tx Tx) (seal Cutover, err error) {
	text, err := setting(ctx, tx, settingMoved)
	if err == nil && text != "" {
		seal, err = parseSeal(text)
	}
	return seal, err
}

func parseSeal(text string) (Cutover, error) {
	const fields = 3
	part := strings.SplitN(text, " ", fields)
	if len(part) != fields {
		return Cutover{}, fmt.Errorf("store: the setting %s cannot be read: %q", settingMoved, text)
	}
	at, err := time.Parse(time.RFC3339Nano, part[1])
	return Cutover{To: part[2], At: at, Done: part[0] == sealMoved}, err
}

// BeginCutover seals the books before they are moved to another database, which is
// named without credentials: from then on nothing is written here, the operator log
// included, so that the deed is its last row.
func (o *Operator) BeginCutover(ctx context.Context, to string) error {
	if err := o.by.Check(); err != nil {
		return err
	}
	return o.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		before, err := readSeal(ctx, tx)
		if err != nil {
			return err
		}
		if before.To == "" { // otherwise an earlier run has logged it
			moved := []rewards.Change{{Object: rewards.ObjectBooks, After: rewards.MovedState(to)}}
			if err := logDeeds(ctx, tx, o.now(), o.by, moved); err != nil {
				return err
			}
		}
		return o.seal(ctx, tx, sealMoving, to)
	})
}

// CompleteCutover notes that the other database has the books.
func (o *Operator) CompleteCutover(ctx context.Context, to string) error {
	return o.engine.Write(ctx, func(ctx context.Context, tx Tx) error { return o.seal(ctx, tx, sealMoved, to) })
}

func (s *Store) seal(ctx context.Context, tx Tx, state, to string) error {
	freezer, ok := s.engine.Engine.(Freezer)
	if !ok {
		return errNoFreezer
	}
	text := state + " " + s.now().UTC().Format(time.RFC3339Nano) + " " + to
	if err := setSetting(ctx, tx, settingMoved, text); err != nil {
		return err
	}
	return freezer.Freeze(ctx, tx, settingMoved)
}

// AbandonCutover makes the books live here again. The caller knows that the other
// database does not have them and will not get them.
func (o *Operator) AbandonCutover(ctx context.Context) error {
	freezer, ok := o.engine.Engine.(Freezer)
	if !ok {
		return errNoFreezer
	}
	return o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		before, err := readSeal(ctx, tx)
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
