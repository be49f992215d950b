// Package ledger writes the books as double-entry plain-text accounting for
// hledger (https://hledger.org, journal format of version 1.25). It promises that
// the transactions come from the rows of events (orders, allocations, the house's
// shares) and the closing balance assertions from other rows (holdings, the orders'
// filled quantities, the broker's positions), so that hledger finds what does not
// add up; and that memory does not grow with the number of rewards. Read entry.go
// for the bookings, closing.go for the assertions, journal.go for the accounts.
package ledger

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"stockrewards/internal/rewards"
)

// Source is the books as they were at one moment: every method tells of the same
// one. A method with each calls it for every row and stops with its error. The
// order is the same each time.
type Source interface {
	// Apps lists every app.
	Apps(ctx context.Context) ([]rewards.App, error)
	// Assets lists every stock that a row can name.
	Assets(ctx context.Context) ([]rewards.Asset, error)
	// Fills tells of every order how much of it was filled.
	Fills(ctx context.Context, each func(rewards.Fill) error) error
	// Bookings tells every settled order with its parts, oldest first.
	Bookings(ctx context.Context, each func(rewards.Booking) error) error
	// Holdings tells every holding, those of one user together.
	Holdings(ctx context.Context, each func(rewards.UserHolding) error) error
	// Pending tells every reward that is recorded or executing.
	Pending(ctx context.Context, each func(rewards.PendingReward) error) error
	// Acknowledged lists the orders at the broker that the books do not know and
	// whose shares an operator has accepted as the house's.
	Acknowledged(ctx context.Context) ([]rewards.BrokerConflict, error)
}

// Positions is what the broker holds for the account. Ask it before the Source is
// opened: then an order that was under way in between can be told.
type Positions struct {
	List  []rewards.Position
	Asked time.Time // the moment before the broker was asked
}

// Report tells what was written.
type Report struct {
	Orders      int      // booked
	Lots        int      // of rewards, in these orders
	NotCompared []string // stocks whose position was not asserted: an order of theirs was under way
}

// Write writes the journal. positions is nil when the broker was not asked. The
// same books make the same bytes; the last line says that the journal is complete.
// It fails with money.ErrOverflow, on a symbol that cannot be a commodity, and with
// the errors of the source and the writer.
func Write(ctx context.Context, w io.Writer, source Source, positions *Positions) (Report, error) {
	const buffer = 1 << 16
	j := &journal{w: bufio.NewWriterSize(w, buffer)}
	t, err := readTotals(ctx, source, positions)
	if err != nil {
		return Report{}, fmt.Errorf("ledger: %w", err)
	}
	r := Report{NotCompared: t.notCompared}
	for _, step := range []func() error{
		func() error { return writeDirectives(ctx, j, source, t) },
		func() error { return writeEntries(ctx, j, source, t, &r) },
		func() error { return writeClosing(ctx, j, source, t) },
	} {
		if err := step(); err != nil {
			return r, fmt.Errorf("ledger: %w", err)
		}
	}
	j.line("")
	j.line("; complete: %d orders, %d parts of rewards", r.Orders, r.Lots)
	return r, j.flush()
}
