package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"stockrewards/internal/store"
)

// maxLog is the size of the write-ahead log at which it is checkpointed. In a larger log more
// pages changed repeatedly, and each is copied into the database only once.
const maxLog = 4000 // pages of 4 KiB

// checkEvery is how often the size of the log is checked, at most.
const checkEvery = 20 * time.Millisecond

// lookEvery is how often it is checked that the files are in their places when nothing is written. A write checks it.
const lookEvery = 2 * time.Second

// manyTransactions is how many transactions of the writer may have filled the caches without a checkpoint: a batch
// of repeated requests only reads, two pages for each.
const manyTransactions = 100

// emptyEvery is how often the caches are emptied, at most: the writer has to read its pages again.
const emptyEvery = time.Second

// A log that is larger than largeLog for longTime is held back: while any process reads an old state of the database,
// the next write cannot start the log from its beginning.
const (
	largeLog = 65_536 // pages of 4 KiB: 256 MB
	longTime = time.Minute
)

// checkpointer copies the log into the database on its own connection, so that the writer does
// not wait.
type checkpointer struct {
	engine *Engine
	own    *session
	wake   chan struct{}
	stop   context.CancelFunc
	done   sync.WaitGroup

	transactions atomic.Int64 // of the writer, since emptied
	filled       bool         // there were many, or the log was copied: the caches may have only the writer's pages
	emptied      time.Time    // when emptyCaches ran last

	large      int          // pages of a large log
	size       atomic.Int64 // pages of the log
	largeSince atomic.Int64 // since when it is large and held back, in nanoseconds since 1970; 0: it is not
}

func newCheckpointer(e *Engine, own *session) *checkpointer {
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // canceled by close
	c := &checkpointer{engine: e, own: own, wake: make(chan struct{}, 1), stop: stop, large: largeLog}
	c.done.Go(func() { c.run(ctx) })
	return c
}

// written wakes the checkpointer after a transaction of the writer.
func (c *checkpointer) written() {
	c.transactions.Add(1)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *checkpointer) run(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-c.wake:
		case <-c.emptying():
		case <-look.C:
			_ = c.engine.CheckFiles() // reports it itself
			continue
		case <-ctx.Done():
			return
		}
		_ = store.Sleep(ctx, checkEvery)
		// Nothing is lost when it fails, as on a full disk: the next commit retries it.
		if err := c.step(ctx); fatal(err) {
			c.engine.fail(err)
		}
	}
}

func (c *checkpointer) step(ctx context.Context) error {
	if c.engine.dead.Load() { // what it would copy may be another process's
		return nil
	}
	log, copied, err := c.pages(ctx, "NOOP")
	if err == nil && log-copied >= maxLog {
		c.filled, err = true, c.checkpoint(ctx)
	}
	c.filled = c.filled || c.transactions.Load() >= manyTransactions
	if err != nil || !c.filled || time.Since(c.emptied) < emptyEvery {
		return err
	}
	c.transactions.Store(0)
	c.emptied, err = time.Now(), c.emptyCaches(ctx)
	c.filled = err != nil
	return err
}

// measure notes the size of the log. One that is copied to its end is not held back: the next write begins it again.
func (c *checkpointer) measure(log, copied int) {
	c.size.Store(int64(log))
	if log < c.large || copied == log {
		c.largeSince.Store(0)
		return
	}
	c.largeSince.CompareAndSwap(0, time.Now().UnixNano())
}

// HeldBack implements store.Engine.
func (e *Engine) HeldBack(context.Context) (string, error) {
	if e.carry == nil {
		return "", nil
	}
	since := e.carry.largeSince.Load()
	if since == 0 || time.Since(time.Unix(0, since)) < longTime {
		return "", nil
	}
	const pagesOfMegabyte = 256
	return fmt.Sprintf("the log of the database (the file -wal) has %d MB and grows: another program keeps a read "+
		"of the database open, such as a sqlite3 shell in a transaction or a command that waits; end it",
		e.carry.size.Load()/pagesOfMegabyte), nil
}

// emptying is when the caches must be emptied even if nothing is written any more.
func (c *checkpointer) emptying() <-chan time.Time {
	if !c.filled {
		return nil
	}
	return time.After(emptyEvery)
}

// pages runs a checkpoint. It returns how many pages the log has and how many of them are in the
// database.
func (c *checkpointer) pages(ctx context.Context, mode string) (log, copied int, err error) {
	var blocked int
	err = c.own.Query(ctx, func(row store.Row) error { return row.Scan(&blocked, &log, &copied) },
		`PRAGMA wal_checkpoint(`+mode+`)`)
	if err != nil {
		return 0, 0, fmt.Errorf("sqlite: cannot checkpoint: %w", err)
	}
	c.measure(log, copied)
	return log, copied, nil
}

// checkpoint copies the log while others write, and then what they wrote meanwhile. Then it excludes the
// writer and copies the little that is left, so that the next write starts the log from its beginning.
func (c *checkpointer) checkpoint(ctx context.Context) error {
	for range 2 {
		if _, _, err := c.pages(ctx, "PASSIVE"); err != nil {
			return err
		}
	}
	s, err := c.engine.writer.take(ctx)
	if err != nil {
		return err
	}
	defer c.engine.writer.give(s)
	if c.engine.dead.Load() {
		return errors.New("sqlite: a fatal error forbids all writes")
	}
	_, _, err = c.pages(ctx, "PASSIVE")
	return err
}

// emptyCaches forgets the cached pages of all connections of this process, which SQLite's library bounds by one sum.
// A writer that reads or writes much takes nearly all of it, also from the readers, and gives nothing back. From then
// on a reader's pages would be dropped as soon as it has read them. What is in use again is cached again.
func (c *checkpointer) emptyCaches(ctx context.Context) error {
	_, err := c.own.Exec(ctx, "PRAGMA shrink_memory")
	return err
}

// close stops the checkpointer and waits for it.
func (c *checkpointer) close() error {
	c.stop()
	c.done.Wait()
	return c.own.close()
}
