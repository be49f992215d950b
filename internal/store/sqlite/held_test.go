package sqlite_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
)

// stepped is an engine with a step in the middle of its next read or write.
type stepped struct {
	store.SoleProcess

	read      func() // in the snapshot of a read, after its statements
	written   func() // before a write is committed
	committed func() // after its commit, before it returns
	failure   error  // of writes, although they are committed
}

// takeStep runs a step once.
func takeStep(step *func()) {
	if next := *step; next != nil {
		*step = nil
		next()
	}
}

func (e *stepped) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.SoleProcess.Read(ctx, func(ctx context.Context, tx store.Tx) error {
		err := f(ctx, tx)
		takeStep(&e.read)
		return err
	})
}

func (e *stepped) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	err := e.SoleProcess.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		err := f(ctx, tx)
		takeStep(&e.written)
		return err
	})
	takeStep(&e.committed)
	return errors.Join(err, e.failure)
}

// investor is a world whose first user buys lots of a dollar.
type investor struct {
	*storetest.World
	engine *stepped
}

const (
	lot      = 5_000_000       // billionths of a share
	lotPrice = 200_000_000_000 // billionths of a dollar for a share
)

func newInvestor(t *testing.T) investor {
	t.Helper()
	engine, ok := opener(migratedFile)(t).(store.SoleProcess)
	if !ok {
		t.Fatal("the engine is not a SoleProcess")
	}
	e := &stepped{SoleProcess: engine}
	return investor{storetest.NewWorld(t, e), e}
}

// order opens an order of a lot.
func (w investor) order(t *testing.T) rewards.Order {
	t.Helper()
	w.Give(t, money.Dollar)
	return w.Open(t)
}

func (w investor) settle(t *testing.T, o rewards.Order) {
	t.Helper()
	check(t, w.Settle(t, o, "filled", lot, lotPrice))
}

// lotsIn counts the lots of the world's first user in a store.
func (w investor) lotsIn(t *testing.T, s *store.Store) (lots money.Shares) {
	t.Helper()
	list, err := s.Holdings(t.Context(), w.App.ID, w.Users[0].ID)
	if err != nil {
		t.Error(err)
	}
	for _, h := range list {
		lots += h.Quantity / lot
	}
	return lots
}

func (w investor) wantLots(t *testing.T, when string, want money.Shares) {
	t.Helper()
	if got := w.lotsIn(t, w.Store); got != want {
		t.Errorf("%s: %d lots, want %d", when, got, want)
	}
}

// A settlement while holdings are read: what was read before it does not stay in memory.
func TestASettlementDuringAReadOfHoldings(t *testing.T) {
	t.Parallel()
	w := newInvestor(t)
	o := w.order(t)
	w.engine.read = func() { w.settle(t, o) }
	w.wantLots(t, "the read that began before", 0)
	w.wantLots(t, "the next read", 1)
}

// A read of holdings while they are settled: what was read before the commit does not stay in
// memory, not even until the settlement returns.
func TestAReadOfHoldingsDuringASettlement(t *testing.T) {
	t.Parallel()
	w := newInvestor(t)
	w.settle(t, w.order(t))
	w.wantLots(t, "before", 1)
	o := w.order(t)
	w.engine.written = func() { w.wantLots(t, "before the commit", 1) }
	w.engine.committed = func() { w.wantLots(t, "after the commit", 2) }
	w.settle(t, o)
	w.wantLots(t, "after the settlement", 2)
	w.settle(t, w.order(t))
	w.wantLots(t, "after the next settlement", 3)
}

// A commit with an unknown outcome may become visible later: until the next one the user's
// holdings are read from the database.
func TestHoldingsAfterAnUnknownCommit(t *testing.T) {
	t.Parallel()
	w := newInvestor(t)
	w.settle(t, w.order(t))
	o := w.order(t)
	w.engine.failure = store.ErrUnknownOutcome
	if err := w.Settle(t, o, "filled", lot, lotPrice); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Fatalf("got %v, want an unknown outcome", err)
	}
	w.engine.failure = nil
	w.wantLots(t, "after the unknown commit", 2)
	write(t, w.engine, `UPDATE holdings SET quantity = 0`)
	w.wantLots(t, "after a change in the database", 0)
	w.settle(t, w.order(t))
	w.wantLots(t, "after the next settlement", 1)
	write(t, w.engine, `UPDATE holdings SET quantity = 0`)
	w.wantLots(t, "from memory", 1)
}

