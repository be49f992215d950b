package storetest

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// storedFilter is a filter as it is stored.
type storedFilter struct {
	First, Checksum int64
	Bits            []byte
}

// filters lists the stored filters of the segments before one.
func (w *World) filters(t *testing.T, before int64) (list []storedFilter) {
	t.Helper()
	check(t, w.engine.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		list = nil
		query := `SELECT first, checksum, hex(bits) FROM segment_filters WHERE first < ?1 ORDER BY first`
		if _, columns := tx.(store.ColumnTx); columns {
			query = `SELECT number, checksum, upper(encode(filter, 'hex')) FROM segments
				WHERE filter <> '' AND number < ?1 ORDER BY number`
		}
		return tx.Query(ctx, func(row store.Row) error {
			var f storedFilter
			var bits string
			err := row.Scan(&f.First, &f.Checksum, &bits)
			f.Bits = fromHex(t, bits)
			list = append(list, f)
			return err
		}, "-- only in tests\n"+query, before)
	}))
	return list
}

// setFilters stores what change makes of each filter.
func (w *World) setFilters(t *testing.T, list []storedFilter, change func(*storedFilter)) {
	t.Helper()
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		query := `UPDATE segment_filters SET bits = ?2, checksum = ?3 WHERE first = ?1`
		if _, columns := tx.(store.ColumnTx); columns {
			query = `UPDATE segments SET filter = ?2, checksum = ?3 WHERE number = ?1`
		}
		for _, f := range list {
			f.Bits = bytes.Clone(f.Bits)
			change(&f)
			if _, err := tx.Exec(ctx, "-- only in tests\n"+query, f.First, f.Bits, f.Checksum); err != nil {
				return err
			}
		}
		return nil
	}))
}

// testDamagedFilters damages all stored filters. Every key is a replay all the same, a new key is not, and the filters
// are made again, in each process.
func testDamagedFilters(t *testing.T, w *World) {
	const segments, head = 10, 24
	requests := w.recordSegments(t, segments)
	w.keepSegments(t)
	sound := w.filters(t, segments-1)
	if len(sound) == 0 {
		return // indexes find rewards, as in a store of an earlier version
	}
	damages := map[string]func(*storedFilter){
		"no bits":       func(f *storedFilter) { clear(f.Bits[head:]) },
		"a zeroed byte": func(f *storedFilter) { f.Bits[slices.IndexFunc(f.Bits[head:], isSet)+head] = 0 },
		"another shape": func(f *storedFilter) { clear(f.Bits[:head]) },
		"a short one":   func(f *storedFilter) { f.Bits = f.Bits[:len(f.Bits)-1] },
		"nothing":       func(f *storedFilter) { f.Bits = f.Bits[:0] },
		"no checksum":   func(f *storedFilter) { f.Checksum = 0 },
		"0xFF checksum": func(f *storedFilter) { f.Checksum = -1 },
	}
	for what, damage := range damages {
		if what == "nothing" && w.inColumns(t) {
			continue // a segment without a filter
		}
		w.setFilters(t, sound, damage)
		w.reopen(t)
		idle := w.process(t, 9)
		check(t, idle.LoadIndex(t.Context()))
		w.wantReplays(t, requests)
		if n := len(w.DamagedFilters()); n != len(sound) {
			t.Errorf("%s: %d damaged filters, want %d", what, n, len(sound))
		}
		requests = append(requests, w.Request(t, 1_000_000))
		wantVerdicts(t, w.verdicts(t, requests[len(requests)-1]), rewards.Created)
		w.keepSegments(t)
		if diff := cmp.Diff(sound, w.filters(t, segments-1)); diff != "" {
			t.Errorf("%s: filters are not made again:\n%s", what, diff)
		}
		w.wantReplays(t, requests)
		check(t, failure(idle.SealSegment(t.Context()))) // takes the stored filters
		w.wantFewLooks(t, w.Store)
		if w.inColumns(t) { // over SQLite one process serves
			w.wantFewLooks(t, idle)
		}
	}
}

func isSet(b byte) bool { return b > 0 }

// keepSegments does what the service does in the background.
func (w *World) keepSegments(t *testing.T) {
	t.Helper()
	w.sealAll(t)
	w.mergeAll(t)
}

// inColumns reports whether the store is PostgreSQL's.
func (w *World) inColumns(t *testing.T) (columns bool) {
	t.Helper()
	check(t, w.engine.Read(t.Context(), func(_ context.Context, tx store.Tx) error {
		_, columns = tx.(store.ColumnTx)
		return nil
	}))
	return columns
}

// wantFewLooks checks that a process does not look for a new key in the blocks, which would fail. Its filters know no
// more than a few foreign keys.
func (w *World) wantFewLooks(t *testing.T, s *store.Store) {
	t.Helper()
	const tries = 5
	blocks := w.blocks(t, "key_blocks")
	w.setBlocks(t, "key_blocks", blocks, func(entries []byte) []byte { return entries[:1] })
	err := errors.New("not tried")
	for i := 0; i < tries && err != nil; i++ {
		_, err = s.RecordRewards(t.Context(), []rewards.NewReward{w.Request(t, 1_000_000)})
	}
	check(t, err)
	w.setBlocks(t, "key_blocks", blocks, bytes.Clone)
}

