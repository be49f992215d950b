package store

import (
	"context"
	"fmt"
	"time"

	"stockrewards/internal/rewards"
)

// Operator is the books in the hands of an operator. Whatever changes the books by a
// command is a method of Operator: its change and the row of the operator log are one
// transaction.
type Operator struct {
	*Store
	by rewards.Operator
}

// As gives the books to an operator, whose deeds are logged.
func (s *Store) As(by rewards.Operator) *Operator { return &Operator{Store: s, by: by} }

// By is who the operator is.
func (o *Operator) By() rewards.Operator { return o.by }

// change runs f in one transaction and logs the changes that f returns. Nothing is
// logged for an object that is as it was, so a repeated command leaves no second row.
func (o *Operator) change(ctx context.Context, f func(context.Context, Tx) ([]rewards.Change, error)) error {
	return o.changeFor(ctx, o.by.Reason, f)
}

// changeFor is change with a reason that is an argument of the deed itself.
func (o *Operator) changeFor(
	ctx context.Context, reason string, f func(context.Context, Tx) ([]rewards.Change, error),
) error {
	by := o.by
	by.Reason = reason
	if err := by.Check(); err != nil {
		return err
	}
	return o.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		changes, err := f(ctx, tx)
		if err != nil {
			return err
		}
		return logDeeds(ctx, tx, o.now(), by, changes)
	})
}

// logDeeds appends the changes to the operator log. The log's head is a setting that
// is updated in the same transaction, so that two transactions can't append at once
// and a row that is missing at the end is noticed.
func logDeeds(ctx context.Context, tx Tx, at time.Time, by rewards.Operator, changes []rewards.Change) error {
	stored, err := setting(ctx, tx, settingLogHead)
	if err != nil {
		return err
	}
	var head rewards.LogHead
	if stored != "" {
		if head, err = rewards.ParseLogHead(stored); err != nil {
			return fmt.Errorf("store: the setting %s: %w", settingLogHead, err)
		}
	}
	was := head
	for _, c := range changes {
		if c.Before != nil && c.Before.String() == c.After.String() {
			continue
		}
		d := rewards.NextLogEntry(head, at, by, c)
		if err := insertDeed(ctx, tx, d); err != nil {
			return err
		}
		head = d.Head()
	}
	if head == was {
		return nil
	}
	return setSetting(ctx, tx, settingLogHead, head.String())
}

const deedColumns = `number, at, actor, command, object, state_before, state_after, reason, previous, hash`

func insertDeed(ctx context.Context, tx Tx, d rewards.LogEntry) error {
	_, err := tx.Exec(ctx, `INSERT INTO operator_log (`+deedColumns+`)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`, d.Number, micros(d.At), d.Actor, d.Command, d.Object,
		d.Before, d.After, d.Reason, d.Previous[:], d.Hash[:])
	return err
}

func scanDeed(row Row) (d rewards.LogEntry, err error) {
	err = row.Scan(&d.Number, toTime{&d.At}, &d.Actor, &d.Command, &d.Object, &d.Before, &d.After, &d.Reason,
		idScanner{d.Previous[:]}, idScanner{d.Hash[:]})
	return d, err
}

// DeedFilter restricts a list of deeds.
type DeedFilter struct {
	Object string // exactly this one; "" does not restrict
	Limit  int    // at most that many, the newest
}

// Deeds lists the newest deeds, newest first.
func (s *Store) Deeds(ctx context.Context, f DeedFilter) (list []rewards.LogEntry, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		return tx.Query(ctx, func(row Row) error {
			d, err := scanDeed(row)
			list = append(list, d)
			return err
		}, `SELECT `+deedColumns+` FROM operator_log WHERE ?1 = '' OR object = ?1 ORDER BY number DESC LIMIT ?2`,
			f.Object, f.Limit)
	})
	return list, err
}

// WalkLog reads all deeds, oldest first, and the head that the books keep beside
// them, from one snapshot.
func (s *Store) WalkLog(ctx context.Context, each func(rewards.LogEntry) error) (kept string, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		if kept, err = setting(ctx, tx, settingLogHead); err != nil {
			return err
		}
		return tx.Query(ctx, func(row Row) error {
			d, err := scanDeed(row)
			if err != nil {
				return err
			}
			return each(d)
		}, `SELECT `+deedColumns+` FROM operator_log ORDER BY number`)
	})
	return kept, err
}
