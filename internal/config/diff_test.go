package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/config"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// shop is an app that was stored.
func shop() config.Stored {
	budget := rewards.Budget{
		Name: "daily", Per: rewards.PerApp, Period: rewards.PeriodDay, Limit: 500 * money.Dollar, State: rewards.BudgetActive,
	}
	pruned := rewards.WebhookEndpoint{URL: "https://pruned.example/"}
	pruned.DisableFor(config.NotInFile)
	return config.Stored{
		App:     rewards.App{Name: "shop", Dividends: rewards.DividendsReinvest, Limits: rewards.Limits{Concurrent: 9}},
		Budgets: []rewards.Budget{budget},
		Endpoints: []rewards.WebhookEndpoint{
			{URL: "https://on.example/"},
			{URL: "https://off.example/", Disabled: rewards.DisabledFails},
			pruned,
			{URL: "https://two.example/"},
			{URL: "https://two.example/"},
		},
	}
}

// A file changes exactly what it names and what differs.
func TestDiff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, app string
		prune     bool
		change    func(*config.Stored)
		want      []string
	}{
		{name: "nothing named", app: `{name: shop}`, prune: true},
		{name: "as it is", app: `{name: shop, mode: test, dividends: reinvest, limits: {concurrent: 9, requestsPerSecond: 0},
			budgets: [{name: daily, per: app, period: day, limit: 500.00}], webhooks: [{url: "https://on.example/", enabled: true}]}`},
		{name: "limits and dividends", app: `{name: shop, dividends: house, limits: {concurrent: 0, requestsPerSecond: 7}}`, want: []string{
			"~ limits of shop: requests per second no limit -> 7, concurrent 9 -> 2000", "~ dividends of shop: reinvest -> house",
		}},
		{
			name: "budgets", app: `{name: shop, budgets: [{name: daily, per: app, period: day, limit: 5}, {name: new, per: user, period: total, limit: 1}]}`,
			want: []string{
				"~ budget daily of shop: 500 dollars per app and day -> 5 dollars per app and day",
				"+ budget new of shop: 1 dollars per user in total",
			},
		},
		{
			name: "a budget that is being counted", app: `{name: shop, budgets: [{name: daily, per: app, period: day, limit: 500}]}`,
			change: func(s *config.Stored) {
				counting := s.Budgets[0]
				counting.State = rewards.BudgetCounting
				s.Budgets = append(s.Budgets, counting)
			}, want: []string{"~ budget daily of shop: go on counting: 500 dollars per app and day"},
		},
		{name: "empty lists", app: `{name: shop, budgets: [], webhooks: []}`},
		{
			name: "pruned", app: `{name: shop, budgets: [], webhooks: [{url: "https://on.example/"}]}`, prune: true,
			change: func(s *config.Stored) { s.Endpoints[4].URL = "https://three.example/" }, want: []string{
				"- budget daily of shop: 500 dollars per app and day",
				"- webhook https://two.example/ of shop: disabled; its events wait",
				"- webhook https://three.example/ of shop: disabled; its events wait",
			},
		},
		{name: "endpoints", app: `{name: shop, webhooks: [{url: "https://on.example/", enabled: false, types: [reward.failed], description: d},
			{url: "https://off.example/", enabled: true}, {url: "https://pruned.example/"}, {url: "https://new.example/", enabled: false}]}`, want: []string{
			"~ webhook https://on.example/ of shop: events " + rewards.AllEvents.String() + ` -> reward.failed, description "" -> "d"`,
			"~ webhook https://on.example/ of shop: enabled -> disabled",
			"~ webhook https://off.example/ of shop: disabled -> enabled",
			"~ webhook https://pruned.example/ of shop: disabled -> enabled",
			"+ webhook https://new.example/ of shop: events: all, disabled",
		}},
		{name: "one that the service disabled", app: `{name: shop, webhooks: [{url: "https://off.example/"}]}`},
		{
			name: "a new app", app: `{name: new, mode: test, dividends: reinvest, budgets: [{name: b, per: app, period: month, limit: 9}]}`,
			prune: true, want: []string{"+ app new: with a test key, budget b: 9 dollars per app and month"},
		},
		{name: "another mode", app: `{name: shop, mode: live}`, want: []string{
			"line 1: apps[0].mode: the database belongs to an account with test keys",
		}},
		{name: "two of a url", app: `{name: shop, webhooks: [{url: "https://two.example/"}]}`, want: []string{
			"line 1: apps[0].webhooks[0]: the app has 2 endpoints with this url: delete all but one",
		}},
		{name: "too many", app: `{name: shop, webhooks: [` + strings.Repeat(`{url: "https://X.example/"},`, 12) + `]}`, want: []string{
			"line 1: apps[0]: the app has 16 webhook endpoints: delete one first",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stored := shop()
			if test.change != nil {
				test.change(&stored)
			}
			text := test.app
			for i := 0; strings.Contains(text, "//X"); i++ {
				text = strings.Replace(text, "//X", "//x"+string(rune('a'+i)), 1)
			}
			f, err := config.Read([]byte("apps: ["+text+"]"), rewards.WebhookAddresses{})
			if err != nil {
				t.Fatal(err)
			}
			changes, err := config.Diff(f, map[string]config.Stored{"shop": stored}, rewards.ModeTest, test.prune)
			var got []string
			if err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			for _, c := range changes {
				got = append(got, c.Sign+" "+c.Object()+": "+c.What)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A budget can be renamed in an app that has as many as it may have: the old ones go first. Otherwise new ones come first,
// so that the app is never without.
func TestBudgetsThatNeedRoom(t *testing.T) {
	t.Parallel()
	for stored, want := range map[int]string{rewards.MaxBudgets: "- +", rewards.MaxBudgets - 1: "+ -"} {
		s, list := shop(), ""
		for i := range stored - 1 {
			b := s.Budgets[0]
			b.Name = fmt.Sprint("b", i)
			s.Budgets = append(s.Budgets, b)
			list += ", {name: " + b.Name + ", per: app, period: day, limit: 500}"
		}
		f, err := config.Read([]byte("apps: [{name: shop, budgets: [{name: renamed, per: app, period: day, limit: 500}"+list+"]}]"),
			rewards.WebhookAddresses{})
		if err != nil {
			t.Fatal(err)
		}
		changes, err := config.Diff(f, map[string]config.Stored{"shop": s}, rewards.ModeTest, true)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range changes {
			got = append(got, c.Sign)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("with %d budgets: %v, want %s", stored, got, want)
		}
	}
}

// A change of limits names those of the file: what an operator sets meanwhile stays.
func TestOnlyNamedLimitsChange(t *testing.T) {
	t.Parallel()
	f, err := config.Read([]byte("apps: [{name: shop, limits: {requestsPerSecond: 200}}]"), rewards.WebhookAddresses{})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := config.Diff(f, map[string]config.Stored{"shop": shop()}, rewards.ModeTest, false)
	if err != nil || len(changes) != 1 {
		t.Fatalf("%+v, %v", changes, err)
	}
	want := rewards.Limits{RequestsPerSecond: 200, Concurrent: 5}
	if got := changes[0].Limits.Over(rewards.Limits{Concurrent: 5}); got != want {
		t.Errorf("the limits become %+v, want %+v", got, want)
	}
}
