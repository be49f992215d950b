package storetest

import (
	"slices"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// testSpans: executed rewards of more spans than are read at once are listed and counted, those of one order and
// those of one moment. Between them rewards of other users wait, and spans without an executed reward.
func testSpans(t *testing.T, w *World) {
	const many = 40
	var executed []rewards.Reward
	give := func(u rewards.User) rewards.Reward {
		t.Helper()
		r := w.Request(t, 1_000_000)
		r.UserID = u.ID
		return w.record(t, r)
	}
	for range many {
		executed = append(executed, give(w.Users[0]), give(w.Users[1]))
		w.Advance(150 * time.Millisecond)
	}
	check(t, w.Settle(t, w.Open(t), "filled", 2*many*5_000_000, dollar200))
	for range many {
		give(w.Users[0])
		w.Advance(150 * time.Millisecond)
	}
	slices.Reverse(executed)
	for i := range executed {
		executed[i] = w.reward(t, executed[i])
	}
	for _, limit := range []int{1, 7, 100} {
		wantEqual(t, "executed", executed, w.walk(t, w.App.ID, rewards.RewardFilter{Status: rewards.Executed}, limit))
		filter := rewards.RewardFilter{Status: rewards.Executed, UserID: &w.Users[1].ID}
		var want []rewards.Reward
		for _, r := range executed {
			if r.UserID == w.Users[1].ID {
				want = append(want, r)
			}
		}
		wantEqual(t, "of a user", want, w.walk(t, w.App.ID, filter, limit))
	}
	for limit, want := range map[int]int{3: 3, 2 * many: 2 * many, 1000: 2 * many} {
		counts, err := w.CountRewards(t.Context(), w.App.ID, limit)
		check(t, err)
		wantEqual(t, "counted", want, counts[rewards.Executed])
	}
}
