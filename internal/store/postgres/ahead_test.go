package postgres_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// requestsFor makes 20 requests for some users.
func (w *segmented) requestsFor(t *testing.T, users []rewards.User) (batch []rewards.NewReward) {
	t.Helper()
	for i := range 20 {
		r := w.Request(t, money.Dollar)
		r.UserID = users[i%len(users)].ID
		r.Fingerprint = rewards.NewFingerprint(r, "")
		batch = append(batch, r)
	}
	return batch
}

// While looks are slow, each batch with unknown users or with keys of sealed segments is preceded by four of them. Nobody
// looks for what is known.
func TestLookingAhead(t *testing.T) {
	t.Parallel()
	w := newSegmented(t, 1)
	w.fill(t, 300)
	var looks atomic.Int64
	e := watched{open(t, w.url, postgres.Options{}), func(ctx context.Context, query string) error {
		if !strings.Contains(query, "count(fingerprint)") {
			return nil
		}
		looks.Add(1)
		return store.Sleep(ctx, 50*time.Millisecond)
	}}
	s, err := store.New(t.Context(), e, time.Now, rand.Reader)
	check(t, err)
	s.SealEvery(storetest.SegmentSize)
	w.wantReplays(t, s, 299, 300) // reads the segments
	for _, step := range []struct {
		what     string
		requests func() []rewards.NewReward
		looks    int64
	}{
		{"known users", func() []rewards.NewReward { return w.requestsFor(t, w.Users[:1]) }, 0},
		{"unknown users", func() []rewards.NewReward { return w.requestsFor(t, w.Users[1:]) }, 4},
		{"repeated requests", func() []rewards.NewReward { return w.requests[:20] }, 4},
		{"some repeated requests", func() []rewards.NewReward { return w.requests[:7] }, 0},
	} {
		before := looks.Load()
		_, err := s.RecordRewards(t.Context(), step.requests())
		check(t, err)
		if n := looks.Load() - before; n != step.looks {
			t.Errorf("%s: %d looks, want %d", step.what, n, step.looks)
		}
	}
}
