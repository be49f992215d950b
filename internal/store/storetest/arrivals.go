package storetest

import (
	"slices"
	"testing"

	"stockrewards/internal/rewards"
)

// testArrivals: rewards that open_rewards does not have yet are listed, counted, explained,
// canceled and ordered like those that it has, also after a restart. At a thousand they come into
// the table by themselves.
func testArrivals(t *testing.T, w *World) {
	give := func(n int) (given []rewards.Reward) {
		for range n {
			given = append(given, w.Give(t, 1_000_000))
		}
		return given
	}
	plan := func(most int) {
		r := w.planRequest(t)
		r.MaxMembers = most
		o, hold, err := w.PlanOrder(t.Context(), w.lease, r)
		check(t, err)
		members, err := w.Members(t.Context(), o.ID)
		check(t, err)
		if hold != rewards.NoHold || len(members) != most {
			t.Fatalf("hold %d, %d members, want %d", hold, len(members), most)
		}
	}
	all := give(10)
	w.wantOpen(t, "arrivals only", all, nil)
	plan(4)
	all = append(all, give(5)...)
	w.wantOpen(t, "sorted and arrivals", all[4:], all[:4])
	w.reopen(t)
	w.wantOpen(t, "after a restart", all[4:], all[:4])
	check(t, w.canceled(t.Context(), all[14].ID, "an arrival"))
	check(t, w.canceled(t.Context(), all[5].ID, "a sorted one"))
	all = append(all, give(2)...)
	check(t, w.canceled(t.Context(), all[15].ID, "the older arrival"))
	waiting := slices.Concat(all[4:5], all[6:14], all[16:])
	w.wantOpen(t, "some are canceled", waiting, all[:4])
	plan(len(waiting))
	w.wantOpen(t, "all are ordered", nil, append(slices.Clone(all[:4]), waiting...))
	w.backlog(t, "gone", 2, dollars)
	check(t, failure(w.SetSuspended(t.Context(), "gone", true)))
	if _, hold, err := w.PlanOrder(t.Context(), w.lease, w.planRequest(t)); hold != rewards.HoldEmpty {
		t.Errorf("arrivals of a suspended app: hold %d, %v", hold, err)
	}

	const many = 1100
	batch := make([]rewards.NewReward, many)
	for i := range batch {
		batch[i] = w.Request(t, 1_000_000)
	}
	w.verdicts(t, batch...)
	w.wantRows(t, "arrivals", 0, `SELECT count(*) FROM arrivals`)
	w.wantRows(t, "waiting rewards", many+2, `SELECT count(*) FROM open_rewards WHERE waiting = 1`)
}

// wantOpen checks the first app's open rewards, all of AAPL and oldest first, by every way to read them.
func (w *World) wantOpen(t *testing.T, when string, waiting, executing []rewards.Reward) {
	t.Helper()
	user := w.Users[0].ID
	for status, want := range map[rewards.Status][]rewards.Reward{
		rewards.Recorded: waiting, rewards.Executing: executing,
	} {
		var newest []rewards.RewardID
		for _, r := range slices.Backward(want) {
			newest = append(newest, r.ID)
			if got := w.reward(t, r); got.Status != status {
				t.Errorf("%s: %s is %s, want %s", when, r.ID, got.Status, status)
			}
		}
		for _, f := range []rewards.RewardFilter{{Status: status}, {Status: status, UserID: &user}} {
			for _, limit := range []int{2, 50} {
				var listed []rewards.RewardID
				for _, r := range w.walk(t, w.App.ID, f, limit) {
					listed = append(listed, r.ID)
				}
				wantEqual(t, when+": the list", newest, listed)
			}
		}
		counts, err := w.CountRewards(t.Context(), w.App.ID, 100)
		check(t, err)
		if counts[status] != len(want) {
			t.Errorf("%s: %d %s are counted, want %d", when, counts[status], status, len(want))
		}
	}
	overview, waits, pools := read(t, w.Overview), read(t, w.Waits), read(t, w.Pools)
	if overview.Waiting != len(waiting) || overview.Ordered != len(executing) {
		t.Errorf("%s: %d wait and %d are ordered, want %d and %d",
			when, overview.Waiting, overview.Ordered, len(waiting), len(executing))
	}
	if len(waiting) == 0 {
		wantEqual(t, when+": waits and pools", 0, len(waits)+len(pools))
		return
	}
	oldest := waiting[0].CreatedAt()
	if len(waits) != 1 || waits[0].Count != len(waiting) || !waits[0].Oldest.Equal(oldest) {
		t.Errorf("%s: the waits are %+v", when, waits)
	}
	if len(pools) != 1 || len(pools[0].Apps) != 1 || !pools[0].Oldest.Equal(oldest) {
		t.Errorf("%s: the pools are %+v", when, pools)
	}
}
