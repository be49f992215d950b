// Package ledger exports the store as double-entry plain-text accounting for hledger
// (https://hledger.org, journal format of version 1.25). Transactions come from event rows:
// orders, allocations, the house's shares, the effects of corporate actions. Closing balance
// assertions come from other rows: holdings, filled quantities, booked shares, the broker's
// positions. So hledger finds any contradiction between them. Memory does not grow with the number
// of rewards. entry.go has the transactions of orders, action.go those of corporate actions,
// taking.go those of reversals, closing.go the assertions, journal.go the accounts.
package ledger

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"stockrewards/internal/rewards"
)

// Source reads a snapshot of the store; all methods see the same moment. A method with
// each calls it for every row, in a fixed order, and stops at its first error.
type Source interface {
	// Apps lists every app.
	Apps(ctx context.Context) ([]rewards.App, error)
	// Assets lists every stock that a row can refer to.
	Assets(ctx context.Context) ([]rewards.Asset, error)
	// Fills reads the filled quantity of every order.
	Fills(ctx context.Context, each func(rewards.Fill) error) error
	// Bookings reads every settled order with its lots, oldest first.
	Bookings(ctx context.Context, each func(rewards.Booking) error) error
	// Holdings reads every holding, grouped by user.
	Holdings(ctx context.Context, each func(rewards.UserHolding) error) error
	// Pending reads every recorded or executing reward.
	Pending(ctx context.Context, each func(rewards.PendingReward) error) error
	// Acknowledged lists the orders at the broker that the store does not have, and whose
	// shares an operator has accepted for the house.
	Acknowledged(ctx context.Context) ([]rewards.AcknowledgedOrder, error)
	// Switches lists what corporate actions did to stocks, oldest first.
	Switches(ctx context.Context) ([]rewards.Switch, error)
	// Effects reads what a switch did to users' holdings.
	Effects(ctx context.Context, number int64, each func(rewards.Effect) error) error
	// Receipts lists the cash that the broker paid for corporate actions, oldest first.
	Receipts(ctx context.Context) ([]rewards.Receipt, error)
	// CashInLieu lists what the broker paid for fractions of shares, and took back, oldest first.
	CashInLieu(ctx context.Context) ([]rewards.CashInLieu, error)
	// Takings reads what reversals took of users for the house, by reversal.
	Takings(ctx context.Context, each func(rewards.UserTaking) error) error
	// Corrections lists the fills that the broker corrected after they were booked.
	Corrections(ctx context.Context) ([]rewards.Correction, error)
	// Stocks lists the booked shares.
	Stocks(ctx context.Context) ([]rewards.Stock, error)
}

// Positions are the broker's positions. Read them before opening the Source, so that
// orders in flight between the two readings can be excluded.
type Positions struct {
	List  []rewards.Position
	Asked time.Time // just before the request to the broker
}

// Report says what was written.
type Report struct {
	Orders      int      // settled orders that bought something
	Lots        int      // of rewards in these orders
	NotCompared []string // stocks without an assertion of the position, because of a live order
}

// Write writes the journal. positions may be nil. Equal stores give equal bytes, and the
// last line says that the journal is complete. Write fails with money.ErrOverflow, on a
// symbol that cannot be a commodity, and with the errors of the source and the writer.
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
		func() error { return writeTakings(ctx, j, source, t) },
		func() error { return writeActions(ctx, j, source, t) },
		func() error { return writeClosing(ctx, j, source, t) },
	} {
		if err := step(); err != nil {
			return r, fmt.Errorf("ledger: %w", err)
		}
	}
	j.line("")
	j.line("; complete: %d orders, %d parts of rewards", r.Orders, r.Lots)
	return r, j.w.Flush()
}
