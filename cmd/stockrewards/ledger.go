package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"stockrewards/internal/dbfile"
	"stockrewards/internal/ledger"
	"stockrewards/internal/server"
	"stockrewards/internal/store"
)

type ledgerCommand struct {
	databaseFlag
	brokerFlags
	Output    string `placeholder:"FILE" help:"Write to this new file (mode 0600), which appears when it is complete (default: standard output, whose last line confirms that it is complete)."`
	Positions bool   `help:"Add assertions that the broker's positions equal the shares in the books."`
}

// Run writes the journal from one snapshot of the store, even while serve runs.
func (c *ledgerCommand) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		var positions *ledger.Positions
		if c.Positions {
			var err error
			if positions, err = c.askPositions(ctx, s); err != nil {
				return err
			}
		}
		var report ledger.Report
		write := func(w io.Writer) error {
			// The outer context: the store's own does not end with a signal.
			return s.ReadLedger(ctx, func(_ context.Context, books store.LedgerReader) (err error) {
				report, err = ledger.Write(ctx, w, books, positions)
				return err
			})
		}
		if err := c.write(write); err != nil {
			return err
		}
		if len(report.NotCompared) > 0 {
			fsayf(os.Stderr, "stockrewards: positions not asserted, because of live orders: %s\n",
				strings.Join(report.NotCompared, ", "))
		}
		return nil
	})
}

// askPositions reads the broker's positions before the store, so that later fills are known.
func (c *ledgerCommand) askPositions(ctx context.Context, s *store.Store) (*ledger.Positions, error) {
	p := &ledger.Positions{Asked: time.Now()}
	err := c.withBroker(ctx, c.databaseFlag, s, func(broker server.Connection) (err error) {
		p.List, err = broker.Positions(ctx)
		return err
	})
	return p, err
}

func (c *ledgerCommand) write(write func(io.Writer) error) error {
	if c.Output == "" {
		return write(os.Stdout)
	}
	return writeNewFile(c.Output, write)
}

// writeNewFile creates a file that appears, durably, only when it is complete. It never
// replaces a file.
func writeNewFile(path string, write func(io.Writer) error) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return fmt.Errorf("%s exists: choose a new name", path)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	const ownerOnly = 0o600
	partial := path + ".partial"
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, ownerOnly)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: remove what an earlier run left", err)
	}
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = dbfile.Publish(partial, path)
	}
	if err != nil {
		_ = os.Remove(partial) // unless it has got its name
		return fmt.Errorf("%s is not written: %w", path, err)
	}
	return nil
}
