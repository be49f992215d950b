package audit_test

import (
	"fmt"
	"slices"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
)

// ofSegments reports whether a check counts other rows over SQLite than over PostgreSQL.
func ofSegments(c audit.CheckResult) bool {
	return slices.Contains([]string{numbersOnly, "segments", "segment_entries"}, c.Name)
}

// rewardsInSegment is how many rewards a segment of the world has.
const rewardsInSegment = 7

// numbersOnly is the check that has rows over SQLite only.
const numbersOnly = "reward_numbers"

// Parts of the damages.
const (
	newestSegment = `(SELECT max(number) FROM segments)`
	newestBatch   = `(SELECT max(number) FROM reward_batches WHERE length(keys) > 0)`
	someBits      = `(SELECT bits FROM segment_filters ORDER BY first LIMIT 1)`
	oldestBlocks  = `place < 17592186044416` // of the first segment
)

// columnDamages damages the segments of PostgreSQL. The first three have filters.
func columnDamages() []damage {
	return []damage{
		{"segments segment_entries", "a segment gone", `DELETE FROM segments WHERE number = 1`},
		{"segments segment_entries", "all gone", `DELETE FROM segments`},
		{"segments", "sealed twice", `INSERT INTO segments SELECT * FROM segments WHERE number = 1`},
		{"segments", "a filter of the newest", `UPDATE segments SET filter = (SELECT filter FROM segments WHERE number = 1) WHERE number = ` + newestSegment},
		{"segments", "a short filter", `UPDATE segments SET checksum = 1, filter = substr(filter, 1, 24) WHERE number = 1`},
		{"segment_entries", "the filter of another segment", `UPDATE segments SET checksum = 1, filter = (SELECT filter FROM segments WHERE number = 0) WHERE number = 1`},
		{"segments", "a filter with another checksum", `UPDATE segments SET checksum = checksum + 1 WHERE number = 1`},
		{"segment_entries", "another segment", `UPDATE rewards SET segment = 0 WHERE segment = 2`},
		{"segment_entries", "no segment", `UPDATE rewards SET segment = 1000 WHERE segment = 1`},
		{"segments", "an unknown place of keys", `UPDATE segments SET keys = 3 WHERE number = 1`},
		{"segments segment_entries", "blocks without a filter", `UPDATE segments SET filter = x'' WHERE number = 1; UPDATE segments SET keys = 1 WHERE number = 0`},
		{"segment_entries", "a batch gone", `DELETE FROM reward_batches WHERE number = ` + newestBatch + ` - 1`},
		{"segment_entries", "the newest batch gone", `DELETE FROM reward_batches WHERE number = ` + newestBatch},
		{"segment_entries", "no batches", `DELETE FROM reward_batches`},
		{"segment_entries", "a batch of a sealed segment", `UPDATE reward_batches SET segment = 0 WHERE number = (SELECT min(number) FROM reward_batches)`},
		{"segment_entries", "another key in a batch", `UPDATE reward_batches SET keys = CAST(substr(keys, 1, 7) || x'00' || substr(keys, 9) AS BLOB) WHERE number = ` + newestBatch},
		{"segment_entries", "another reward in a batch", `UPDATE reward_batches SET ids = CAST(substr(ids, 1, 15) || x'00' || substr(ids, 17) AS BLOB) WHERE number = ` + newestBatch},
		{"segment_entries", "a key of no reward", `INSERT INTO reward_batches SELECT number + 1, mark, segment, x'0102030405060708', x'0195d0aabbcc7ddd8eee0123456789ab', x'010203040506' FROM reward_batches WHERE number = (SELECT max(number) FROM reward_batches)`},
		{"segment_entries", "a short batch", `UPDATE reward_batches SET ids = substr(ids, 1, 15) WHERE number = ` + newestBatch},
		{"segment_entries", "no block", `DELETE FROM key_blocks WHERE place < 4294967296`},
		{"segment_entries", "a block of the newest segment", `UPDATE key_blocks SET place = place + 4294967296 * ` + newestSegment + ` WHERE place < 4294967296`},
		{"segment_entries", "a block twice", `INSERT INTO key_blocks SELECT * FROM key_blocks WHERE place < 4294967296`},
		{"segment_entries", "a block at another place", `UPDATE key_blocks SET place = place - 1 WHERE place < 4294967296`},
		{"segment_entries", "an empty block", `UPDATE key_blocks SET entries = x'' WHERE place < 4294967296`},
		{"segment_entries", "a short block", `UPDATE key_blocks SET entries = substr(entries, 1, 21) WHERE place < 4294967296`},
		{"segment_entries", "entries in another order", `UPDATE key_blocks SET entries = CAST(substr(entries, 1, 22) || substr(entries, 45, 22) || substr(entries, 23, 22) || substr(entries, 67) AS BLOB) WHERE place < 4294967296`},
		{"segments", "an unknown place of users", `UPDATE segments SET users = 3 WHERE number = 1`},
		{"segments segment_entries", "users in batches without keys", `UPDATE segments SET users = 1 WHERE number = 0`},
		{"segment_entries", "a batch without users", `UPDATE reward_batches SET users = x'' WHERE number = ` + newestBatch},
		{"segment_entries", "another user in a batch", `UPDATE reward_batches SET users = CAST(substr(users, 1, 5) || x'00' || substr(users, 7) AS BLOB) WHERE number = ` + newestBatch},
		{"segment_entries", "a part of a user in a batch", `UPDATE reward_batches SET users = substr(users, 1, 5) WHERE number = ` + newestBatch},
		{"segment_entries", "no block of users", `DELETE FROM user_blocks WHERE segment = 0`},
		{"segment_entries", "a block of users of the newest segment", `UPDATE user_blocks SET segment = ` + newestSegment + ` WHERE segment = 0`},
		{"segment_entries", "a block of users twice", `INSERT INTO user_blocks SELECT * FROM user_blocks WHERE segment = 0`},
		{"segment_entries", "another first entry", `UPDATE user_blocks SET first = substr(first, 1, 21) WHERE segment = 0`},
		{"segment_entries", "an empty block of users", `UPDATE user_blocks SET entries = x'' WHERE segment = 0`},
		{"segment_entries", "a short block of users", `UPDATE user_blocks SET entries = substr(entries, 1, 21) WHERE segment = 0`},
		{"segment_entries", "users in another order", `UPDATE user_blocks SET entries = CAST(substr(entries, 1, 22) || substr(entries, 45, 22) || substr(entries, 23, 22) || substr(entries, 67) AS BLOB) WHERE segment = 0`},
	}
}

