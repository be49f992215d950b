package sqlite

import (
	"context"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"stockrewards/internal/store"
)

var _ store.Freezer = (*Engine)(nil)

// frozen is the prefix of the triggers that forbid writes, and refusal is their message.
const (
	frozen  = "frozen_"
	refusal = "this database is frozen: it was moved to another database"
)

// Freeze implements store.Freezer by triggers, which every program that opens the file obeys,
// older versions of this one too.
func (e *Engine) Freeze(ctx context.Context, tx store.Tx, setting string) error {
	tables, err := names(ctx, tx, `SELECT name FROM sqlite_schema WHERE type = 'table'
		AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name <> 'goose_db_version'`)
	if err != nil {
		return err
	}
	for _, table := range tables {
		for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
			if _, err := tx.Exec(ctx, freezing(table, event, setting)); err != nil {
				return fmt.Errorf("sqlite: cannot freeze %s: %w", table, err)
			}
		}
	}
	return nil
}

func freezing(table, event, setting string) string {
	when := ""
	if table == "settings" {
		row := "OLD"
		if event == "INSERT" {
			row = "NEW"
		}
		when = " WHEN " + row + ".name <> '" + setting + "'"
	}
	return `CREATE TRIGGER IF NOT EXISTS ` + frozen + strings.ToLower(event) + `_` + table +
		` BEFORE ` + event + ` ON ` + table + when +
		` BEGIN SELECT RAISE(ABORT, '` + refusal + `'); END`
}

// refused reports whether a trigger of Freeze caused an error.
func refused(err error) bool {
	return code(err) == sqlite.ResultConstraintTrigger && strings.Contains(err.Error(), refusal)
}

// Thaw implements store.Freezer.
func (e *Engine) Thaw(ctx context.Context, tx store.Tx) error {
	triggers, err := names(ctx, tx, `SELECT name FROM sqlite_schema WHERE type = 'trigger'
		AND name LIKE 'frozen\_%' ESCAPE '\'`)
	if err != nil {
		return err
	}
	for _, trigger := range triggers {
		if _, err := tx.Exec(ctx, `DROP TRIGGER `+trigger); err != nil {
			return fmt.Errorf("sqlite: cannot thaw: %w", err)
		}
	}
	return nil
}

func names(ctx context.Context, tx store.Tx, query string) (list []string, err error) {
	err = tx.Query(ctx, func(row store.Row) error {
		var name string
		err := row.Scan(&name)
		list = append(list, name)
		return err
	}, query)
	return list, err
}
