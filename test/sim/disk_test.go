package sim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// disk is an engine that can write nothing while its disk is full.
type disk struct {
	store.Engine

	full bool
}

// Sole implements store.SoleProcess.
func (d *disk) Sole() bool { return true }

func (d *disk) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if d.full {
		return rewards.Unavailable("the database cannot be written", errDisk)
	}
	return d.Engine.Write(ctx, f)
}

func (d *disk) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return d.Write(ctx, f)
}

// While the disk is full, nothing is written: no order, alarm or price. Clients retry, and in the
// end every reward is bought once.
func TestTheDiskIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := openWorld(t, *seed)
		for range 60 {
			w.engine.full = w.random.IntN(2) == 0
			for _, symbol := range symbols() {
				app := w.random.IntN(apps)
				w.give(app, w.users[app][0], symbol, money.Dollar)
			}
			w.pass(time.Duration(w.random.IntN(40))*time.Second, time.Second)
		}
		w.engine.full = false
		for _, g := range w.given {
			if !g.acknowledged {
				w.send(g)
			}
		}
		w.pass(15*time.Minute, time.Second)
		w.verify()
	})
}
