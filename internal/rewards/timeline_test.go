package rewards_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// at is a moment on Saturday, 2026-11-21, in seconds after 18:00 UTC.
func at(seconds int) time.Time {
	return time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// written is a timeline, one line for each entry.
func written(h rewards.History) string {
	var b strings.Builder
	for _, e := range h.Timeline() {
		b.WriteString(e.At.Format("05 ") + e.Type + ": " + e.Message + "\n")
	}
	return b.String()
}

// waiting is a recorded reward of $25 that nothing keeps from the next order.
func waiting() rewards.History {
	return rewards.History{
		Reward: rewards.Reward{
			ID: rewards.FirstID[rewards.Reward](at(0)), Amount: 25 * money.Dollar, Symbol: "AAPL", Status: rewards.Recorded,
		},
		Asset: rewards.Asset{ID: 7, Symbol: "AAPL"}, Led: true, Now: at(50),
	}
}

// Additions, section 6: the last entry of a reward that is not final says what it waits for.
func TestTimelineSaysWhatARewardWaitsFor(t *testing.T) {
	t.Parallel()
	stands := func(asset rewards.AssetID, cause rewards.Cause, expected time.Time) func(*rewards.History) {
		return func(h *rewards.History) {
			h.Stood = append(h.Stood, rewards.Standstill{AssetID: asset, Cause: cause, Since: at(-9), Expected: expected})
		}
	}
	monday := time.Date(2026, 11, 23, 14, 30, 0, 0, time.UTC)
	for want, change := range map[string]func(*rewards.History){
		"it goes into the next order of AAPL, in turn with other stocks": func(*rewards.History) {},
		"the market is closed until Monday 09:30 New York":               stands(0, rewards.CauseClosed, monday),
		"the market is closed until 2026-12-07 09:30 New York":           stands(0, rewards.CauseClosed, monday.AddDate(0, 0, 14)),
		"the market is closed": stands(0, rewards.CauseClosed, time.Time{}),
		"the broker has been unreachable since 2026-11-21 17:59 UTC":                          stands(0, rewards.CauseBroker, time.Time{}),
		"the broker's corporate actions have been unavailable since 2026-11-21 17:59 UTC":     stands(0, rewards.CauseAnnouncement, time.Time{}),
		"a corporate action changes AAPL, or ends it, and must be applied first":              stands(7, rewards.CauseAction, time.Time{}),
		"the limit of all orders today leaves no room for it; it waits for the next UTC day":  stands(7, rewards.CauseDaily, time.Time{}),
		"an order of AAPL was filled far from its last price, which is being checked":         stands(7, rewards.CauseQuarantine, monday),
		"it buys more shares of AAPL than one order may have":                                 stands(7, rewards.CauseQuantity, time.Time{}),
		"the pool is below the $1.00 that the broker wants, and the house adds no more today": stands(7, rewards.CauseHouse, time.Time{}),
		"the pool has $0.40 of the $1.00 that the broker wants, topped up at 14:05 New York": func(h *rewards.History) {
			stands(7, rewards.CauseSmallPool, at(3900))(h)
			h.Pool = 40*money.Cent + 9999
		},
		"the operator has paused ordering": func(h *rewards.History) {
			stands(0, rewards.CauseClosed, monday)(h)
			h.Control.Paused = "secret of the operator"
		},
		"ordering is stopped until the operator has checked the orders or the account at the broker": func(h *rewards.History) { h.Control.Conflicts = 1 },
		"the price of AAPL is in doubt until the operator has checked it": func(h *rewards.History) {
			h.Asset.Doubt = rewards.Doubt{Since: at(1), Price: 1}
		},
		"the operator must decide about an order of AAPL":        func(h *rewards.History) { h.Blocked = true },
		"no process places orders now; it goes on when one does": func(h *rewards.History) { h.Led = false },
		"the app is suspended":                                   func(h *rewards.History) { h.App.Suspended = true },
	} {
		h := waiting()
		change(&h)
		all := h.Timeline()
		last := all[len(all)-1]
		if diff := cmp.Diff(want, last.Message); diff != "" || last.Type != rewards.TimelineWaiting || len(all) != 2 {
			t.Errorf("(-want +got):\n%s\n%s", diff, written(h))
		}
	}
	h := waiting()
	stands(8, rewards.CauseAction, time.Time{})(&h)
	if got := written(h); strings.Contains(got, "corporate") {
		t.Errorf("another stock's action: %s", got)
	}
}

// A reward that an order bought only partly goes into the next one. What kept it waiting in between
// is in the timeline, and nothing from before it was recorded or from while it was in an order.
func TestTimelineOfTwoOrders(t *testing.T) {
	t.Parallel()
	h := waiting()
	h.Reward.Status, h.Reward.ExecutedAt = rewards.Executed, at(39)
	first := rewards.Order{
		ID: rewards.FirstID[rewards.Order](at(10)), ClientOrderID: "one", Notional: 100 * money.Dollar, State: rewards.OrderSettled,
		Attempts: 2, FirstAttemptAt: at(11), AnsweredAt: at(13), FilledAt: at(12), SettledAt: at(15),
		FilledQty: money.Share / 2, FilledAvgPrice: 20_000_000_000, Symbol: "AAPL",
	}
	second := rewards.Order{
		ID: rewards.FirstID[rewards.Order](at(30)), ClientOrderID: "two", Notional: 20 * money.Dollar, State: rewards.OrderSettled,
		Attempts: 1, FirstAttemptAt: at(31), AnsweredAt: at(32), FilledAt: at(39), SettledAt: at(40),
		FilledQty: money.Share, FilledAvgPrice: 20_000_000_000, Symbol: "AAPL",
	}
	h.Orders = []rewards.Ordered{
		{Order: first, Carried: 25 * money.Dollar, Bought: rewards.Allocation{Amount: 5 * money.Dollar, Shares: money.Share / 4}},
		{Order: second, Carried: 20 * money.Dollar, Bought: rewards.Allocation{Amount: 20 * money.Dollar, Shares: money.Share}},
	}
	h.Stood = []rewards.Standstill{
		{Cause: rewards.CausePaused, Since: at(-20), Until: at(0)},
		{Cause: rewards.CauseClosed, Since: at(-10), Until: at(9), Expected: at(9)},
		{AssetID: 7, Cause: rewards.CauseAction, Since: at(11), Until: at(14)},
		{AssetID: 7, Cause: rewards.CauseDoubt, Since: at(16), Until: at(29)},
		{Cause: rewards.CausePaused, Since: at(45)},
	}
	want := `00 recorded: $25.00 of AAPL was recorded
00 waited: it waited: the market is closed until Saturday 13:00 New York
10 ordered: $25.00 went into an order of $100.00
11 sent: the order was sent to the broker, 2 times with one id
12 answered: the broker has the order
12 filled: the order bought 0.5 shares at $20.00 on average, 0.25 for $5.00 of this award
16 waited: it waited: the price of AAPL is in doubt until the operator has checked it
30 ordered: $20.00 went into an order of $20.00
31 sent: the order was sent to the broker
32 answered: the broker has the order
39 filled: the order bought 1 shares at $20.00 on average, 1 for $20.00 of this award
39 executed: the user got 1.25 shares of AAPL for $25.00
`
	if diff := cmp.Diff(want, written(h)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h.Orders[1].Generation, h.Orders[1].Symbol = 1, "AAPX"
	last := "39 executed: the user got stock of AAPX for $25.00, before and after a corporate action\n"
	if got := written(h); !strings.HasSuffix(got, last) {
		t.Errorf("shares of before and after a split are added up: %s", got)
	}
}

// A live order says where it is; brakes on all stocks keep one from being sent.
func TestTimelineOfALiveOrder(t *testing.T) {
	t.Parallel()
	open := rewards.Order{
		ID: rewards.FirstID[rewards.Order](at(10)), Notional: 100 * money.Dollar, State: rewards.OrderPlanned,
	}
	last := func(change func(*rewards.History, *rewards.Order)) string {
		h, o := waiting(), open
		h.Reward.Status = rewards.Executing
		change(&h, &o)
		h.Orders = []rewards.Ordered{{Order: o, Carried: 25 * money.Dollar}}
		all := h.Timeline()
		return all[len(all)-1].Message
	}
	for want, change := range map[string]func(*rewards.History, *rewards.Order){
		"the order is sent next":           func(*rewards.History, *rewards.Order) {},
		"the operator has paused ordering": func(h *rewards.History, _ *rewards.Order) { h.Control.Paused = "x" },
		"the broker has not confirmed the order, which was sent at 2026-11-21 18:00 UTC": func(_ *rewards.History, o *rewards.Order) {
			o.State, o.Attempts, o.FirstAttemptAt = rewards.OrderSubmitted, 1, at(11)
		},
		"the broker has not taken the order yet: insufficient_funds: no": func(_ *rewards.History, o *rewards.Order) {
			o.State, o.Attempts, o.FirstAttemptAt, o.Reason = rewards.OrderSubmitted, 1, at(11), "insufficient_funds: no"
		},
		"the order has been at the broker since 2026-11-21 18:01 UTC": func(h *rewards.History, o *rewards.Order) {
			o.State, o.FirstAttemptAt, o.AnsweredAt = rewards.OrderOpen, at(11), at(75)
			h.Control.Paused = "x" // does not matter any more
		},
		"the order was filled far from the last price, which is being checked": func(_ *rewards.History, o *rewards.Order) {
			o.State, o.Reason = rewards.OrderOpen, farFilled(t).Reason
		},
		"the operator must decide about the order": func(_ *rewards.History, o *rewards.Order) { o.State, o.Reason = rewards.OrderQuarantined, "secret" },
		"the operator has decided about the order, which is booked next": func(_ *rewards.History, o *rewards.Order) {
			o.State = rewards.OrderResolved
		},
		"no process places orders now; it goes on when one does": func(h *rewards.History, _ *rewards.Order) { h.Led = false },
	} {
		if diff := cmp.Diff(want, last(change)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A reward that failed ends with its reason.
func TestTimelineOfFailures(t *testing.T) {
	t.Parallel()
	h := waiting()
	h.Reward.Status, h.Reward.FailureReason = rewards.Failed, "canceled: by mistake"
	want := "00 recorded: $25.00 of AAPL was recorded\n00 canceled: canceled: by mistake\n"
	if diff := cmp.Diff(want, written(h)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h.Reward.FailureReason = "asset_not_tradable: no"
	h.Orders = []rewards.Ordered{{Order: rewards.Order{
		ID: rewards.FirstID[rewards.Order](at(10)), Notional: 25 * money.Dollar, State: rewards.OrderRefused, Attempts: 1,
		FirstAttemptAt: at(11), SettledAt: at(12), Reason: "asset_not_tradable: no",
	}, Carried: 25 * money.Dollar}}
	want = `00 recorded: $25.00 of AAPL was recorded
10 ordered: $25.00 went into an order of $25.00
11 sent: the order was sent to the broker
12 refused: the broker refused the order: asset_not_tradable: no
12 failed: asset_not_tradable: no
`
	if diff := cmp.Diff(want, written(h)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
