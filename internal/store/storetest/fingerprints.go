package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testOlderFingerprints: while processes of an older program may be running, requests get
// the older fingerprint, which those compare; later the one that covers the key. Replays
// match either.
func testOlderFingerprints(t *testing.T, w *World) {
	from := w.Now().Add(time.Hour)
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('sealed_from', ?1)`, from.Format(time.RFC3339Nano))
		return err
	}))
	w.reopen(t)
	older := w.Request(t, 1_000_000)
	older.Metadata, older.Canonical = `{"b":1,"a":2}`, `{"a":2,"b":1}`
	older.Fingerprint = rewards.NewFingerprint(older, older.Canonical)
	w.recorded(t, older, older.FingerprintV1(), rewards.Created)
	w.recorded(t, older, older.FingerprintV1(), rewards.Replay)
	w.Advance(time.Hour)
	w.recorded(t, older, older.FingerprintV1(), rewards.Replay)
	wantVerdicts(t, w.verdicts(t, changed(older)), rewards.Conflict)
	newer := w.Request(t, 2_000_000)
	w.recorded(t, newer, newer.Fingerprint, rewards.Created)
	id := w.recorded(t, newer, newer.Fingerprint, rewards.Replay)
	wantVerdicts(t, w.verdicts(t, changed(newer)), rewards.Conflict)
	longer := newer.Fingerprint // as of the version before: with the whole hash
	longer[0], longer[32] = 2, 7
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE rewards SET fingerprint = ?1 WHERE app_id = ?2 AND id = ?3`,
			longer[:], newer.AppID[:], id[:])
		return err
	}))
	w.recorded(t, newer, longer, rewards.Replay)
	wantVerdicts(t, w.verdicts(t, changed(newer)), rewards.Conflict)
}

// recorded records a request, checks the verdict and the stored fingerprint, and returns the reward's id.
func (w *World) recorded(
	t *testing.T, r rewards.NewReward, stored rewards.Fingerprint, want rewards.Verdict,
) rewards.RewardID {
	t.Helper()
	outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
	check(t, err)
	wantEqual(t, "the verdict", want, outcomes[0].Verdict)
	id := outcomes[0].Reward.ID
	if got := w.fingerprint(t, r.AppID, id); string(got) != string(stored.Stored()) {
		t.Errorf("the stored fingerprint is %x, want %x", got, stored)
	}
	return id
}

// fingerprint reads the stored fingerprint of a reward.
func (w *World) fingerprint(t *testing.T, app rewards.AppID, id rewards.RewardID) (stored blob) {
	t.Helper()
	check(t, w.engine.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan(&stored) },
			`SELECT fingerprint FROM rewards WHERE app_id = ?1 AND id = ?2`, app[:], id[:])
	}))
	return stored
}

// blob reads bytes of any length.
type blob []byte

// Scan implements sql.Scanner.
func (b *blob) Scan(value any) error {
	bytes, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("cannot scan %T, want bytes", value)
	}
	*b = slices.Clone(bytes)
	return nil
}
