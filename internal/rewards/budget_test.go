package rewards_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Periods are those of UTC, by the moment and not by its zone.
func TestBudgetPeriods(t *testing.T) {
	t.Parallel()
	utc := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	newYork := time.FixedZone("New York", -5*60*60)
	for name, test := range map[string]struct {
		period     rewards.BudgetPeriod
		at         time.Time
		start, end time.Time
	}{
		"a day":                {rewards.PeriodDay, time.Date(2026, 2, 28, 23, 59, 59, 999, time.UTC), utc(2026, 2, 28), utc(2026, 3, 1)},
		"a day elsewhere":      {rewards.PeriodDay, time.Date(2026, 2, 28, 20, 0, 0, 0, newYork), utc(2026, 3, 1), utc(2026, 3, 2)},
		"a month":              {rewards.PeriodMonth, utc(2026, 12, 31), utc(2026, 12, 1), utc(2027, 1, 1)},
		"the end of a month":   {rewards.PeriodMonth, time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC), utc(2026, 1, 1), utc(2026, 2, 1)},
		"a month in leap year": {rewards.PeriodMonth, utc(2028, 2, 29), utc(2028, 2, 1), utc(2028, 3, 1)},
		"total":                {rewards.PeriodTotal, utc(2026, 1, 1), time.Time{}, time.Time{}},
	} {
		got := []time.Time{test.period.Start(test.at), test.period.End(test.at)}
		if diff := cmp.Diff([]time.Time{test.start, test.end}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The counters of a budget have the rewards from its period on that were counted, and those after
// the newest one when it was set.
func TestBudgetCovers(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) rewards.RewardID { return rewards.FirstID[rewards.Reward](day.Add(d)) }
	b := rewards.Budget{Period: rewards.PeriodDay}.Begin(at(10*time.Hour), day.Add(11*time.Hour))
	if b.State != rewards.BudgetCounting || b.Since != at(0) || b.Cut != at(10*time.Hour) {
		t.Fatalf("begun: %+v", b)
	}
	b.Reached = at(4 * time.Hour)
	for moment, want := range map[time.Duration]bool{
		-time.Millisecond: false, time.Hour: true, 4 * time.Hour: true, 5 * time.Hour: false, 10 * time.Hour: false,
		10*time.Hour + time.Millisecond: true,
	} {
		if got := b.Covers(at(moment)); got != want {
			t.Errorf("covers %s: %v", moment, got)
		}
	}
	behind := rewards.Budget{Period: rewards.PeriodDay}.Begin(at(-time.Second), day)
	if behind.Since != at(-24*time.Hour) {
		t.Errorf("the period of the newest reward does not count: since %s", behind.Since.Time())
	}
	// The clock of the operator's machine may be ahead: no award may follow its period.
	first := rewards.Budget{Period: rewards.PeriodMonth}.Begin(rewards.RewardID{}, day.AddDate(1, 0, 0))
	if first.LaterThan().After(day) || !first.Covers(at(0)) {
		t.Errorf("rewards of an app without any follow %s", first.LaterThan())
	}
}

// A budget per app has an alarm at 80 and at 100 %, which names the app and the budget.
func TestBudgetAlarm(t *testing.T) {
	t.Parallel()
	for used, want := range map[money.USD]string{
		399_999_999: "", 400_000_000: rewards.AlarmBudgetAlmost, 499_999_999: rewards.AlarmBudgetAlmost,
		500_000_000: rewards.AlarmBudgetUsed, 600_000_000: rewards.AlarmBudgetUsed,
	} {
		u := rewards.BudgetUse{App: "shop", Used: used, Budget: rewards.Budget{
			Name: "daily", Period: rewards.PeriodDay, Limit: 500 * money.Dollar,
		}}
		a, raised := u.Alarm()
		if raised != (want != "") || !strings.HasPrefix(a.Name, want) || raised && !strings.Contains(a.Message, "daily of shop, 500 dollars") {
			t.Errorf("%s used: %+v", used, a)
		}
	}
	if a, raised := (rewards.BudgetUse{}).Alarm(); raised {
		t.Errorf("a budget of nothing: %+v", a)
	}
}
