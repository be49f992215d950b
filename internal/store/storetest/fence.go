package storetest

import (
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testFence: a former leader cannot change anything, by any step of an order.
func testFence(t *testing.T, w *World) {
	r := w.Give(t, 5_000_000)
	open := w.Open(t)
	w.Give(t, 6_000_000)
	planned := w.Plan(t)
	w.Give(t, 7_000_000)
	stale := w.lease
	next, err := w.TakeLease(t.Context(), "next", time.Hour, true)
	check(t, err)
	filled := open
	filled.BrokerStatus, filled.FilledQty, filled.FilledAvgPrice = "filled", 25_000_000, dollar200
	before := read(t, w.LiveOrders)
	for name, step := range map[string]func(rewards.Lease) error{
		"plan": func(l rewards.Lease) error {
			_, _, err := w.PlanOrder(t.Context(), l, w.planRequest(t))
			return err
		},
		"begin": func(l rewards.Lease) error {
			_, err := w.BeginAttempt(t.Context(), l, planned, w.Now(), w.Now().Add(time.Hour))
			return err
		},
		"save": func(l rewards.Lease) error { return w.SaveOrder(t.Context(), l, rewards.OrderOpen, filled) },
		"settle": func(l rewards.Lease) error {
			return w.settle(t, l, rewards.OrderOpen, filled)
		},
		"alarms": func(l rewards.Lease) error {
			return w.SaveAlarms(t.Context(), l, []rewards.Alarm{{Name: "of a former leader"}}, nil)
		},
		"comparison": func(l rewards.Lease) error {
			return w.SaveReconciliation(t.Context(), l, []rewards.BrokerConflict{{ClientOrderID: "sr-x"}}, w.Now())
		},
		"cash awards": func(l rewards.Lease) error {
			return failure(w.RecordCashAwards(t.Context(), l, []rewards.NewReward{w.Request(t, 8_000_000)}))
		},
		"brakes": func(l rewards.Lease) error { return w.SaveBrakes(t.Context(), l, rewards.Brakes{MaxMembers: 7}) },
	} {
		if err := step(stale); !errors.Is(err, rewards.ErrLostLease) {
			t.Errorf("%s by a former leader: %v", name, err)
		}
	}
	wantEqual(t, "orders after a former leader's steps", before, read(t, w.LiveOrders))
	check(t, w.settle(t, next, rewards.OrderOpen, filled))
	if got := w.reward(t, r); got.Status != rewards.Executed {
		t.Errorf("the reward is %s", got.Status)
	}
}

// testLeaderFollows: a new leader's orders sort after its predecessor's, even if the
// predecessor's clock was ahead.
func testLeaderFollows(t *testing.T, w *World) {
	other, err := store.New(t.Context(), w.engine, w.Now, rand.NewChaCha8(sha256.Sum256([]byte("other"))))
	check(t, err)
	const ahead = time.Hour
	w.Advance(ahead)
	w.Give(t, 1_000_000)
	first := w.Plan(t)
	w.Advance(-ahead)
	r := w.Request(t, 2_000_000)
	outcomes, err := other.RecordRewards(t.Context(), []rewards.NewReward{r})
	check(t, err)
	lease, err := other.TakeLease(t.Context(), "other", time.Hour, true)
	check(t, err)
	second, hold, err := other.PlanOrder(t.Context(), lease, w.planRequest(t))
	check(t, err)
	if hold != rewards.NoHold || outcomes[0].Verdict != rewards.Created {
		t.Fatalf("hold %d, verdict %d", hold, outcomes[0].Verdict)
	}
	if second.ID.String() <= first.ID.String() {
		t.Errorf("the second order %s sorts before the first, %s", second.ID, first.ID)
	}
}
