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

// errProveOnPostgres says how the audit is proven where there is no file to copy.
var errProveOnPostgres = errors.New("--prove plants its damage in a copy of an SQLite file. " +
	"For books in PostgreSQL run it on any SQLite books, such as new ones of `app create`: " +
	"what decides is the same code, and the built-in books have every kind of row; " +
	"that this code reads PostgreSQL alike is what the tests of the program plant there")

// prove plants damage in copies of the books and wants all of it to be found.
func (c *auditCommand) prove(ctx context.Context) error {
	if c.onPostgres() {
		return errProveOnPostgres
	}
	path, err := c.path()
	if err != nil {
		return err
	}
	opened, err := audit.OpenSQLite(ctx, path) // are they ours, and of this version?
	if err == nil {
		err = opened.Close()
	}
	if err != nil {
		return err
	}
	result, err := prove.Run(ctx, path, func(ctx context.Context, q audit.Queryer) (audit.Report, error) {
		return audit.Run(ctx, q, audit.Options{})
	}, func(step string) { fmt.Fprintln(os.Stderr, step) })
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
	fmt.Printf("%d of %d kinds of damage were found\n", r.Found(), len(r.Kinds))
	return err
}
