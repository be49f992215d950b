package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// TestLists lists rewards by every filter and executed ones of many spans, in separate stores.
func TestLists(t *testing.T, open Opener) {
	t.Helper()
	testFilterCombinations(t, NewWorld(t, open(t)))
	testSpans(t, NewWorld(t, open(t)))
}

// testFilterCombinations lists every combination of filters, in pages of several sizes.
// Each list has the matching rewards of the whole list, newest first.
func testFilterCombinations(t *testing.T, w *World) {
	w.fillLists(t)
	other := w.NewApp(t, "second")
	whole, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{}, all[rewards.Reward]())
	check(t, err)
	users := []*rewards.UserID{nil, {}}
	for i := range w.Users {
		users = append(users, &w.Users[i].ID)
	}
	for _, user := range users {
		for status := rewards.Status(0); status <= rewards.Failed; status++ {
			f := rewards.RewardFilter{UserID: user, Status: status}
			want := slices.DeleteFunc(slices.Clone(whole), func(r rewards.Reward) bool {
				return user != nil && r.UserID != *user || status != 0 && r.Status != status
			})
			if len(want) == 0 && (user == nil || user == users[len(users)-1]) {
				t.Errorf("%+v lists nothing", f)
			}
			for _, limit := range []int{1, 2, 3, 1000} {
				wantEqual(t, fmt.Sprintf("%+v, pages of %d", f, limit), want, w.walk(t, w.App.ID, f, limit))
			}
			if foreign := w.walk(t, other.ID, f, 1000); len(foreign) != 0 {
				t.Errorf("%+v lists %d rewards of another app", f, len(foreign))
			}
		}
	}
}

// testLongListsOfUsers lists the rewards of users who have hundreds in one status between a few in the other: AAPL is
// bought, TSLA waits. Sealed segments have some of them.
func testLongListsOfUsers(t *testing.T, w *World) {
	const many, few = 300, 2
	aapl, tsla := w.Asset(t, "AAPL"), w.Asset(t, "TSLA")
	runs := func(user int, of ...rewards.Asset) {
		for i, a := range of {
			var batch []rewards.NewReward
			for range []int{many, few}[i%2] {
				r := w.Request(t, 1_000_000)
				r.UserID, r.AssetID, r.Symbol = w.Users[user].ID, a.ID, a.Symbol
				r.Fingerprint = rewards.NewFingerprint(r, "")
				batch = append(batch, r)
			}
			check(t, failure(w.RecordRewards(t.Context(), batch)))
		}
	}
	runs(0, aapl, tsla, aapl, tsla, aapl)
	runs(1, tsla, aapl, tsla)
	o := w.Open(t)
	check(t, w.Settle(t, o, "filled", money.Shares(o.Notional/money.Dollar*5_000_000), dollar200))
	w.Give(t, 1_000_000)
	w.sealAll(t)
	w.reopen(t)
	for i, wanted := range []map[rewards.Status]int{
		{0: 3*many + 2*few + 1, rewards.Recorded: 2*few + 1, rewards.Executed: 3 * many, rewards.Executing: 0},
		{0: 2*many + few, rewards.Recorded: 2 * many, rewards.Executed: few, rewards.Executing: 0},
	} {
		of := rewards.RewardFilter{UserID: &w.Users[i].ID}
		whole, err := w.Rewards(t.Context(), w.App.ID, of, all[rewards.Reward]())
		check(t, err)
		count := make(map[rewards.Status]int)
		for of.Status = range rewards.Failed {
			want := slices.DeleteFunc(slices.Clone(whole), func(r rewards.Reward) bool {
				return of.Status != 0 && r.Status != of.Status
			})
			count[of.Status] = len(want)
			for _, limit := range []int{9, 100, 1000} {
				wantEqual(t, fmt.Sprintf("%+v, pages of %d", of, limit), want, w.walk(t, w.App.ID, of, limit))
			}
		}
		wantEqual(t, fmt.Sprint("rewards of the user ", i), wanted, count)
	}
}

