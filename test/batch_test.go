package test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// batchAnswer is the answer to a batch.
type batchAnswer struct {
	Results []struct {
		Status int
		Reward award
	}
	Summary struct{ Created, Replayed, Refused int }
}

// ids are the ids of the awards, in order.
func (b batchAnswer) ids() []string {
	list := make([]string, len(b.Results))
	for i, r := range b.Results {
		list[i] = r.Reward.ID
	}
	return list
}

// batchOf is the body of a batch of awards to a user with numbered keys.
func batchOf(user, prefix string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = giving(user, fmt.Sprintf("%s-%04d", prefix, i), "5", "AAPL")
	}
	return `{"rewards":[` + strings.Join(items, ",") + `]}`
}

// Killed at a random moment of a batch, the service keeps what it acknowledged. Sending the batch
// again replays what was recorded and records the rest: each award exists once.
func TestABatchSurvivesKills(t *testing.T) {
	t.Parallel()
	random := chance(t)
	s := newService(t, t.TempDir())
	s.start(settings()...)
	user := s.newUser("user")
	const rounds, size = 8, 400
	for round := range rounds {
		body := batchOf(user, fmt.Sprint("round-", round), size)
		acknowledged := make(chan batchAnswer, 1)
		go func() {
			var first batchAnswer
			if a, err := s.request(t.Context(), "POST", "/v1/rewards/batches", body); err == nil && a.status == http.StatusOK {
				a.decode(t, &first)
			}
			acknowledged <- first
		}()
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		s.kill()
		first := <-acknowledged
		s.start(settings()...)
		var again batchAnswer
		s.must(200, "POST", "/v1/rewards/batches", body).decode(t, &again)
		if a := again.Summary; a.Created+a.Replayed != size || first.Results != nil && a.Created > 0 {
			t.Fatalf("round %d: %+v again, first %+v", round, a, first.Summary)
		}
		if first.Results != nil && !slices.Equal(first.ids(), again.ids()) {
			t.Fatalf("round %d: the awards are others than acknowledged", round)
		}
		t.Logf("round %d: acknowledged %d, then %+v", round, len(first.Results), again.Summary)
	}
	seen := make(map[string]bool)
	for target := "/v1/rewards?limit=200"; target != ""; {
		a := s.must(200, "GET", target, "")
		var page struct{ Rewards []award }
		a.decode(t, &page)
		for _, r := range page.Rewards {
			seen[r.ID] = true
		}
		target, _, _ = strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
	}
	if len(seen) != rounds*size {
		t.Errorf("%d awards are recorded, want %d", len(seen), rounds*size)
	}
}

// While an app sends batches without a pause, another app's requests are never refused. Of the
// batches some may have to wait too long: they are 503 as a whole, with Retry-After.
func TestBatchesOfAnotherTenant(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	flooding := s.another("flooding")
	theirs, user := flooding.newUser("theirs"), s.newUser("ours")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var created, refused atomic.Int64
	var flood sync.WaitGroup
	for c := range 6 {
		flood.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				a, err := flooding.request(ctx, "POST", "/v1/rewards/batches", batchOf(theirs, fmt.Sprint(c, "-batch-", n), 1000))
				switch {
				case err != nil:
					return
				case a.status == http.StatusOK:
					var b batchAnswer
					a.decode(t, &b)
					created.Add(int64(b.Summary.Created))
				case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "":
					refused.Add(1)
				default:
					t.Errorf("a batch is answered %d %.300s", a.status, a.body)
				}
			}
		})
	}
	var took []time.Duration
	s.eventually("batches beside single requests", 3*time.Minute, func() bool {
		began := time.Now()
		id := s.give(user, fmt.Sprint("single-", rand.Int64()), "5", "AAPL").ID
		took = append(took, time.Since(began))
		s.must(200, "GET", "/v1/rewards/"+id, "")
		return created.Load() >= 5000 && len(took) >= 60
	})
	stop()
	flood.Wait()
	slices.Sort(took)
	t.Logf("%d awards in batches, %d batches refused; a single request takes %s (median of %d)",
		created.Load(), refused.Load(), took[len(took)/2], len(took))
}
