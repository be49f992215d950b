package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/store"
	"stockrewards/internal/store/storetest"
)

// older opens an engine with the indexes that the rewards of an older store have.
func older(t *testing.T) store.Engine {
	t.Helper()
	e := opener(memory)(t)
	write(t, e, `CREATE UNIQUE INDEX rewards_by_key ON rewards (app_id, idempotency_key)`)
	write(t, e, `CREATE INDEX rewards_by_user ON rewards (app_id, user_id, id)`)
	write(t, e, `DROP INDEX rewards_failed_by_user`) // SQLite prefers the newer one of two equal indexes
	write(t, e, `CREATE INDEX rewards_failed_by_user ON rewards (user_id, app_id, id) WHERE failure_reason <> ''`)
	return e
}

// Before an older store is in segments, its indexes find the rewards of a list.
func TestListsOfAnOlderStore(t *testing.T) {
	t.Parallel()
	storetest.TestLists(t, older)
}

// A store is upgraded while it is in use, whenever the upgrade is interrupted.
func TestUpgradeMayStopAnywhere(t *testing.T) {
	t.Parallel()
	upgrade(t, older(t))
}

func upgrade(t *testing.T, e store.Engine) {
	t.Helper()
	storetest.TestUpgrade(t, e, stopping)
}

// A store whose sealed segments are rows is upgraded while it is in use, whenever the upgrade is interrupted.
func TestUpgradeOfRowsMayStopAnywhere(t *testing.T) {
	t.Parallel()
	upgradeOfRows(t, func(e store.Engine) store.Engine { return e })
}

func upgradeOfRows(t *testing.T, on func(store.Engine) store.Engine) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.db")
	e := on(openFile(t, path))
	storetest.TestUpgradeOfRows(t, e, stopping, func() {
		audittest.InRows(t, audittest.SQL(t, path), storetest.SegmentSize)
	})
}

// Lists and keys find everything while the last rows of an older store become blocks and are removed.
func TestListWhileUpgrading(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.db")
	e := &paused{Engine: openFile(t, path)}
	storetest.TestListWhileUpgrading(t, e, func(run func()) { e.run = run }, func() {
		audittest.InRows(t, audittest.SQL(t, path), storetest.SegmentSize)
	})
}

// stopping returns an engine that is canceled after a number of writes.
func stopping(e store.Engine, writes int) store.Engine { return &ending{Engine: e, left: writes} }

// ending is an engine that is canceled after a number of writes.
type ending struct {
	store.Engine
	left int
}

func (e *ending) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	e.left--
	if e.left < 0 {
		return context.Canceled
	}
	return e.Engine.Write(ctx, f)
}
