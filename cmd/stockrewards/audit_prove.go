package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"stockrewards/internal/audit"
	"stockrewards/internal/prove"
)

// prove plants damage in copies of the books and wants all of it to be found.
func (c *auditCommand) prove(ctx context.Context) error {
	result, err := c.runProof(ctx)
	if err != nil && len(result.Kinds) == 0 {
		return err
	}
	if c.JSON {
		err = errors.Join(err, printJSON(result))
	} else {
		err = errors.Join(err, printProof(result))
	}
	switch {
	case err != nil:
		return fmt.Errorf("the proof did not come to its end: %w", err)
	case !result.Clean:
		return errors.New("the books do not hold as they are: see `stockrewards audit`")
	case !result.OK():
		return fmt.Errorf("%d kinds of damage were not found: do not trust this audit",
			len(result.Kinds)-result.Found())
	}
	return nil
}

// runProof proves the audit on the books that the database flag names.
func (c *auditCommand) runProof(ctx context.Context) (none prove.Result, err error) {
	look := func(ctx context.Context, q audit.Queryer) (audit.Report, error) {
		return audit.Run(ctx, q, audit.Options{})
	}
	progress := func(step string) { fsayf(os.Stderr, "%s\n", step) }
	database, err := c.database()
	if err != nil {
		return none, err
	}
	if database.Postgres != "" {
		return prove.RunPostgres(ctx, database.Postgres, look, progress)
	}
	opened, err := audit.OpenSQLite(ctx, database.SQLite) // are they ours, and of this version?
	if err == nil {
		err = opened.Close()
	}
	if err != nil {
		return none, err
	}
	return prove.Run(ctx, database.SQLite, look, progress)
}

func printProof(r prove.Result) error {
	var rows [][]string
	for _, k := range r.Kinds {
		planted := "not planted: no such row"
		if k.Planted != "" {
			planted = k.Planted
		}
		found := "yes"
		if !k.Found {
			found = "NO: " + strings.Join(k.NotFound, "; ")
		}
		rows = append(rows, []string{k.Check, planted, fmt.Sprint(k.BuiltIn), found, k.Where, k.Next})
	}
	err := table("KIND\tPLANTED IN A COPY\tBUILT-IN\tFOUND\tWHERE\tWHAT TO DO", rows)
	sayf("%d of %d kinds of damage were found\n", r.Found(), len(r.Kinds))
	return err
}
