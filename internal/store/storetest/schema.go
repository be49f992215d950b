package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testSchemaFence: after a newer version has migrated the schema, an older program writes
// nothing, neither for clients nor as the leader. It reports both versions on Failed. Reads go on.
func testSchemaFence(t *testing.T, w *World) {
	r := w.Give(t, 5_000_000)
	planned := w.Plan(t)
	migrate := func(version string) {
		check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO goose_db_version (version_id, is_applied)
				SELECT `+version+`, is_applied FROM goose_db_version ORDER BY id DESC LIMIT 1`)
			return err
		}))
	}
	migrate("version_id + 1")
	for name, write := range map[string]func() error{
		"a reward": func() error {
			return failure(w.RecordRewards(t.Context(), []rewards.NewReward{w.Request(t, 1_000_000)}))
		},
		"a replay": func() error { // it may rely on a commit that it cannot confirm
			request := w.Request(t, 5_000_000)
			request.IdempotencyKey = r.IdempotencyKey
			request.Fingerprint = rewards.NewFingerprint(request, "")
			return failure(w.RecordRewards(t.Context(), []rewards.NewReward{request}))
		},
		"a user": func() error {
			return failure(w.CreateUser(t.Context(), rewards.User{AppID: w.App.ID, ExternalID: "late"}))
		},
		"an attempt": func() error {
			return failure(w.BeginAttempt(t.Context(), w.lease, planned, w.Now(), w.Now().Add(time.Hour)))
		},
		"the lease": func() error { return failure(w.TakeLease(t.Context(), "tester", time.Hour, false)) },
		"an alarm":  func() error { return w.RaiseAlarm(t.Context(), "late", "") },
	} {
		if err := write(); rewards.CodeOf(err) != rewards.CodeUnavailable {
			t.Errorf("%s: %v, want it unavailable", name, err)
		}
	}
	select {
	case err := <-w.Failed():
		if !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), ", known is ") {
			t.Errorf("failed with %v, want both versions", err)
		}
	default:
		t.Error("the engine did not fail")
	}
	wantEqual(t, "the reward", rewards.Executing, w.reward(t, r).Status)
	wantEqual(t, "the orders", []rewards.Order{planned}, read(t, w.LiveOrders))
}
