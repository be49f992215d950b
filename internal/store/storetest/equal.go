package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// TestEqualHashes finds rewards by their keys and by their users although entries of other rewards have the same hashes.
// collide adds entries of users for reward 2 with the hash of reward 1, and for reward 4 with that of reward 2. Of the
// keys, two of different apps and two of one have entries with the same hash: they were found by trying 40 million.
func TestEqualHashes(t *testing.T, engine store.Engine, collide func()) {
	t.Helper()
	w := NewWorld(t, engine)
	foreign := w.NewApp(t, "foreign")
	stranger := w.NewUser(t, foreign.ID, "stranger")
	request := func(user rewards.User, key string) rewards.NewReward {
		r := w.Request(t, 1_000_000)
		r.AppID, r.UserID, r.IdempotencyKey = user.AppID, user.ID, key
		r.Fingerprint = rewards.NewFingerprint(r, "")
		return r
	}
	theirs := []rewards.NewReward{
		request(stranger, "key-16247758"), request(stranger, "key-03180149"), request(stranger, "key-03467095"),
	}
	ours := request(w.Users[0], "key-07623409")
	wantEqualEntries(t, theirs[0], ours)
	wantEqualEntries(t, theirs[1], theirs[2])
	w.record(t, theirs[0])
	w.record(t, ours)
	w.record(t, theirs[1])
	w.record(t, theirs[2])
	requests := append([]rewards.NewReward{ours}, w.recordSegments(t, 3)...)
	w.sealAll(t)
	collide()
	w.reopen(t)
	batch := append([]rewards.NewReward{ours, requests[2]}, theirs...)
	outcomes, err := w.RecordRewards(t.Context(), batch)
	check(t, err)
	for i, o := range outcomes {
		same := o.Reward.AppID == batch[i].AppID && o.Reward.IdempotencyKey == batch[i].IdempotencyKey
		if o.Verdict != rewards.Replay || !same {
			t.Errorf("verdict %d and key %s, want a replay of %s", o.Verdict, o.Reward.IdempotencyKey, batch[i].IdempotencyKey)
		}
	}
	for _, u := range w.Users {
		w.wantList(t, requests, u)
	}
	w.wantList(t, theirs, stranger)
}

// wantEqualEntries checks that the hashes of two keys are equal in what an entry has of them.
func wantEqualEntries(t *testing.T, a, b rewards.NewReward) {
	t.Helper()
	part := func(r rewards.NewReward) []byte {
		sum := sha256.Sum256(append(r.AppID[:], r.IdempotencyKey...))
		return binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(sum[:])<<2>>18)
	}
	if !bytes.Equal(part(a), part(b)) {
		t.Fatalf("the keys %s and %s have other entries: find others for the new ids of the apps", a.IdempotencyKey, b.IdempotencyKey)
	}
}