// testChecksumsOfAnOlderStore opens a store whose filters have no checksums yet. They get them, and are used meanwhile.
func testChecksumsOfAnOlderStore(t *testing.T, w *World) {
	const segments = 10
	requests := w.recordSegments(t, segments)
	w.keepSegments(t)
	sound := w.filters(t, segments)
	w.setFilters(t, sound, func(f *storedFilter) { f.Checksum = 1 })
	w.reopen(t)
	w.wantReplays(t, requests)
	w.keepSegments(t)
	if damaged := w.DamagedFilters(); len(damaged) > 0 {
		t.Errorf("damaged are %v", damaged)
	}
	if diff := cmp.Diff(sound, w.filters(t, segments)); diff != "" {
		t.Error(diff)
	}
}

// storedBlock is a row of key_blocks or of user_blocks.
type storedBlock struct {
	place   string
	entries []byte
}

// placeOf is the place of a block in its table.
func placeOf(tx store.Tx, table string) string {
	if _, columns := tx.(store.ColumnTx); columns && table == "user_blocks" {
		return `segment || ' ' || encode(first, 'hex')`
	}
	return `CAST(place AS TEXT)`
}

// blocks lists the blocks of a table.
func (w *World) blocks(t *testing.T, table string) (list []storedBlock) {
	t.Helper()
	check(t, w.engine.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		list = nil
		entries := `hex(entries)`
		if _, columns := tx.(store.ColumnTx); columns {
			entries = `encode(entries, 'hex')`
		}
		return tx.Query(ctx, func(row store.Row) error {
			var b storedBlock
			var text string
			err := row.Scan(&b.place, &text)
			b.entries = fromHex(t, text)
			list = append(list, b)
			return err
		}, "-- only in tests\nSELECT "+placeOf(tx, table)+`, `+entries+` FROM `+table+` ORDER BY 1`)
	}))
	return list
}

func fromHex(t *testing.T, text string) []byte {
	t.Helper()
	decoded, err := hex.DecodeString(text)
	check(t, err)
	return decoded
}

// setBlocks stores what change makes of the entries of each block.
func (w *World) setBlocks(t *testing.T, table string, list []storedBlock, change func([]byte) []byte) {
	t.Helper()
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		query := "-- only in tests\nUPDATE " + table + ` SET entries = ?2 WHERE ` + placeOf(tx, table) + ` = ?1`
		for _, b := range list {
			if _, err := tx.Exec(ctx, query, b.place, change(bytes.Clone(b.entries))); err != nil {
				return err
			}
		}
		return nil
	}))
}

// blockDamages are what a disk may make of the entries of a block.
func blockDamages() map[string]func([]byte) []byte {
	fill := func(b byte) func([]byte) []byte {
		return func(entries []byte) []byte {
			for i := len(entries) / 16 * 8; i < len(entries); i++ {
				entries[i] = b
			}
			return entries
		}
	}
	return map[string]func([]byte) []byte{
		"zeroed": fill(0), "0xFF": fill(0xFF),
		"cut":     func(entries []byte) []byte { return entries[:len(entries)-1] },
		"nothing": func(entries []byte) []byte { return entries[:0] },
	}
}

// testDamagedBlocksOfKeys damages all blocks of keys but one. A key that is looked for there is an error and no new
// reward, and the others are replays.
func testDamagedBlocksOfKeys(t *testing.T, w *World) {
	requests := w.recordSegments(t, 3)
	w.sealAll(t)
	blocks := w.blocks(t, "key_blocks")
	if len(blocks) == 0 {
		return // indexes find rewards, as in a store of an earlier version
	}
	for what, damage := range blockDamages() {
		w.setBlocks(t, "key_blocks", blocks[1:], damage)
		w.reopen(t)
		failed := 0
		for _, r := range requests {
			outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
			switch {
			case err != nil && strings.Contains(err.Error(), "a block of keys of segment "):
				failed++
			case err != nil || outcomes[0].Verdict != rewards.Replay:
				t.Fatalf("%s: a repeated request gets %+v, %v", what, outcomes, err)
			}
		}
		if failed == 0 || failed == len(requests) {
			t.Errorf("%s: %d of %d keys cannot be looked for", what, failed, len(requests))
		}
		w.setBlocks(t, "key_blocks", blocks, bytes.Clone)
	}
	w.wantReplays(t, requests)
}

// testDamagedBlocksOfUsers damages the blocks of users. No list lacks a reward without an error.
func testDamagedBlocksOfUsers(t *testing.T, w *World) {
	requests := w.recordSegments(t, 3)
	w.sealAll(t)
	blocks := w.blocks(t, "user_blocks")
	if len(blocks) == 0 {
		return // indexes find rewards, as in a store of an earlier version
	}
	for what, damage := range blockDamages() {
		w.setBlocks(t, "user_blocks", blocks, damage)
		w.reopen(t)
		f := rewards.RewardFilter{UserID: &w.Users[0].ID}
		list, err := w.Rewards(t.Context(), w.App.ID, f, all[rewards.Reward]())
		if err == nil || !strings.Contains(err.Error(), "a block of users of segment ") {
			t.Errorf("%s: a list has %d rewards, %v", what, len(list), err)
		}
		w.setBlocks(t, "user_blocks", blocks, bytes.Clone)
	}
	w.wantLists(t, requests)
}
