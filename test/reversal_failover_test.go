package test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// takers are clients that take awards back in random parts, and remember what was acknowledged. A
// failed request is retried with its key.
type takers struct {
	*fleet

	users  []string
	awards []award

	mu           sync.Mutex
	acknowledged map[string]takenBack
}

// takenBack is a reversal in an answer.
type takenBack struct {
	ID, RewardID, IdempotencyKey string
	AmountUSD                    float64 `json:"amountUsd"`
}

// newTakers makes users and their awards.
func newTakers(f *fleet) *takers {
	const users, awards = 4, 24
	k := &takers{fleet: f, acknowledged: map[string]takenBack{}}
	for n := range users {
		k.users = append(k.users, f.newUser(fmt.Sprint("taker-", n)))
	}
	for n := range awards {
		symbol := []string{"AAPL", "KO", "TSLA"}[n%3]
		k.awards = append(k.awards, f.give(k.users[n%users], fmt.Sprintf("taken-%04d", n), fmt.Sprintf("%d.37", 3+n), symbol))
	}
	return k
}

// take sends the n-th request of a client until it is answered.
func (k *takers) take(ctx context.Context, client, n int) {
	of := k.awards[rand.IntN(len(k.awards))]
	body := fmt.Sprintf(`{"idempotencyKey":"back-%02d-%06d","amountUsd":0.%06d}`, client, n, 1+rand.IntN(999_999))
	k.post(ctx, of, body)
}

// post sends a request to take an award back until it is answered.
func (k *takers) post(ctx context.Context, of award, body string) {
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, time.Second)
		m := k.members[rand.IntN(len(k.members))]
		a, err := m.request(within, "POST", "/v1/rewards/"+of.ID+"/reversals", body)
		cancel()
		switch {
		case err != nil || a.status == 503:
			time.Sleep(10 * time.Millisecond)
			continue
		case a.status == 200 || a.status == 201:
			var got struct{ Reversal takenBack }
			a.decode(k.t, &got)
			k.note(got.Reversal)
		case a.status != 409 && a.status != 422: // canceled, or nothing is left
			k.t.Errorf("%s was answered %d %s", body, a.status, a.body)
		}
		return
	}
}

func (k *takers) note(r takenBack) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if before, known := k.acknowledged[r.IdempotencyKey]; known && before != r {
		k.t.Errorf("%s was acknowledged as %+v and as %+v", r.IdempotencyKey, before, r)
	}
	k.acknowledged[r.IdempotencyKey] = r
}

// run takes awards back until the function that it returns is called.
func (k *takers) run(clients int) (end func()) {
	ctx, stop := context.WithCancel(k.t.Context())
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				k.take(ctx, client, n)
			}
		})
	}
	return func() { stop(); all.Wait() }
}

// takeRest takes back what is left of every award, and accounts for everything that was acknowledged.
func (k *takers) takeRest() {
	t := k.t
	t.Helper()
	for _, of := range k.awards {
		eventually(t, "the end of an award", time.Minute, func() bool {
			var got struct{ Reward award }
			k.must(200, "GET", "/v1/rewards/"+of.ID, "").decode(t, &got)
			return got.Reward.Status == "executed" || got.Reward.Status == "failed"
		})
		k.post(t.Context(), of, fmt.Sprintf(`{"idempotencyKey":"rest-of-%s"}`, of.ID))
	}
	stored := map[string]takenBack{}
	for _, of := range k.awards {
		const most = 200 // far more than parts of an award
		var list struct{ Reversals []takenBack }
		k.must(200, "GET", fmt.Sprintf("/v1/reversals?limit=%d&status=completed&rewardId=%s", most, of.ID), "").decode(t, &list)
		for _, r := range list.Reversals {
			if _, twice := stored[r.IdempotencyKey]; twice || r.RewardID != of.ID || len(list.Reversals) == most {
				t.Errorf("%+v occurs twice, is another award's, or one of too many", r)
			}
			stored[r.IdempotencyKey] = r
		}
	}
	for key, want := range k.acknowledged {
		if stored[key] != want {
			t.Errorf("acknowledged was %+v, stored is %+v", want, stored[key])
		}
	}
	for _, user := range k.users {
		var got struct{ Holdings []any }
		k.must(200, "GET", "/v1/users/"+user+"/portfolio", "").decode(t, &got)
		if len(got.Holdings) != 0 {
			t.Errorf("user %s still has %v", user, got.Holdings)
		}
	}
	t.Logf("%d reversals accounted for, %d acknowledged", len(stored), len(k.acknowledged))
}

// While processes are killed -9 and the database fails over, awards are taken back in random parts: each
// acknowledged part is booked once, and all parts together take everything, to the last billionth.
func TestFailOverWhileAwardsAreTakenBack(t *testing.T) {
	t.Parallel()
	pair, f := startPair(t, 3)
	k := newTakers(f)
	end := k.run(6)
	kills := 0
	for range max(1, *failovers/2) {
		for range 3 {
			time.Sleep(time.Duration(300+rand.IntN(500)) * time.Millisecond)
			victim := f.members[rand.IntN(len(f.members))]
			victim.kill()
			victim.run()
			kills++
		}
		pair.FailOver(t)
		time.Sleep(time.Second)
		pair.Rebuild(t)
	}
	end()
	k.takeRest()
	f.end()
	t.Logf("%d kills, %d fail-overs", kills, max(1, *failovers/2))
}
