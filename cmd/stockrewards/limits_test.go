package main

import (
	"slices"
	"testing"
	"time"
)

// Two limits that contradict each other are refused when both are given. A default contradicts nothing.
func TestContradictingLimits(t *testing.T) {
	t.Parallel()
	ten := 10
	for name, c := range map[string]struct {
		err     error
		refused bool
	}{
		"connections":                  {connectionFlags{&ten, 10}.checkConnections(), false},
		"more of an address":           {connectionFlags{&ten, 11}.checkConnections(), true},
		"more of it than the default":  {connectionFlags{nil, 5000}.checkConnections(), false},
		"the house":                    {houseLimits("10", "10"), false},
		"more for an app":              {houseLimits("10", "20"), true},
		"more for it than the default": {houseLimits("", "20000"), false},
	} {
		if (c.err != nil) != c.refused {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}

// houseLimits checks the house's limits of a service over Alpaca.
func houseLimits(all, app string) error {
	f := fulfillmentFlags{HouseDailyLimit: all, HouseAppLimit: app, MaxOrderNotional: "1000000"}
	_, err := f.config("alpaca")
	return err
}

// A duration has at most 36500 days.
func TestLongestDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"36500d": "", "36499d24h": "", "876000h": "", "-1h": "",
		"36501d":                   `"36501d": must be at most 36500d`,
		"36500d1ns":                `"36500d1ns": must be at most 36500d`,
		"99999999999999999999999d": `"99999999999999999999999d": must be at most 36500d`,
		"876001h":                  `"876001h": must be at most 36500d`,
		"1d-1h":                    `"1d-1h": must be a duration with units, such as 30s, 12h, 90d or 1d12h`,
		"d":                        `"d": must be a duration with units, such as 30s, 12h, 90d or 1d12h`,
		"-1d":                      `"-1d": must be a duration with units, such as 30s, 12h, 90d or 1d12h`,
		"":                         `"": must be a duration with units, such as 30s, 12h, 90d or 1d12h`,
	} {
		if _, err := parseDuration(text); errorText(err) != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The pauses of webhooks are durations like all others.
func TestPauses(t *testing.T) {
	t.Parallel()
	got, err := pauses("--webhook-retries", []string{"5s", " 1d", "7d"})
	if want := []time.Duration{5 * time.Second, 24 * time.Hour, 7 * 24 * time.Hour}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, refused := range []string{"0s", "169h", "5", ""} {
		if list, err := pauses("--webhook-retries", []string{refused}); err == nil {
			t.Errorf("%q is %v", refused, list)
		}
	}
}