// segmentDamages damages the segments of SQLite.
func segmentDamages() []damage {
	return []damage{
		{"reward_numbers segment_entries", "a gap", `DELETE FROM rewards WHERE rowid = 12`},
		{"reward_numbers", "a gap in the tail", `DELETE FROM rewards WHERE rowid = (SELECT max(rowid) - 1 FROM rewards)`},
		{"reward_numbers segment_entries", "not from 1", `UPDATE rewards SET rowid = 0 WHERE rowid = 1`},
		{"reward_numbers", "a negative number", `UPDATE rewards SET rowid = -9223372036854775808 WHERE rowid = 1`},
		{"reward_numbers", "the largest number", `UPDATE rewards SET rowid = 9223372036854775807 WHERE rowid = 9`},
		{"reward_numbers segment_entries", "exchanged", `UPDATE rewards SET rowid = -1 WHERE id = @ann-aapl; UPDATE rewards SET rowid = 1 WHERE id = @bob-aapl; UPDATE rewards SET rowid = 3 WHERE id = @ann-aapl`},
		{"open_rewards", "an arrival that is sorted", `UPDATE arrivals_after SET number = 0, id = x''`},
		{"open_rewards", "no row of arrivals", `DELETE FROM arrivals_after`},
		{"open_rewards", "the next reward would not arrive", `UPDATE arrivals_after SET number = 1 + (SELECT max(rowid) FROM rewards)`},
		{"open_rewards", "an arrival by its number only", `UPDATE arrivals_after SET number = number - 1`},
		{"open_rewards", "an arrival by its id only", `UPDATE arrivals_after SET id = x''`},
		{"segments segment_entries", "fewer rewards than sealed", `DELETE FROM rewards WHERE rowid > 12`},
		{"segments", "a segment gone", `DELETE FROM segments WHERE number = 1`},
		{"segments", "the newest gone", `DELETE FROM segments WHERE number = ` + newestSegment},
		{"segments segment_entries", "all gone", `DELETE FROM segments`},
		{"segments", "another number", `UPDATE segments SET number = 9 WHERE number = ` + newestSegment},
		{"segments", "another first reward", `UPDATE segments SET first_reward = first_reward + 1 WHERE number = 1`},
		{"segments", "another last reward", `UPDATE segments SET last_reward = last_reward + 1 WHERE number = 1`},
		{"segments", "another size", `UPDATE segments SET last_reward = last_reward - 1 WHERE number = 0`},
		{"segments", "no size", `UPDATE segments SET last_reward = 0 WHERE number = 0`},
		{"segments", "sealed twice", `INSERT INTO segments SELECT * FROM segments WHERE number = 1`},
		{"segments segment_entries", "sealed too early", `INSERT INTO segments SELECT number + 1, last_reward + 1, last_reward + 7, 1 FROM segments WHERE number = ` + newestSegment},
		{"segments", "no filter", `DELETE FROM segment_filters WHERE first = 1`},
		{"segments", "two filters", `INSERT INTO segment_filters SELECT * FROM segment_filters WHERE first = 1`},
		{"segments", "a filter too wide", `UPDATE segment_filters SET first = 0 WHERE first = 1`},
		{"segments", "a filter of no segment", `INSERT INTO segment_filters SELECT 9, 9, bits, checksum FROM segment_filters WHERE first = 0`},
		{"segments", "a filter that ends too early", `UPDATE segment_filters SET last = 0 WHERE first = 1`},
		{"segments", "an empty filter", `UPDATE segment_filters SET bits = x'' WHERE first = 1`},
		{"segments", "a short filter", `UPDATE segment_filters SET checksum = 1, bits = substr(bits, 1, 24) WHERE first = 1`},
		{"segments", "a filter with more bits", `UPDATE segment_filters SET checksum = 1, bits = CAST(bits || zeroblob(8) AS BLOB) WHERE first = 1`},
		{"segments", "a filter with other probes", `UPDATE segment_filters SET checksum = 1, bits = CAST(substr(bits, 1, 15) || x'07' || substr(bits, 17) AS BLOB) WHERE first = 1`},
		{"segments", "a filter of 0 bits", `UPDATE segment_filters SET checksum = 1, bits = CAST(zeroblob(8) || substr(bits, 9) AS BLOB) WHERE first = 1`},
		{"segments", "a filter of too many bits", `UPDATE segment_filters SET checksum = 1, bits = CAST(x'ffffffffffffffff' || substr(bits, 9, 8) || x'ffffffffffffffff' || substr(bits, 25) AS BLOB) WHERE first = 1`},
		{"segment_entries", "a filter that forgets", `UPDATE segment_filters SET checksum = 1, bits = CAST(substr(bits, 1, 24) || zeroblob(length(bits) - 24) AS BLOB) WHERE first = 1`},
		{"segment_entries", "the filter of another segment", `UPDATE segment_filters SET checksum = 1, bits = ` + someBits + ` WHERE first = 1`},
		{"segments", "a filter with another checksum", `UPDATE segment_filters SET checksum = checksum + 1 WHERE first = 1`},
		{"segment_entries", "no entry by key", `DELETE FROM key_blocks WHERE place = (SELECT min(place) FROM key_blocks)`},
		{"segment_entries", "no entry by user", `UPDATE user_blocks SET entries = substr(entries, 1, length(entries) - 8) WHERE ` + oldestBlocks + ` AND length(entries) > 8`},
		{"segment_entries", "no blocks by key", `DELETE FROM key_blocks WHERE ` + oldestBlocks},
		{"segment_entries", "no blocks by user", `DELETE FROM user_blocks`},
		{"segment_entries", "another hash of a key", `UPDATE key_blocks SET entries = CAST(substr(entries, 1, 7) || x'00' AS BLOB) WHERE ` + oldestBlocks + ` AND length(entries) = 8`},
		{"segment_entries", "another reward's entry", `UPDATE user_blocks SET entries = CAST(substr(entries, 1, 12) || x'0F' || substr(entries, 14) AS BLOB) WHERE ` + oldestBlocks + ` AND length(entries) > 8`},
		{"segment_entries", "in another order", `UPDATE user_blocks SET entries = CAST(substr(entries, 9, 8) || substr(entries, 1, 8) || substr(entries, 17) AS BLOB) WHERE ` + oldestBlocks + ` AND length(entries) > 8`},
		{"segment_entries", "twice", `UPDATE user_blocks SET entries = CAST(substr(entries, 1, 8) || entries AS BLOB) WHERE ` + oldestBlocks},
		{"segment_entries", "in the block of other hashes", `UPDATE key_blocks SET entries = CAST(entries || (SELECT k.entries FROM key_blocks k WHERE k.place > key_blocks.place ORDER BY k.place LIMIT 1) AS BLOB) WHERE place = (SELECT min(place) FROM key_blocks); DELETE FROM key_blocks WHERE place = (SELECT min(place) FROM key_blocks WHERE place > (SELECT min(place) FROM key_blocks))`},
		{"segment_entries", "a block twice", `INSERT INTO user_blocks SELECT * FROM user_blocks WHERE ` + oldestBlocks},
		{"segment_entries", "part of an entry", `UPDATE key_blocks SET entries = substr(entries, 1, length(entries) - 1) WHERE ` + oldestBlocks},
		{"segment_entries", "no entries in a block", `UPDATE key_blocks SET entries = x'' WHERE ` + oldestBlocks},
		{"segment_entries", "an empty block", `INSERT INTO user_blocks SELECT place + 1, x'' FROM user_blocks WHERE ` + oldestBlocks},
		{"segment_entries", "a block at another place", `UPDATE user_blocks SET place = place + 1 WHERE ` + oldestBlocks},
		{"segment_entries", "in another segment", `UPDATE user_blocks SET place = place + 17592186044416 WHERE ` + oldestBlocks},
		{"segment_entries", "of a negative segment", `INSERT INTO user_blocks SELECT -1, entries FROM user_blocks WHERE ` + oldestBlocks},
		{"segment_entries", "a foreign one in the next segment", `INSERT INTO key_blocks SELECT place + ` + newestSegment + ` * 17592186044416 + 17592186044416, entries FROM key_blocks WHERE ` + oldestBlocks},
		{"segment_entries", "one after the next segment", `INSERT INTO key_blocks SELECT place + ` + newestSegment + ` * 17592186044416 + 35184372088832, entries FROM key_blocks WHERE ` + oldestBlocks},
		{"segment_entries", "rows instead of blocks", `UPDATE segments SET in_blocks = 0 WHERE number = 1`},
		{"segment_entries", "a key changed", `UPDATE rewards SET idempotency_key = 'another' WHERE rowid = 3`},
		{"segment_entries", "a user changed", `UPDATE rewards SET user_id = @dee WHERE rowid = 3`},
		{"segment_entries", "a user's id cut short", `UPDATE rewards SET user_id = x'01' WHERE rowid = 3`},
	}
}

