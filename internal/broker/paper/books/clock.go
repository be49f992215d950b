package books

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The limits of a test clock. At the highest pace a year passes in half a minute; the
// trading days before the first year are not known.
const (
	maxPace   = 1_000_000
	FirstYear = 1971 // the first year that a test clock can show
	LastYear  = 2200 // the last one
)

// Clock is the brokerage's only source of time: the real time, or a test clock that was
// set. It is safe for concurrent use.
type Clock struct {
	real func() time.Time

	mu   sync.RWMutex
	test *TestClock // nil: the real time
}

// TestClock is a clock that was set: it showed At at the real time Since and advances
// Pace seconds in each real second. With a pace of 0 it stops.
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

// Now returns the brokerage's time in UTC, truncated to the microseconds that are stored.
func (c *Clock) Now() time.Time {
	now := c.real()
	if test := c.Test(); test != nil {
		now = test.now(now)
	}
	return now.UTC().Truncate(time.Microsecond)
}

// RealNow returns the real time, which the rate limit follows.
func (c *Clock) RealNow() time.Time { return c.real().UTC().Truncate(time.Microsecond) }

// Test returns the test clock, nil when the clock follows the real time.
func (c *Clock) Test() *TestClock {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.test
}

func (c *Clock) set(t *TestClock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.test = t
}

// SetClock sets the clock to a time, with a pace in seconds per real second; see
// paper.Brokerage.SetClock.
func (b *Books) SetClock(ctx context.Context, at time.Time, pace int64) error {
	if pace < 0 || pace > maxPace {
		return fmt.Errorf("cannot set the clock: pace %d: must be from 0 to %d", pace, maxPace)
	}
	if at.Year() < FirstYear || at.Year() > LastYear {
		return fmt.Errorf("cannot set the clock: year %d: must be from %d to %d", at.Year(), FirstYear, LastYear)
	}
	t := &TestClock{At: at.UTC().Truncate(time.Microsecond), Since: b.Clock.RealNow(), Pace: pace}
	_, err := b.writer.ExecContext(ctx, `INSERT INTO test_clock (only, at, since, pace) VALUES (1, ?1, ?2, ?3)
		ON CONFLICT (only) DO UPDATE SET at = excluded.at, since = excluded.since, pace = excluded.pace`,
		stored(t.At), stored(t.Since), t.Pace)
	if err != nil {
		return fmt.Errorf("cannot set the clock: %w", err)
	}
	b.Clock.set(t)
	return nil
}

// UseRealTime ends the test clock, if one is set.
func (b *Books) UseRealTime(ctx context.Context) error {
	if _, err := b.writer.ExecContext(ctx, "DELETE FROM test_clock"); err != nil {
		return fmt.Errorf("cannot return to the real time: %w", err)
	}
	b.Clock.set(nil)
	return nil
}

func (b *Books) readClock(ctx context.Context) (*TestClock, error) {
	var t TestClock
	err := b.reader.QueryRowContext(ctx, "SELECT at, since, pace FROM test_clock").
		Scan(scanTime{&t.At}, scanTime{&t.Since}, &t.Pace)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // the clock follows the real time
	}
	return &t, err
}
