package rewards_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// openOrder returns an order for $100 and the broker's report of it.
func openOrder() (rewards.Order, rewards.BrokerOrder) {
	o := rewards.Order{
		ClientOrderID: "sr-1", Symbol: "AAPL", Notional: 100_000_000, State: rewards.OrderSubmitted,
	}
	b := rewards.BrokerOrder{ID: "b1", ClientOrderID: "sr-1", Symbol: "AAPL", Side: "buy", Status: "new", Notional: 100_000_000}
	return o, b
}

// Safety rule 3: every contradiction is found, and nothing is guessed.
func TestMergeFindsContradictions(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*rewards.BrokerOrder){
		"client order id": func(b *rewards.BrokerOrder) { b.ClientOrderID = "sr-2" },
		"broker order id": func(b *rewards.BrokerOrder) { b.ID = "b2" },
		"symbol":          func(b *rewards.BrokerOrder) { b.Symbol = "MSFT" },
		"side":            func(b *rewards.BrokerOrder) { b.Side = "sell" },
		"notional":        func(b *rewards.BrokerOrder) { b.Notional++ },
		"status":          func(b *rewards.BrokerOrder) { b.Status = "exploded" },
		"status \"repl":   func(b *rewards.BrokerOrder) { b.Status = "replaced" },
		"filled quantity": func(b *rewards.BrokerOrder) { b.FilledQty = -1 },
		"price 0 of":      func(b *rewards.BrokerOrder) { b.FilledQty = 1 },
		"price -0":        func(b *rewards.BrokerOrder) { b.FilledQty, b.FilledAvgPrice = 1, -1 },
		"nothing bought":  func(b *rewards.BrokerOrder) { b.Status = "filled" },
		"cost more":       func(b *rewards.BrokerOrder) { b.FilledQty, b.FilledAvgPrice = 1_000_000_000, 100_020_000_000 },
		"too many":        func(b *rewards.BrokerOrder) { b.Problem = "filled_qty: too many decimals" },
		"cost more than ": func(b *rewards.BrokerOrder) { b.FilledQty, b.FilledAvgPrice = 1<<62, 1<<62 },
		"quantity fell":   func(b *rewards.BrokerOrder) { b.Status, b.FilledQty, b.FilledAvgPrice = "canceled", 1, 5 },
	} {
		o, b := openOrder()
		o.BrokerID, o.FilledQty, o.FilledAvgPrice = "b1", 2, 5
		change(&b)
		got, err := o.Merge(b, time.Now())
		if !errors.Is(err, rewards.ErrContradiction) || !strings.Contains(err.Error(), want) || got != o {
			t.Errorf("%s: %v, changed %t", want, err, got != o)
		}
	}
}