// TestMergedFilters audits a store with a filter of eight segments.
func TestMergedFilters(t *testing.T) {
	t.Parallel()
	w := audittest.NewWorld(t, audittest.NewFile)
	u := w.User(w.App("first"), "ann", "ann@example.com", "")
	for i := range 68 {
		w.Give(fmt.Sprint("gift-", i), u, "KO", dollar, "", "")
	}
	w.Seal()
	merged, err := w.MergeFilters(t.Context())
	check(t, err)
	var filters int
	check(t, audittest.SQL(t, w.Where).QueryRowContext(t.Context(), `SELECT count(*) FROM segment_filters`).Scan(&filters))
	if r := run(t, w.Where); !merged || filters != 2 || !r.OK() {
		t.Errorf("%d filters, want 2; the audit:\n%s", filters, text(t, r))
	}
	c := w.Copy(t)
	c.Exec(`UPDATE segment_filters SET last = 5 WHERE first = 0`)
	wantViolations(t, run(t, c.Where), "segments")
	c.Restore()
	c.Exec(`UPDATE segment_filters SET checksum = 1, bits = CAST(substr(bits, 1, 24) || zeroblob(length(bits) - 24) AS BLOB) WHERE first = 0`)
	wantViolations(t, run(t, c.Where), "segment_entries")
	c.Restore()
	c.Exec(`UPDATE segment_filters SET checksum = 1, bits = CAST(substr(bits, 1, 23) || x'40' || substr(bits, 25) AS BLOB) WHERE first = 0`)
	wantViolations(t, run(t, c.Where), "segments")
	c.Restore()
	c.Exec(`UPDATE segment_filters SET first = 7 WHERE first = 8`)
	wantViolations(t, run(t, c.Where), "segments")
}

