package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"stockrewards/internal/rewards"
)

// Operator is a Store used by an operator. Every command that changes the store calls a method
// of Operator, which makes the change and appends to the operator log in one transaction.
type Operator struct {
	*Store
	by rewards.Operator
}

// As returns the store for an operator, whose changes are logged.
func (s *Store) As(by rewards.Operator) *Operator { return &Operator{Store: s, by: by} }

// By is who the operator is.
func (o *Operator) By() rewards.Operator { return o.by }

// checkClock fails with CodeUnavailable and ErrClockAhead when the clock of the operator's machine is ahead of the
// database's. The times that a command stores are those of its machine.
func (o *Operator) checkClock(ctx context.Context) error {
	database, clocked := o.engine.Engine.(Clocked)
	if !clocked {
		return nil
	}
	asked := o.now()
	shown, err := database.Clock(ctx)
	if err != nil {
		return err
	}
	guard := rewards.NewClockGuard(o.now, true)
	guard.ReadDatabase(shown, asked)
	return guard.Check(asked)
}

// change runs f in one transaction and logs the changes that f returns. An object that did not
// change is not logged, so that a repeated command leaves no second entry. What f found is durable then, too.
func (o *Operator) change(ctx context.Context, f func(context.Context, Tx) ([]rewards.Change, error)) error {
	return o.changeFor(ctx, o.by.Reason, f)
}

// changeFor is change with the reason of a command that takes it as an argument.
func (o *Operator) changeFor(
	ctx context.Context, reason string, f func(context.Context, Tx) ([]rewards.Change, error),
) error {
	by := o.by
	by.Reason = reason
	if err := by.Check(); err != nil {
		return err
	}
	err := o.engine.WriteBooks(ctx, func(ctx context.Context, tx Tx) error {
		changes, err := f(ctx, tx)
		if err != nil {
			return err
		}
		return logChanges(ctx, tx, o.now(), by, changes)
	})
	if errors.Is(err, ErrCutOver) {
		return cmp.Or(o.CheckCutover(ctx), err) // which names the other database
	}
	return o.judged(ctx, err)
}

// Confirm waits until what a command read before is durable, so that it may report that nothing is left to do. Over
// PostgreSQL a standby may still lack the change that an earlier command made.
func (s *Store) Confirm(ctx context.Context) error {
	return s.engine.WriteBooks(ctx, func(context.Context, Tx) error { return nil })
}

// judged returns the error of a change. A verdict about what the store has, such as "exists" or "not found", says that
// an earlier change was made: it is confirmed first.
func (s *Store) judged(ctx context.Context, err error) error {
	if code := rewards.CodeOf(err); err != nil && (code == rewards.CodeConflict || code == rewards.CodeNotFound) {
		return cmp.Or(s.Confirm(ctx), err)
	}
	return err
}

// logChanges appends changes to the operator log. It updates the log's head, a setting, in the
// same transaction. So transactions cannot append concurrently, and a missing last entry is
// noticed.
func logChanges(ctx context.Context, tx Tx, at time.Time, by rewards.Operator, changes []rewards.Change) error {
	stored, err := setting(ctx, tx, settingLogHead)
	if err != nil {
		return err
	}
	var head rewards.LogHead
	if stored != "" {
		if head, err = rewards.ParseLogHead(stored); err != nil {
			return fmt.Errorf("store: cannot read the setting %s: %w", settingLogHead, err)
		}
	}
	before := head
	for _, c := range changes {
		if c.Before != nil && c.Before.String() == c.After.String() {
			continue
		}
		entry := rewards.NextLogEntry(head, at, by, c)
		if err := insertLogEntry(ctx, tx, entry); err != nil {
			return err
		}
		head = entry.Head()
	}
	if head == before {
		return nil
	}
	return setSetting(ctx, tx, settingLogHead, head.String())
}

const logColumns = `number, at, actor, command, object, state_before, state_after, reason, previous, hash`

func insertLogEntry(ctx context.Context, tx Tx, e rewards.LogEntry) error {
	_, err := tx.Exec(ctx, `INSERT INTO operator_log (`+logColumns+`)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`, e.Number, micros(e.At), e.Actor, e.Command, e.Object,
		e.Before, e.After, e.Reason, e.Previous[:], e.Hash[:])
	return err
}

func scanLogEntry(row Row) (e rewards.LogEntry, err error) {
	err = row.Scan(&e.Number, toTime{&e.At}, &e.Actor, &e.Command, &e.Object, &e.Before, &e.After, &e.Reason,
		idScanner{e.Previous[:]}, idScanner{e.Hash[:]})
	return e, err
}

// LogFilter restricts a list of log entries.
type LogFilter struct {
	Object string // only this one; "" does not filter
	Limit  int    // maximum number of entries
}

// LogEntries lists the newest log entries, newest first.
func (s *Store) LogEntries(ctx context.Context, f LogFilter) ([]rewards.LogEntry, error) {
	return readAll(ctx, s, scanLogEntry, `SELECT `+logColumns+` FROM operator_log
		WHERE ?1 = '' OR object = ?1 ORDER BY number DESC LIMIT ?2 + 0`, f.Object, f.Limit)
}

// WalkLog calls each with every log entry, oldest first, and returns the log's stored head. Both
// are of the same moment.
func (s *Store) WalkLog(ctx context.Context, each func(rewards.LogEntry) error) (head string, err error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (string, error) {
		head, err := setting(ctx, tx, settingLogHead)
		if err != nil {
			return "", err
		}
		return head, fetchEach(ctx, tx, scanLogEntry, each, `SELECT `+logColumns+` FROM operator_log ORDER BY number`)
	})
}
