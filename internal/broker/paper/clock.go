package paper

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// maxPace bounds the pace of a test clock: a year passes in half a minute.
const maxPace = 1_000_000

// The years that a test clock can show; the trading days before are not known.
const (
	firstClockYear = 1971
	lastClockYear  = 2200
)

// clock is the only source of time in the brokerage. It follows the real time, or
// a test clock that was set.
type clock struct {
	real func() time.Time

	mu   sync.RWMutex
	test *TestClock // nil: the real time
}

// TestClock is a clock that was set: it showed At at the real moment Since, and
// gains Pace seconds in each real one. A pace of 0 stands still.
type TestClock struct {
	At    time.Time
	Since time.Time
	Pace  int64
}

func (t *TestClock) now(realNow time.Time) time.Time {
	elapsed := max(realNow.Sub(t.Since), 0)
	const longest = time.Duration(1<<63 - 1)
	if t.Pace > 0 && elapsed > longest/time.Duration(t.Pace) {
		return t.At.Add(longest)
	}
	return t.At.Add(elapsed * time.Duration(t.Pace))
}

// micros is the time now in UTC, cut to the microseconds that the books keep.
func (c *clock) micros() time.Time {
	now := c.real()
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.test != nil {
		now = c.test.now(now)
	}
	return now.UTC().Truncate(time.Microsecond)
}

// realMicros is the real time, which the rate limit goes by.
func (c *clock) realMicros() time.Time { return c.real().UTC().Truncate(time.Microsecond) }

func (c *clock) setting() *TestClock {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.test
}

func (c *clock) set(t *TestClock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.test = t
}

// SetClock sets the brokerage's clock to a moment and lets it run at a pace: that
// many seconds in each real second; 0 stands still. It is kept in the books, so
// that it goes on after a restart. Setting it back is allowed; what has happened
// stays so. It fails when the pace is negative or above a million, and when the
// year is not from 1971 to 2200.
func (b *Brokerage) SetClock(ctx context.Context, at time.Time, pace int64) error {
	if pace < 0 || pace > maxPace {
		return fmt.Errorf("paper: set the clock: pace %d: must be from 0 to %d", pace, maxPace)
	}
	if at.Year() < firstClockYear || at.Year() > lastClockYear {
		return fmt.Errorf("paper: set the clock: year %d: must be from %d to %d",
			at.Year(), firstClockYear, lastClockYear)
	}
	t := &TestClock{At: at.UTC().Truncate(time.Microsecond), Since: b.clock.realMicros(), Pace: pace}
	err := b.books.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO test_clock (only, at, since, pace) VALUES (1, ?1, ?2, ?3)
			ON CONFLICT (only) DO UPDATE SET at = excluded.at, since = excluded.since, pace = excluded.pace`,
			t.At.UnixMicro(), t.Since.UnixMicro(), t.Pace)
		return err
	})
	if err != nil {
		return fmt.Errorf("paper: set the clock: %w", err)
	}
	b.clock.set(t)
	return nil
}

// UseRealTime ends the test clock.
func (b *Brokerage) UseRealTime(ctx context.Context) error {
	err := b.books.update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM test_clock")
		return err
	})
	if err != nil {
		return fmt.Errorf("paper: follow the real time: %w", err)
	}
	b.clock.set(nil)
	return nil
}

// Now is the brokerage's time in UTC, and the test clock when one is set.
func (b *Brokerage) Now() (time.Time, *TestClock) { return b.clock.micros(), b.clock.setting() }

func (b *books) readClock(ctx context.Context) (*TestClock, error) {
	var at, since, pace int64
	err := b.reader.QueryRowContext(ctx, "SELECT at, since, pace FROM test_clock").Scan(&at, &since, &pace)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no test clock is no error
	}
	if err != nil {
		return nil, err
	}
	return &TestClock{At: fromMicros(at), Since: fromMicros(since), Pace: pace}, nil
}