// A report says whether filters, which serve makes again, are all that is damaged.
func TestOnlyFiltersAreDamaged(t *testing.T) {
	t.Parallel()
	for filters, in := range map[string]audittest.Place{"segment_filters": audittest.NewFile, "segments": audittest.NewDatabase} {
		c := audittest.History(t, in).Copy(t)
		want := func(damaged string, only bool) {
			t.Helper()
			if r := run(t, c.Where); r.OnlyFilters() != only {
				t.Errorf("damaged is %s: only filters %t, want %t:\n%s", damaged, r.OnlyFilters(), only, text(t, r))
			}
		}
		want("nothing", false)
		c.Exec(`UPDATE ` + filters + ` SET checksum = checksum + 1 WHERE checksum > 1`)
		want("each filter", true)
		c.Exec(`UPDATE orders SET filled_qty = filled_qty + 1 WHERE filled_qty > 0`)
		want("an order, too", false)
	}
}

// TestSegmentBeingSealed audits a store with a full segment of which some blocks are stored.
func TestSegmentBeingSealed(t *testing.T) {
	t.Parallel()
	w := audittest.History(t, audittest.NewFile)
	c := w.Copy(t)
	for _, unsealed := range []string{
		`DELETE FROM segments WHERE number = ` + newestSegment,
		`DELETE FROM segment_filters WHERE last > ` + newestSegment,
		`DELETE FROM user_blocks WHERE place > ` + newestSegment + ` * 17592186044416 + 17592186044416`,
	} {
		c.Exec(unsealed)
	}
	if r := run(t, c.Where); !r.OK() {
		t.Errorf("the audit fails:\n%s", text(t, r))
	}
}

