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

// manyTransactions is how many transactions of the writer may have filled the caches without a checkpoint: a batch
// of repeated requests only reads, two pages for each.
const manyTransactions = 100

// emptyEvery is how often the caches are emptied, at most: the writer has to read its pages again.
const emptyEvery = time.Second

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
}

func newCheckpointer(e *Engine, own *session) *checkpointer {
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // canceled by close
	c := &checkpointer{engine: e, own: own, wake: make(chan struct{}, 1), stop: stop}
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
	for {
		select {
		case <-c.wake:
		case <-c.emptying():
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
		err = fmt.Errorf("sqlite: cannot checkpoint: %w", err)
	}
	return log, copied, err
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
