package sqlite_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
)

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	one, other := engines(t)
	storetest.TestTwoProcesses(t, one, other)
}

func TestIDsFollowThoseOfOthers(t *testing.T) {
	t.Parallel()
	one, other := engines(t)
	storetest.TestIDsFollowThoseOfOthers(t, one, other)
}

func TestMergeByOldFilters(t *testing.T) {
	t.Parallel()
	one, other := engines(t)
	storetest.TestMergeByOldFilters(t, one, other)
}

func TestSealingMayStopAnywhere(t *testing.T) {
	t.Parallel()
	storetest.TestSealingMayStopAnywhere(t, opener(migratedFile)(t), stopping)
}

func TestSegmentsOfManyBlocks(t *testing.T) {
	t.Parallel()
	storetest.TestSegmentsOfManyBlocks(t, opener(migratedFile)(t))
}

func TestFiltersMergedBefore(t *testing.T) {
	t.Parallel()
	one, _ := engines(t)
	storetest.TestFiltersMergedBefore(t, one)
}

// engines opens a file twice, as two processes do.
func engines(t *testing.T) (one, other store.Engine) {
	t.Helper()
	path := migratedFile(t)
	open := func() store.Engine {
		e, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		check(t, err)
		t.Cleanup(func() { check(t, e.Close()) })
		return e
	}
	return open(), open()
}

// paused is an engine that runs a function once, in the next read: its transaction has a snapshot
// then, and no statement of the store ran.
type paused struct {
	store.Engine

	run func()
}

func (e *paused) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Engine.Read(ctx, func(ctx context.Context, tx store.Tx) error {
		if e.run == nil {
			return f(ctx, tx)
		}
		if err := tx.Query(ctx, func(store.Row) error { return nil }, `SELECT 1 FROM rewards LIMIT 1`); err != nil {
			return err
		}
		run := e.run
		e.run = nil
		run()
		return f(ctx, tx)
	})
}

func TestListWhileSealing(t *testing.T) {
	t.Parallel()
	e := &paused{Engine: opener(migratedFile)(t)}
	storetest.TestListWhileSealing(t, e, func(run func()) { e.run = run })
}

// uncertain is an engine that rolls back the next commits of clients, hides their outcome, or delays
// the end of one.
type uncertain struct {
	store.Engine

	lost, unknown int
	after         func() // runs once, after the next commit
}

func (e *uncertain) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	lost, unknown, after := e.lost > 0, e.unknown > 0, e.after
	e.lost, e.unknown, e.after = max(0, e.lost-1), max(0, e.unknown-1), nil
	err := e.Engine.WriteForClients(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := f(ctx, tx); err != nil || !lost {
			return err
		}
		return errRetried
	})
	if after != nil {
		after()
	}
	if unknown && (err == nil || errors.Is(err, errRetried)) {
		return store.ErrUnknownOutcome
	}
	return err
}

func TestUncertainCommits(t *testing.T) {
	t.Parallel()
	e := &uncertain{Engine: opener(migratedFile)(t)}
	storetest.TestUncertainCommits(t, e, func(lost, unknown int) { e.lost, e.unknown = lost, unknown })
}

func TestCommitsAtOnce(t *testing.T) {
	t.Parallel()
	e := &uncertain{Engine: opener(migratedFile)(t)}
	storetest.TestCommitsAtOnce(t, e, func(lost int, run func()) { e.lost, e.unknown, e.after = lost, lost, run })
}

// A store whose segments cannot be trusted is refused: it could buy a reward again.
func TestDamagedSegmentsAreRefused(t *testing.T) {
	t.Parallel()
	for what, statement := range map[string]string{
		"a filter gone":            `DELETE FROM segment_filters WHERE first = 0`,
		"the newest filter gone":   `DELETE FROM segment_filters WHERE first = (SELECT max(first) FROM segment_filters)`,
		"another size of segments": `UPDATE segments SET last_reward = last_reward + 1`,
		"a reward gone":            `DELETE FROM rewards WHERE rowid = (SELECT max(rowid) - 1 FROM rewards)`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := opener(migratedFile)(t)
			storetest.TestSegmentsOfAnotherStore(t, e, func() { write(t, e, statement) })
		})
	}
}

func TestEqualHashes(t *testing.T) {
	t.Parallel()
	e := opener(migratedFile)(t)
	storetest.TestEqualHashes(t, e, func() { collideUsers(t, e) })
}

// collideUsers adds entries for reward 2 with the hash of reward 1, and for reward 4 with that of reward 2.
func collideUsers(t *testing.T, e store.Engine) {
	t.Helper()
	const rest, position = 1 << 20, 1<<18 - 1
	blocks := make(map[int64][]byte)
	read(t, e, func(row store.Row) error {
		var place int64
		var entries []byte
		err := row.Scan(&place, scanBytes{&entries})
		blocks[place] = entries
		return err
	}, fmt.Sprintf(`SELECT place, entries FROM user_blocks WHERE place < %d`, 1<<44))
	for place, stored := range blocks {
		var entries []uint64
		for at := 0; at < len(stored); at += 8 {
			e := binary.BigEndian.Uint64(stored[at:])
			entries = append(entries, e)
			if number := e/rest&position + 1; number == 1 || number == 2 {
				entries = append(entries, e+rest*number) // of reward 2, or 4
			}
		}
		slices.Sort(entries)
		stored = nil
		for _, e := range slices.Compact(entries) {
			stored = binary.BigEndian.AppendUint64(stored, e)
		}
		write(t, e, fmt.Sprintf(`UPDATE user_blocks SET entries = x'%x' WHERE place = %d`, stored, place))
	}
}