// TestSegmentsInRows audits a store whose sealed segments are as an earlier version stored them, and one of them
// begun again. What is left of rows elsewhere does no harm.
func TestSegmentsInRows(t *testing.T) {
	t.Parallel()
	w := audittest.History(t, audittest.NewFile)
	c := w.Copy(t)
	audittest.InRows(t, audittest.SQL(t, c.Where), rewardsInSegment)
	if r := run(t, c.Where); !r.OK() {
		t.Errorf("the audit fails:\n%s", text(t, r))
	}
	for _, damage := range []string{
		`DELETE FROM reward_keys WHERE number = 3`,
		`UPDATE reward_users SET hash = hash + 1000000 WHERE number = 3`,
		`UPDATE reward_keys SET number = 4 WHERE number = 3`,
		`INSERT INTO reward_keys SELECT * FROM reward_keys WHERE number = 3`,
		`INSERT INTO reward_users SELECT segment, hash, 9 FROM reward_users WHERE number = 3`,
	} {
		c.Exec(damage)
		wantViolations(t, run(t, c.Where), "segment_entries")
		for _, table := range []string{"reward_keys", "reward_users"} {
			audittest.Exec(t, audittest.SQL(t, c.Where), `DELETE FROM `+table)
		}
		audittest.InRows(t, audittest.SQL(t, c.Where), rewardsInSegment)
	}
	c.Exec(`UPDATE segments SET in_blocks = 1`)
	c.Exec(`INSERT INTO key_blocks SELECT * FROM public.key_blocks`)
	c.Exec(`INSERT INTO user_blocks SELECT * FROM public.user_blocks`)
	if r := run(t, c.Where); !r.OK() {
		t.Errorf("the audit of leftover rows fails:\n%s", text(t, r))
	}
}