func TestMergeTolerates(t *testing.T) {
	t.Parallel()
	o, b := openOrder()
	b.Status, b.FilledQty, b.FilledAvgPrice = "filled", 1_000_000_000, 100_010_000_000 // a cent too much
	if got, err := o.Merge(b, time.Now()); err != nil || got.State != rewards.OrderOpen || !got.Proven(time.Now()) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Every status of the broker has a phase.
func TestPhases(t *testing.T) {
	t.Parallel()
	for phase, statuses := range map[rewards.Phase]string{
		rewards.PhaseWorking: "new accepted pending_new partially_filled done_for_day pending_cancel pending_replace accepted_for_bidding stopped suspended calculated held",
		rewards.PhaseFilled:  "filled",
		rewards.PhaseEnded:   "canceled expired rejected",
		rewards.PhaseInvalid: "replaced unheard_of FILLED",
	} {
		for status := range strings.FieldsSeq(statuses) {
			if got := rewards.PhaseOf(status); got != phase {
				t.Errorf("%s is of phase %d, want %d", status, got, phase)
			}
		}
	}
}

// An end other than filled is proven by two reports of the same end, quantity and price that
// are 30 seconds apart; filled is proven at once. A stale report does not reopen an end.
func TestEndsAreProvenByTwoReports(t *testing.T) {
	t.Parallel()
	type report struct {
		after  time.Duration // since the first report
		status string
		qty    money.Shares
		price  money.Price
		known  string // the order's status afterwards; "" for a contradiction
		proven bool
	}
	const wait = rewards.TerminalWait
	for name, reports := range map[string][]report{
		"the same end":       {{0, "canceled", 5, hundred, "canceled", false}, {wait, "canceled", 5, hundred, "canceled", true}},
		"too early":          {{0, "canceled", 5, hundred, "canceled", false}, {wait - 1, "canceled", 5, hundred, "canceled", false}},
		"nothing filled":     {{0, "expired", 0, 0, "expired", false}, {wait, "expired", 0, 0, "expired", true}},
		"a stale report":     {{0, "canceled", 5, hundred, "canceled", false}, {wait, "new", 0, 0, "canceled", false}},
		"more while working": {{0, "canceled", 5, hundred, "canceled", false}, {wait, "partially_filled", 6, hundred, "", false}},
		"a larger fill": {
			{0, "canceled", 5, hundred, "canceled", false},
			{wait, "canceled", 7, hundred, "canceled", false},
			{2 * wait, "canceled", 7, hundred, "canceled", true},
		},
		"another price": {
			{0, "canceled", money.Share / 2, hundred, "canceled", false},
			{wait, "canceled", money.Share / 2, 90 * perUSD, "canceled", false},
			{2 * wait, "canceled", money.Share / 2, 90 * perUSD, "canceled", true},
		},
		"another end": {
			{0, "canceled", 0, 0, "canceled", false},
			{wait, "expired", 0, 0, "expired", false},
			{2 * wait, "expired", 0, 0, "expired", true},
		},
		"filled":            {{0, "filled", money.Share, hundred, "filled", true}},
		"filled after all":  {{0, "canceled", 5, hundred, "canceled", false}, {1, "filled", money.Share, hundred, "filled", true}},
		"filled, then less": {{0, "filled", money.Share, hundred, "filled", true}, {wait, "canceled", 9, hundred, "filled", true}},
	} {
		began := time.Unix(1_790_000_000, 0)
		o, b := openOrder()
		for i, r := range reports {
			b.Status, b.FilledQty, b.FilledAvgPrice = r.status, r.qty, r.price
			at := began.Add(r.after)
			next, err := o.Merge(b, at)
			if r.known == "" {
				if !errors.Is(err, rewards.ErrContradiction) {
					t.Errorf("%s: report %d: %v, want a contradiction", name, i, err)
				}
				break
			}
			if err != nil || next.BrokerStatus != r.known || next.FilledQty < o.FilledQty || next.Proven(at) != r.proven {
				t.Errorf("%s: after report %d %+v, proven %t, %v", name, i, next, next.Proven(at), err)
			}
			o = next
		}
	}
}

// For any sequence of reports the filled quantity never shrinks, and an ended order never
// works again.
func TestMergeIsMonotone(t *testing.T) {
	t.Parallel()
	statuses := []string{"new", "partially_filled", "canceled", "expired", "rejected", "filled", "held"}
	rapid.Check(t, func(t *rapid.T) {
		o, b := openOrder()
		now := time.Unix(1_790_000_000, 0)
		for range rapid.IntRange(1, 20).Draw(t, "readings") {
			b.Status = rapid.SampledFrom(statuses).Draw(t, "status")
			b.FilledQty = money.Shares(rapid.Int64Range(0, 1_000_000_000).Draw(t, "qty"))
			if b.Status == "filled" && rapid.Bool().Draw(t, "whole") {
				b.FilledQty = money.Share
			}
			b.FilledAvgPrice = 100_000_000_000
			now = now.Add(time.Second)
			next, err := o.Merge(b, now)
			if err != nil {
				if next != o {
					t.Fatal("a contradiction changed the order")
				}
				continue
			}
			ended := rewards.PhaseOf(o.BrokerStatus) == rewards.PhaseEnded || rewards.PhaseOf(o.BrokerStatus) == rewards.PhaseFilled
			if next.FilledQty < o.FilledQty || ended && rewards.PhaseOf(next.BrokerStatus) == rewards.PhaseWorking {
				t.Fatalf("%s %s became %s %s", o.BrokerStatus, o.FilledQty, next.BrokerStatus, next.FilledQty)
			}
			o = next
		}
	})
}

func TestTransitions(t *testing.T) {
	t.Parallel()
	allowed := map[rewards.OrderState]string{
		rewards.OrderPlanned:     "submitted",
		rewards.OrderSubmitted:   "submitted open quarantined resolved refused",
		rewards.OrderOpen:        "open quarantined settled refused",
		rewards.OrderQuarantined: "resolved",
		rewards.OrderResolved:    "quarantined settled",
		rewards.OrderSettled:     "",
		rewards.OrderRefused:     "",
	}
	for from, want := range allowed {
		var got []string
		for to := rewards.OrderPlanned; to <= rewards.OrderRefused; to++ {
			if from.CanBecome(to) {
				got = append(got, to.String())
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s becomes %q, want %q", from, text, want)
		}
		if from.Final() != (want == "") {
			t.Errorf("%s is final: %t", from, from.Final())
		}
		if parsed, ok := rewards.ParseOrderState(from.String()); !ok || parsed != from {
			t.Errorf("%s is read as %s", from, parsed)
		}
	}
}

func TestPlanOrderProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var waiting []rewards.Waiting
		for _, a := range amounts(t) {
			app := rewards.AppID{15: byte(rapid.IntRange(0, 3).Draw(t, "app"))}
			waiting = append(waiting, rewards.Waiting{AppID: app, RewardID: rewardID(len(waiting)), Pending: a})
		}
		l := rewards.PlanLimits{
			MaxNotional: rewards.LowestMaxNotional + money.USD(rapid.Int64Range(0, 1<<45).Draw(t, "max")),
			DailyLeft:   money.USD(rapid.Int64Range(-10, 1<<50).Draw(t, "daily")),
			HouseLeft:   money.USD(rapid.Int64Range(-10, 1<<30).Draw(t, "house")),
			Price:       money.Price(rapid.Int64Range(0, 1<<50).Draw(t, "price")),
			HousePerApp: money.USD(rapid.Int64Range(-10, 1<<20).Draw(t, "house per app")),
			TopUp:       rapid.Bool().Draw(t, "top up"),
		}
		p, hold, err := rewards.PlanOrder(rewards.Queues(waiting), rewards.MaxMembers, l)
		check(t, err)
		if hold != rewards.NoHold {
			return
		}
		var sum money.USD
		for i, m := range p.Members {
			w := waiting[slices.IndexFunc(waiting, func(w rewards.Waiting) bool { return w.RewardID == m.RewardID })]
			if m.Amount != w.Pending || m.AppID != w.AppID {
				t.Fatalf("member %d carries %s of %s", i, m.Amount, w.Pending)
			}
			if i > 0 && bytes.Compare(p.Members[i-1].RewardID[:], m.RewardID[:]) >= 0 {
				t.Fatalf("member %d is not in order of arrival", i)
			}
			sum += m.Amount
		}
		var added money.USD
		for _, a := range p.TopUps {
			if added += a.Amount; a.Amount > l.HousePerApp {
				t.Fatalf("the house adds %s for an app, the limit is %s", a.Amount, l.HousePerApp)
			}
		}
		switch {
		case len(p.Members) == 0 || len(p.Members) > rewards.MaxMembers:
			t.Fatalf("%d members", len(p.Members))
		case p.Notional != sum+p.House, p.Notional%money.Cent != 0, p.Notional < rewards.MinNotional:
			t.Fatalf("notional %s of %s and the house's %s", p.Notional, sum, p.House)
		case p.Notional > l.MaxNotional, p.Notional > l.DailyLeft:
			t.Fatalf("notional %s beyond %+v", p.Notional, l)
		case p.House >= money.Cent && (sum >= rewards.MinNotional || p.House > l.HouseLeft || !l.TopUp):
			t.Fatalf("the house adds %s to %s", p.House, sum)
		case sum <= rewards.MinNotional-money.Cent && added != p.House:
			t.Fatalf("the apps are charged %s of %s", added, p.House)
		}
	})
}

