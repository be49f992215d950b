package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"stockrewards/internal/store"
)

// walEnough is how large the write-ahead log grows before its pages are carried into
// the database. A larger one carries a page that changed often once.
const walEnough = 4000 // pages of 4 KiB

// lookEvery is how often the log is looked at, at most.
const lookEvery = 20 * time.Millisecond

// checkpointer carries the log into the database beside the writer, which would have
// to wait for it otherwise.
type checkpointer struct {
	engine *Engine
	own    *session
	wake   chan struct{}
	stop   context.CancelFunc
	done   sync.WaitGroup
}

func newCheckpointer(e *Engine, own *session) *checkpointer {
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // ended by close
	c := &checkpointer{engine: e, own: own, wake: make(chan struct{}, 1), stop: stop}
	c.done.Go(func() { c.run(ctx) })
	return c
}

// written is told of every commit.
func (c *checkpointer) written() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *checkpointer) run(ctx context.Context) {
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		pause(ctx, lookEvery)
		// The log has it all: what a full disk hinders is tried again after the next commit.
		if err := c.step(ctx); fatal(err) {
			c.engine.fail(err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (c *checkpointer) step(ctx context.Context) error {
	log, carried, err := c.pages(ctx, "NOOP")
	if err != nil || log-carried < walEnough {
		return err
	}
	return c.checkpoint(ctx)
}

// pages runs a checkpoint and tells how many pages the log has, and how many of them
// have been carried into the database.
func (c *checkpointer) pages(ctx context.Context, mode string) (log, carried int, err error) {
	var blocked int
	err = c.own.Query(ctx, func(row store.Row) error { return row.Scan(&blocked, &log, &carried) },
		`PRAGMA wal_checkpoint(`+mode+`)`)
	if err != nil {
		err = fmt.Errorf("sqlite: checkpoint: %w", err)
	}
	return log, carried, err
}

// checkpoint carries most of the log while others write, then the little that came
// meanwhile in the writer's turn: with nothing left, the next write starts the log
// from its beginning.
func (c *checkpointer) checkpoint(ctx context.Context) error {
	if _, _, err := c.pages(ctx, "PASSIVE"); err != nil {
		return err
	}
	s, err := c.engine.writer.take(ctx)
	if err != nil {
		return err
	}
	defer c.engine.writer.give(s)
	if c.engine.dead.Load() {
		return errors.New("sqlite: nothing is written any more")
	}
	_, _, err = c.pages(ctx, "PASSIVE")
	return err
}

// close stops it and waits.
func (c *checkpointer) close() error {
	c.stop()
	c.done.Wait()
	return c.own.close()
}