// A process beside the one that settles keeps no holdings in memory.
func TestAToolReadsHoldingsFromTheDatabase(t *testing.T) {
	t.Parallel()
	path := migratedFile(t)
	w := investor{World: storetest.NewWorld(t, openFile(t, path))}
	e, err := sqlite.Open(t.Context(), path, sqlite.Options{KeepSchema: true})
	check(t, err)
	defer func() { check(t, e.Close()) }()
	beside, err := store.New(t.Context(), e, time.Now, rand.Reader)
	check(t, err)
	for want := range money.Shares(2) {
		if got := w.lotsIn(t, beside); got != want {
			t.Errorf("the tool reads %d lots, want %d", got, want)
		}
		w.settle(t, w.order(t))
	}
}

// Another process takes an action back: holdings in memory are in the old units then, and say so by
// their generation, until they are forgotten or swept.
func TestAToolUndoesAnAction(t *testing.T) {
	t.Parallel()
	path := migratedFile(t)
	w := investor{World: storetest.NewWorld(t, openFile(t, path))}
	w.settle(t, w.order(t))
	w.SplitInTwo(t, "double")
	w.SweepAll(t)
	w.wantHolding(t, "applied", 2*lot, 1)
	e, err := sqlite.Open(t.Context(), path, sqlite.Options{KeepSchema: true})
	check(t, err)
	defer func() { check(t, e.Close()) }()
	beside, err := store.New(t.Context(), e, time.Now, rand.Reader)
	check(t, err)
	_, err = beside.As(w.By()).UndoAction(t.Context(), "double")
	check(t, err)
	w.wantHolding(t, "undone by a tool", 2*lot, 1)
	w.ForgetHoldings(w.App.ID, w.Users[0].ID)
	w.wantHolding(t, "forgotten", lot, 2)
	w.SweepAll(t)
	w.wantHolding(t, "swept", lot, 2)
}

func failure[T any](_ T, err error) error { return err }

func (w investor) wantHolding(t *testing.T, when string, want money.Shares, generation int64) {
	t.Helper()
	list, err := w.Holdings(t.Context(), w.App.ID, w.Users[0].ID)
	check(t, err)
	if len(list) != 1 || list[0].Quantity != want || list[0].Generation != generation {
		t.Errorf("%s: %+v, want %s shares of generation %d", when, list, want, generation)
	}
}

// Units that change while holdings are read: what was read before does not stay in memory, not even
// until the call returns.
func TestHoldingsDuringAChangeOfUnits(t *testing.T) {
	t.Parallel()
	w := newInvestor(t)
	w.settle(t, w.order(t))
	w.wantHolding(t, "before", lot, 0)
	w.engine.committed = func() { // of the announcement
		w.engine.committed = func() { w.wantHolding(t, "after the commit", 2*lot, 1) }
	}
	w.SplitInTwo(t, "double")
	w.wantHolding(t, "applied", 2*lot, 1)
	w.SweepAll(t)
	w.ForgetHoldings(w.App.ID, w.Users[0].ID)
	w.engine.read = func() { check(t, failure(w.UndoAction(t.Context(), "double"))) }
	w.wantHolding(t, "the read that began before the undo", 2*lot, 1)
	w.wantHolding(t, "the next read", lot, 2)
	w.engine.committed = func() { w.wantHolding(t, "after the commit of a sweep", lot, 2) }
	w.SweepAll(t)
	w.wantHolding(t, "swept", lot, 2)
}

// Whoever reads after a settlement sees it, however many read and settle at once.
func TestReadsAfterASettlementSeeIt(t *testing.T) {
	t.Parallel()
	w := newInvestor(t)
	lots := func() money.Shares { return w.lotsIn(t, w.Store) }
	storetest.TestReadsAfterSettlements(t, lots, func() { w.settle(t, w.order(t)) })
}

// A file of the store that changes holdings begins a holdingChange.
func TestWritersOfHoldingsBeginAChange(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../*.go")
	check(t, err)
	changes := regexp.MustCompile(`(INSERT INTO|UPDATE|DELETE FROM) holdings\b`)
	writers := 0
	for _, path := range files {
		content, err := os.ReadFile(path)
		check(t, err)
		if !changes.Match(content) {
			continue
		}
		writers++
		caller := map[string]string{"sweep_batch.go": "sweep.go", "taking.go": "reversal.go"}
		if by, found := caller[filepath.Base(path)]; found {
			content, err = os.ReadFile("../" + by)
			check(t, err)
		}
		if !strings.Contains(string(content), "&holdingChange{") {
			t.Errorf("%s changes holdings without a holdingChange", path)
		}
	}
	if writers == 0 {
		t.Error("no file changes holdings")
	}
}
