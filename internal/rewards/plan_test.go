package rewards_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// waits parses waiting rewards in order of arrival: "a5" is $5 of the app a.
func waits(list string) []rewards.Queue {
	var waiting []rewards.Waiting
	for i, text := range strings.Fields(list) {
		amount, err := money.ParseUSD(text[1:])
		if err != nil {
			panic(err)
		}
		waiting = append(waiting, rewards.Waiting{
			AppID: rewards.AppID{15: text[0]}, RewardID: rewardID(i + 1), Pending: amount,
		})
	}
	return rewards.Queues(waiting)
}

// chosen returns the members of a plan by app and position among all waiting rewards.
func chosen(p rewards.Plan) string {
	var list []string
	for _, m := range p.Members {
		list = append(list, fmt.Sprintf("%c%d", m.AppID[15], m.RewardID[15]))
	}
	return strings.Join(list, " ")
}

func skipped(p rewards.Plan) string {
	var list []string
	for _, a := range p.Skipped {
		list = append(list, fmt.Sprintf("%c %d of %s or more, hold %d", a.AppID[15], a.Count, a.Least, a.Hold))
	}
	return strings.Join(list, "; ")
}

func dollars(n money.USD) money.USD { return n * money.Dollar }

// roomy returns limits that hold nothing back.
func roomy() rewards.PlanLimits {
	return rewards.PlanLimits{MaxNotional: 1 << 60, DailyLeft: 1 << 60, HouseLeft: 1 << 60, HousePerApp: 1 << 60, TopUp: true}
}

// Apps take turns, even when one has waited longer and has more rewards. An app's rewards
// are taken in order of arrival, and so are the members listed.
func TestPlanOrderTakesTurns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		waits string
		most  int
		max   money.USD
		want  string
	}{
		{"a1 a1 a1 a1 b1 c1", 3, 1 << 60, "a1 b5 c6"},
		{"a1 a1 a1 a1 b1 c1", 5, 1 << 60, "a1 a2 a3 b5 c6"},
		{"b1 a1 a1 b1 b1", 4, 1 << 60, "b1 a2 a3 b4"},
		{"a4 a4 b1 b1 b1 b1", 6, dollars(7), "a1 b3 b4 b5"},    // the second reward of a is not skipped
		{"a4 a4 b1 b1 b1 b1 a1", 6, dollars(7), "a1 b3 b4 b5"}, // and no later reward of a precedes it
	} {
		l := roomy()
		l.MaxNotional = test.max
		p, hold, err := rewards.PlanOrder(waits(test.waits), test.most, l)
		if err != nil || hold != rewards.NoHold {
			t.Fatalf("%s: hold %d, %v", test.waits, hold, err)
		}
		if diff := cmp.Diff(test.want, chosen(p)); diff != "" {
			t.Errorf("%d of %s (-want +got):\n%s", test.most, test.waits, diff)
		}
	}
}

// A reward that cannot be ordered today does not block the others.
func TestPlanOrderSkips(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		waits   string
		left    money.USD
		want    string
		skipped string
	}{
		{"a900 a5 b5", dollars(100), "a2 b3", "a 1 of 900 or more, hold 4"},
		{"a60 b60 a5 b5", dollars(100), "a1 a3 b4", "b 1 of 60 or more, hold 4"},
		{"a900 a800 b700", dollars(100), "", "a 2 of 800 or more, hold 4; b 1 of 700 or more, hold 4"},
		{"a100 b1", dollars(100), "a1", "b 1 of 1 or more, hold 4"},
	} {
		l := roomy()
		l.DailyLeft = test.left
		p, hold, err := rewards.PlanOrder(waits(test.waits), rewards.MaxMembers, l)
		if err != nil || (hold == rewards.HoldDaily) != (test.want == "") {
			t.Errorf("%s: hold %d, %v", test.waits, hold, err)
		}
		if diff := cmp.Diff([]string{test.want, test.skipped}, []string{chosen(p), skipped(p)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.waits, diff)
		}
	}
	l := roomy()
	l.Price = 1_000 // a billion shares cost $1,000
	if p, _, err := rewards.PlanOrder(waits("a1001 b5 a900"), rewards.MaxMembers, l); err != nil || chosen(p) != "b2 a3" {
		t.Errorf("more shares than an order may have: %q, %v", chosen(p), err)
	}
}

// More must be read when an app's turn comes after all that was read of its queue.
func TestPlanOrderNeedsMore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		waits string
		most  int
		left  money.USD
		want  bool
	}{
		{"a1 a1 b1", 4, 1 << 60, true},
		{"a1 a1 b1", 3, 1 << 60, false},
		{"a9 a9 b1", 1, dollars(5), true},
		{"a9 a9 b1", 2, dollars(5), true},
	} {
		queues := waits(test.waits)
		queues[0].More = true
		l := roomy()
		l.DailyLeft = test.left
		if p, _, err := rewards.PlanOrder(queues, test.most, l); err != nil || p.NeedsMore != test.want {
			t.Errorf("%d of %s: needs more %t, %v; want %t", test.most, test.waits, p.NeedsMore, err, test.want)
		}
	}
	most := 0
	for n, more := (rewards.PlanRequest{Apps: 7}).FirstRead(), true; more; n, more = rewards.NextRead(n, 7) {
		most = n
	}
	if most < rewards.MaxMembers || most > 8*rewards.MaxMembers/7 {
		t.Errorf("up to %d rewards of each app are read", most)
	}
}

// The house's top-up is charged to the apps in equal parts; an app without enough of its
// limit left is left out.
func TestTopUpsAreChargedInEqualParts(t *testing.T) {
	t.Parallel()
	const a, b, c = 'a', 'b', 'c'
	app := func(name byte) rewards.AppID { return rewards.AppID{15: name} }
	for _, test := range []struct {
		waits string
		spent map[byte]money.USD // with a limit of $2 for each
		want  string
		parts []money.USD
		hold  rewards.Hold
	}{
		{"a0.4", nil, "a1", []money.USD{600_000}, rewards.NoHold},
		{"a0.000001 b0.9", nil, "a1 b2", []money.USD{50_000, 49_999}, rewards.NoHold},
		{"a0.1 a0.1 b0.1 c0.1", nil, "a1 a2 b3 c4", []money.USD{200_000, 200_000, 200_000}, rewards.NoHold},
		{"a0.4 b0.4", map[byte]money.USD{a: 1_950_000}, "b2", []money.USD{600_000}, rewards.NoHold},
		{"a0.4 b0.4", map[byte]money.USD{a: 1_950_000, b: 1_500_000}, "", nil, rewards.HoldAppHouse},
		{"a0.4 b0.4 c0.1", map[byte]money.USD{a: 2_000_000, c: 1_800_000}, "b2", []money.USD{600_000}, rewards.NoHold},
		{"a0.6 b0.6", map[byte]money.USD{a: 2_000_000, b: 2_000_000}, "a1 b2", nil, rewards.NoHold}, // no top-up is needed
	} {
		l := roomy()
		l.HousePerApp, l.HouseSpent = dollars(2), map[rewards.AppID]money.USD{}
		for name, spent := range test.spent {
			l.HouseSpent[app(name)] = spent
		}
		p, hold, err := rewards.PlanOrder(waits(test.waits), rewards.MaxMembers, l)
		var parts []money.USD
		for _, a := range p.TopUps {
			parts = append(parts, a.Amount)
		}
		if err != nil || hold != test.hold || chosen(p) != test.want || !slices.Equal(parts, test.parts) {
			t.Errorf("%s: %q, parts %v, hold %d, %v", test.waits, chosen(p), parts, hold, err)
		}
	}
}
