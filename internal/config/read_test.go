package config_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"stockrewards/internal/config"
	"stockrewards/internal/rewards"
)

// Every mistake is reported at once, with its line, its member and the reason.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "the file is empty: it must have apps",
		"# only":                       "the file is empty: it must have apps",
		"[]":                           "line 1: must have members: apps",
		"{}":                           "line 1: apps: is missing",
		"apps:":                        "line 1: apps: must be a list; [] is an empty one",
		"apps: []\n---\napps: []":      "line 2: the file must be one document",
		"apps: []\napp: 1":             "line 2: app: no such member; the nearest one is apps",
		"apps: []\napps: []":           "line 2: apps: appears twice; first in line 1",
		"apps: [7]":                    "line 1: apps[0]: must have members: name, mode, dividends, limits, budgets, webhooks",
		"apps:\n- {}":                  "line 2: apps[0].name: is missing",
		"apps:\n- name: 12":            "line 2: apps[0].name: must be a string; quote it",
		"apps:\n- name: ''":            "line 2: apps[0].name: must have 1 to 100 characters",
		"apps: [{name: a}, {name: a}]": `line 1: apps[1].name: "a" appears twice; first in line 1`,
		"apps:\n- name: a\n- name: a\n- name: a": "line 3: apps[1].name: \"a\" appears twice; first in line 2\n" +
			"line 4: apps[2].name: \"a\" appears twice; first in line 2",
		"apps: [{name: a, limits: {concurrent: -1, requestsPerSecond: -1}}]": "line 1: apps[0].limits.requestsPerSecond: the limit of " +
			"requests per second must be 1 to 1000000, or 0 for no limit\n" +
			"line 1: apps[0].limits.concurrent: the limit of concurrent requests must be 1 to 100000, or 0 for the default of 2000",
		"apps: [{name: a, mode: prod}]":                 "line 1: apps[0].mode: must be test or live",
		"apps: [{name: a, key: x}]":                     "line 1: apps[0].key: the file must have no keys and no secrets: apply makes them",
		"apps: [{name: a, leastAward: 1}]":              "line 1: apps[0].leastAward: is a setting of the service: serve --least-award",
		"apps: [{name: a, dividends: cash}]":            "line 1: apps[0].dividends: must be reinvest or house",
		"apps:\n- name: a\n  limits: {concurrent: 1.5}": "line 3: apps[0].limits.concurrent: must be a whole number, such as 100",
		"apps:\n- name: a\n  limits: {concurrent: 100001}": "line 3: apps[0].limits.concurrent: the limit of concurrent requests must be " +
			"1 to 100000, or 0 for the default of 2000",
		"apps:\n- name: a\n  budgets:\n  - {name: b, per: app, period: day}": "line 4: apps[0].budgets[0].limit: is missing: it must be " +
			"an amount of dollars, such as 500 or 0.50",
		"apps:\n- name: a\n  budgets:\n  - {name: b, per: app, period: day, limit: 0.0000001}": "line 4: apps[0].budgets[0].limit: must be " +
			"an amount of dollars, such as 500 or 0.50: too many decimals",
		"apps:\n- name: a\n  budgets:\n  - {name: b, per: app, period: day, limit: 1}\n  - {name: b, per: user, period: day, limit: 1}": "line 5: " +
			`apps[0].budgets[1].name: "b" appears twice; first in line 4`,
		"apps:\n- name: a\n  webhooks:\n  - url: https://10.1.2.3/": "line 4: apps[0].webhooks[0].url: the address is in a private or special range",
		"apps:\n- name: a\n  webhooks:\n  - {url: https://a.example/, types: []}": "line 4: apps[0].webhooks[0].types: must name a type, " +
			"or be left out for all",
		"apps: [{name: a, mode: [x], limits: 3}]": "line 1: apps[0].mode: must be test or live\n" +
			"line 1: apps[0].limits: must have members: requestsPerSecond, concurrent",
		"apps:\n- &a {name: a}\n- *a":                         "line 3: apps[1]: must have members: name, mode, dividends, limits, budgets, webhooks",
		strings.Repeat("#", config.MaxFile+1):                 "the file is larger than 1048576 bytes",
		"apps:\n- name: 01890000-0000-7000-8000-000000000000": "line 2: apps[0].name: must not look like an id",
	} {
		_, err := config.Read([]byte(text), rewards.WebhookAddresses{})
		if _, ok := errors.AsType[config.Issues](err); !ok || err.Error() != want {
			t.Errorf("%.60q:\n%v\nwant\n%s", text, err, want)
		}
	}
}

// A file keeps every digit, and what it leaves out is known to be absent.
func TestRead(t *testing.T) {
	t.Parallel()
	allow := rewards.WebhookAddresses{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	f, err := config.Read([]byte(`
apps:
- name: shop
  mode: live
  dividends: house
  limits: {requestsPerSecond: 0}
  budgets: [{name: "7", per: user, period: total, limit: 999999.999999}]
  webhooks: [{url: "http://10.1.2.3:81/in", types: [reward.failed, reward.executed], enabled: false}]
- name: bare
`), allow)
	if err != nil {
		t.Fatal(err)
	}
	a := f.Apps[0]
	e, b := (*a.Endpoints)[0], (*a.Budgets)[0]
	if a.Mode != rewards.ModeLive || *a.Dividends != rewards.DividendsHouse || *a.Limits.RequestsPerSecond != 0 ||
		a.Limits.Concurrent != nil || b.Scope() != "999999.999999 dollars per user in total" || b.Name != "7" ||
		e.Types != rewards.EventRewardExecuted|rewards.EventRewardFailed || *e.Enabled {
		t.Errorf("%+v %+v %+v", a, b, e)
	}
	if bare := f.Apps[1]; bare.Budgets != nil || bare.Endpoints != nil || bare.Dividends != nil || bare.Mode != "" {
		t.Errorf("%+v", bare)
	}
}

// No file makes Read panic, and one that is refused names a reason.
func FuzzRead(f *testing.F) {
	f.Add([]byte("apps: [{name: a, budgets: [{name: b, per: app, period: day, limit: 1}], webhooks: [{url: https://a.example/}]}]"))
	f.Add([]byte("apps: &a [*a, !!x y, ? z, {<<: *a}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := config.Read(text, rewards.WebhookAddresses{})
		if issues, ok := errors.AsType[config.Issues](err); err != nil && (!ok || len(issues) == 0) {
			t.Errorf("%T %v", err, err)
		}
	})
}