// testFiltersByTime lists rewards between moments, for each status and user. The bounds compare
// with the millisecond of a reward's creation.
func testFiltersByTime(t *testing.T, w *World) {
	w.fillLists(t)
	whole, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{}, all[rewards.Reward]())
	check(t, err)
	first, middle, last := whole[len(whole)-1].CreatedAt(), whole[len(whole)/2].CreatedAt(), whole[0].CreatedAt()
	moments := []*time.Time{
		nil, new(time.Unix(0, 0)), new(time.Unix(-1, 0)), new(time.Time{}), new(first), new(first.Add(-1)), new(middle),
		new(middle.Add(1)), new(middle.Add(-1)), new(middle.Add(time.Millisecond)), new(last), new(last.Add(time.Millisecond)),
		new(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)),
	}
	found := 0
	for status := rewards.Status(0); status <= rewards.Failed; status++ {
		for _, user := range []*rewards.UserID{nil, &w.Users[1].ID} {
			for _, after := range moments {
				for _, before := range moments {
					f := rewards.RewardFilter{UserID: user, Status: status, CreatedAfter: after, CreatedBefore: before}
					want := slices.DeleteFunc(slices.Clone(whole), func(r rewards.Reward) bool {
						return user != nil && r.UserID != *user || status != 0 && r.Status != status ||
							after != nil && !r.CreatedAt().After(*after) || before != nil && !r.CreatedAt().Before(*before)
					})
					wantEqual(t, fmt.Sprintf("%+v after %v, before %v", f, after, before), want, w.walk(t, w.App.ID, f, 4))
					found += min(1, len(want))
				}
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d lists had rewards", found)
	}
}

// testFilterByKey finds each reward by its key, wherever the index has it, if the other filters
// and the page admit it.
func testFilterByKey(t *testing.T, w *World) {
	w.fillLists(t)
	other := w.NewApp(t, "second")
	whole, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{}, all[rewards.Reward]())
	check(t, err)
	for i, r := range whole {
		at := r.CreatedAt()
		f := rewards.RewardFilter{IdempotencyKey: r.IdempotencyKey}
		wantEqual(t, "by its key", []rewards.Reward{r}, w.walk(t, w.App.ID, f, 1))
		wantEqual(t, "of another app", []rewards.Reward{}, w.walk(t, other.ID, f, 1))
		f.UserID, f.Status = &r.UserID, r.Status
		f.CreatedAfter, f.CreatedBefore = new(at.Add(-1)), new(at.Add(1))
		wantEqual(t, "by all filters", []rewards.Reward{r}, w.walk(t, w.App.ID, f, 1000))
		for name, change := range map[string]func(*rewards.RewardFilter){
			"another user":   func(f *rewards.RewardFilter) { f.UserID = &w.Users[0].ID },
			"another status": func(f *rewards.RewardFilter) { f.Status = r.Status%rewards.Failed + 1 },
			"another key":    func(f *rewards.RewardFilter) { f.IdempotencyKey += "x" },
			"created later":  func(f *rewards.RewardFilter) { f.CreatedAfter = &at },
			"created before": func(f *rewards.RewardFilter) { f.CreatedBefore = &at },
		} {
			changed := f
			change(&changed)
			wantEqual(t, fmt.Sprint(i, ", ", name), []rewards.Reward{}, w.walk(t, w.App.ID, changed, 1))
		}
		list, err := w.Rewards(t.Context(), w.App.ID, f, rewards.Page[rewards.Reward]{Before: r.ID, Limit: 1})
		if err != nil || len(list) > 0 {
			t.Errorf("the page after the reward has %v, %v", list, err)
		}
	}
}

// walk reads all pages of a list.
func (w *World) walk(t *testing.T, app rewards.AppID, f rewards.RewardFilter, limit int) []rewards.Reward {
	t.Helper()
	walked := []rewards.Reward{}
	for page := (rewards.Page[rewards.Reward]{Limit: limit}); ; {
		list, err := w.Rewards(t.Context(), app, f, page)
		check(t, err)
		if len(list) > limit {
			t.Fatalf("%+v: %d rewards on a page of %d", f, len(list), limit)
		}
		if last := len(walked) - 1; last >= 0 && len(list) > 0 && bytes.Compare(list[0].ID[:], walked[last].ID[:]) >= 0 {
			t.Fatalf("%+v: %s follows %s", f, list[0].ID, walked[last].ID)
		}
		walked = append(walked, list...)
		if len(list) < limit {
			return walked
		}
		page.Before = list[limit-1].ID
	}
}

// fillLists gives the second and the third user rewards in every status, with the
// statuses in overlapping runs.
func (w *World) fillLists(t *testing.T) {
	t.Helper()
	give := func(users ...int) {
		for _, i := range users {
			w.Advance(700 * time.Microsecond) // some are of one millisecond
			r := w.Request(t, 2_000_000)
			r.UserID = w.Users[i].ID
			r.Fingerprint = rewards.NewFingerprint(r, "")
			w.record(t, r)
		}
	}
	executed := func() { check(t, w.Settle(t, w.Open(t), "filled", 1_000_000_000, dollar200)) }
	give(2, 1, 1, 2)
	executed()
	give(1, 1, 2, 2, 2, 1)
	w.refuse(t)
	give(2, 2, 1, 1)
	executed()
	give(1, 2)
	w.refuse(t)
	give(1, 2, 1, 2, 1, 2)
	// 0.015 shares at $200 cost $3: the first reward and half of the second.
	check(t, w.Settle(t, w.Open(t), "canceled", 15_000_000, dollar200))
	w.Open(t)
	give(2, 1, 1, 2, 1)
}

// refuse plans an order that the broker refuses for good.
func (w *World) refuse(t *testing.T) rewards.Order {
	t.Helper()
	o, err := w.BeginAttempt(t.Context(), w.lease, w.Plan(t), w.Now(), w.Now())
	check(t, err)
	o.Reason = "asset_not_tradable: no"
	refuse := func(c []rewards.Claim, _ money.Shares) (rewards.Settlement, error) {
		return rewards.Refuse(c, o.Reason)
	}
	check(t, failure(w.SettleOrders(t.Context(), w.lease, rewards.OrderEnd{From: o.State, Order: o, Book: refuse})))
	return o
}
