package storetest

import (
	"context"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// keyContract are the tests of what finds rewards by their idempotency keys.
func keyContract() map[string]func(*testing.T, *World) {
	return map[string]func(*testing.T, *World){
		"KeysOfSegments":     testSegments,
		"KeysOfAnOlderStore": testKeysOfAnOlderStore,
		"KeysOfBudgets":      testKeysOfBudgets,
		"KeysOfTwoProcesses": testKeysOfTwoProcesses,

		"DamagedFilters":          testDamagedFilters,
		"DamagedBlocksOfKeys":     testDamagedBlocksOfKeys,
		"DamagedBlocksOfUsers":    testDamagedBlocksOfUsers,
		"MissingBlocksOfKeys":     testMissingBlocksOfKeys,
		"MissingBatches":          testMissingBatches,
		"MissingLaterBatch":       testMissingLaterBatch,
		"MissingFewKeys":          testMissingFewKeys,
		"DamagedRewards":          testDamagedRewards,
		"SizesOfAnOlderStore":     testSizesOfAnOlderStore,
		"ChecksumsOfAnOlderStore": testChecksumsOfAnOlderStore,
	}
}

// testKeysOfAnOlderStore takes the segments over PostgreSQL back to the version in which an index had their keys. They are
// sealed one by one; every key is a replay meanwhile, also for a process that does not know what is sealed.
// In the end the index is gone.
func testKeysOfAnOlderStore(t *testing.T, w *World) {
	requests := w.recordSegments(t, 3)
	if !w.keysInIndex(t) {
		return // over SQLite the segments of each version had the keys
	}
	w.reopen(t)
	const inIndex = `SELECT count(*) FROM segments WHERE keys = 0`
	w.wantReplays(t, requests)
	idle := w.Store
	w.reopen(t)
	left := int64(3)
	for more := true; more; left-- {
		w.wantRows(t, "segments with keys in the index", max(left, 0), inIndex)
		w.wantReplays(t, requests)
		for _, r := range requests {
			f := rewards.RewardFilter{IdempotencyKey: r.IdempotencyKey}
			if found := w.walk(t, w.App.ID, f, 1); len(found) != 1 {
				t.Fatalf("the key of a reward finds %v", found)
			}
		}
		w.wantLists(t, requests)
		requests = append(requests, w.Request(t, 1_000_000))
		wantVerdicts(t, w.verdicts(t, requests[len(requests)-1]), rewards.Created)
		var err error
		more, err = w.SealSegment(t.Context())
		check(t, err)
	}
	w.wantRows(t, "indexes of keys", 0, `SELECT count(*) FROM pg_indexes WHERE indexname = 'rewards_by_key'`)
	w.Operator = idle.As(rewards.Operator{Actor: "tester@storetest", Command: "test"})
	w.wantReplays(t, requests)
}

// keysInIndex puts the keys of all rewards into an index. It does nothing over SQLite.
func (w *World) keysInIndex(t *testing.T) (done bool) {
	t.Helper()
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		if _, done = tx.(store.ColumnTx); !done {
			return nil
		}
		for _, statement := range []string{
			`CREATE UNIQUE INDEX rewards_by_key ON rewards (reward_key(segment, app_id, idempotency_key))`,
			`CREATE INDEX rewards_by_user ON rewards (user_entry(segment, user_id), substring(id FOR 6))`,
			`DELETE FROM key_blocks`,
			`DELETE FROM user_blocks`,
			`DELETE FROM reward_batches`,
			`UPDATE segments SET keys = 0, users = 0`,
			`INSERT INTO segments (number, mark, keys, users) SELECT max(number) + 1, 7, 1, 1 FROM segments`,
			`INSERT INTO reward_batches (number, mark, segment, keys, users, ids) SELECT 0, 77, max(number), '', '', '' FROM segments`,
		} {
			if _, err := tx.Exec(ctx, "-- only in tests\n"+statement); err != nil {
				return err
			}
		}
		return nil
	}))
	return done
}

// testKeysOfBudgets records awards of an app with a budget and of one without in a batch. Every key is a replay, also after
// a restart and for another process.
func testKeysOfBudgets(t *testing.T, w *World) {
	other := w.NewApp(t, "without a budget")
	user := w.NewUser(t, other.ID, "u")
	w.SetBudgets(t, budget("day", rewards.PerApp, rewards.PeriodDay, 1_000))
	idle := w.process(t, 9)
	var requests []rewards.NewReward
	for range 3 {
		var batch []rewards.NewReward
		for i := range 4 {
			r := w.Request(t, 1_000_000)
			if i%2 == 1 {
				r.AppID, r.UserID = other.ID, user.ID
				r.Fingerprint = rewards.NewFingerprint(r, "")
			}
			batch = append(batch, r)
		}
		wantVerdicts(t, w.verdicts(t, batch...), rewards.Created, rewards.Created, rewards.Created, rewards.Created)
		requests = append(requests, batch...)
		w.wantReplays(t, requests)
	}
	w.reopen(t)
	w.wantReplays(t, requests)
	w.Operator = idle.As(rewards.Operator{Actor: "tester@storetest", Command: "test"})
	w.wantReplays(t, requests)
}

// testKeysOfTwoProcesses records by two processes in turn, over the borders of segments. Every key is a replay in both.
func testKeysOfTwoProcesses(t *testing.T, w *World) {
	one, other := w.Store, w.process(t, 9)
	turn := func(s *store.Store) {
		w.Operator = s.As(rewards.Operator{Actor: "tester@storetest", Command: "test"})
	}
	var requests []rewards.NewReward
	for i := range 3 * SegmentSize {
		turn([]*store.Store{one, other}[i%2])
		requests = append(requests, w.Request(t, 1_000_000))
		wantVerdicts(t, w.verdicts(t, requests[i]), rewards.Created)
		wantVerdicts(t, w.verdicts(t, requests[i/2], requests[i]), rewards.Replay, rewards.Replay)
		if i%5 == 4 {
			check(t, failure(w.SealSegment(t.Context())))
		}
	}
	w.wantReplays(t, requests)
	turn(one)
	w.wantReplays(t, requests)
}