// rewardID returns the id of the n-th reward.
func rewardID(n int) (id rewards.RewardID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// An order takes the rewards that have waited longest, up to its limits.
func TestPlanOrderTakesWhatFits(t *testing.T) {
	t.Parallel()
	roomy := rewards.PlanLimits{MaxNotional: 1 << 60, DailyLeft: 1 << 60}
	for name, test := range map[string]struct {
		change  func(*rewards.PlanLimits)
		members int
		hold    rewards.Hold
	}{
		"no limit":                       {func(*rewards.PlanLimits) {}, 1000, rewards.NoHold},
		"largest order":                  {func(l *rewards.PlanLimits) { l.MaxNotional = 7_999_999 }, 3, rewards.NoHold},
		"left of the day":                {func(l *rewards.PlanLimits) { l.DailyLeft = 4_000_000 }, 2, rewards.NoHold},
		"nothing left of the day":        {func(l *rewards.PlanLimits) { l.DailyLeft = 1_999_999 }, 0, rewards.HoldDaily},
		"too many shares":                {func(l *rewards.PlanLimits) { l.Price = 5 }, 2, rewards.NoHold},
		"too many shares for the oldest": {func(l *rewards.PlanLimits) { l.Price = 1 }, 0, rewards.HoldQuantity},
	} {
		l := roomy
		test.change(&l)
		waiting := slices.Repeat([]rewards.Waiting{{Pending: 2 * money.Dollar}}, 1001)
		p, hold, err := rewards.PlanOrder(rewards.Queues(waiting), rewards.MaxMembers, l)
		if err != nil || len(p.Members) != test.members || hold != test.hold {
			t.Errorf("%s: %d members, hold %d, %v; want %d, hold %d", name, len(p.Members), hold, err, test.members, test.hold)
		}
	}
}

func TestSmallPoolDeadline(t *testing.T) {
	t.Parallel()
	oldest := time.Unix(1_790_000_000, 0)
	if got := rewards.SmallPoolDeadline(oldest, time.Hour, time.Time{}); !got.Equal(oldest.Add(time.Hour)) {
		t.Errorf("got %s", got)
	}
	if got := rewards.SmallPoolDeadline(oldest, time.Hour, oldest.Add(10*time.Minute)); !got.Equal(oldest.Add(9 * time.Minute)) {
		t.Errorf("got %s, want a minute before the close", got)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1000: time.Minute} {
		if got := rewards.Backoff(attempts); got != want {
			t.Errorf("after %d attempts %s, want %s", attempts, got, want)
		}
	}
}
