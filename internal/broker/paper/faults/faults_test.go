package faults_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper/faults"
	"stockrewards/test/world"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]faults.Fault{
		"lost-answer on=submit,list chance=0.01% skip=2 times=3 for=4h symbol=BRK.B": {
			Kind: "lost-answer", On: []string{"submit", "list"}, Chance: 100, Skip: 2, Times: 3,
			For: 4 * time.Hour, Symbol: "BRK.B",
		},
		"error status=503 carried=true": {Kind: "error", On: []string{"trading"}, Status: 503, Carried: true},
		"  partial-then-filled  share=25 by=1.5s ": {
			Kind: "partial-then-filled", Share: 25, By: 1500 * time.Millisecond,
		},
		"outage chance=100%": {Kind: "outage", On: []string{"all"}, Chance: 1_000_000},
	} {
		got, err := faults.Parse(line)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", line, err, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                              "must begin with one of absurd-price, absurd-quote",
		"lost":                          `fault "lost": must be one of absurd-price`,
		"error what=1":                  `"what=1": must be on, symbol, chance`,
		"error chance=5":                "must be a percentage",
		"error chance=0%":               "must be a percentage",
		"error chance=101%":             "must be a percentage",
		"error chance=0.00001%":         "must be a percentage",
		"error status=99":               "from 200 to 599",
		"error times=0":                 "from 1 to",
		"error for=x":                   "must be a duration",
		"error by=-1s":                  "must be a duration",
		"error on=orders":               `"orders" must be one of submit`,
		"error carried=maybe":           "invalid syntax",
		"reject on=submit":              "does not strike requests",
		"partial-then-filled share=0":   "from 1 to 99",
		"partial-then-filled share=100": "from 1 to 99",
	} {
		if _, err := faults.Parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", line, err, want)
		}
	}
}

// TestStringParses checks that the line of a fault parses to the same fault, and omits
// defaults.
func TestStringParses(t *testing.T) {
	t.Parallel()
	kinds := faults.Kinds()
	if len(kinds) != 43 || !slices.IsSorted(kinds) {
		t.Errorf("%d kinds: %v", len(kinds), kinds)
	}
	for _, kind := range kinds {
		for _, settings := range []string{"", " symbol=AAPL chance=12.5% skip=1 times=2 for=1h0m0s by=3s share=7 status=418 carried=true"} {
			line := kind + settings
			f, err := faults.Parse(line)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			again, err := faults.Parse(f.String())
			if diff := cmp.Diff(f, again); err != nil || diff != "" {
				t.Errorf("%q is printed as %q: %v\n%s", line, f, err, diff)
			}
			if settings == "" && f.String() != kind {
				t.Errorf("%q is printed as %q", line, f)
			}
		}
	}
}

// newSet returns a set with the faults of the lines, added at a time.
func newSet(t *testing.T, seed uint64, at time.Time, lines ...string) *faults.Set {
	t.Helper()
	s := faults.NewSet(seed)
	for _, line := range lines {
		f, err := faults.Parse(line)
		if err == nil {
			_, err = s.Add(at, f)
		}
		world.Check(t, err)
	}
	return s
}

// status returns the status of the error that strikes a request, 0 for none.
func status(s *faults.Set, op string, at time.Time) int {
	f, _ := s.StrikeRequest(op, func() string { return "" }, at)
	return f.Status
}

// TestStrike: the first fault that can strike does; skip, times and for limit it.
func TestStrike(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	s := newSet(t, 0, begin,
		"error on=clock skip=1 times=2 status=501",
		"error on=clock for=10s status=502",
		"error on=prices symbol=F status=599", // requests for prices have no symbol
	)
	var got []int
	for range 5 {
		got = append(got, status(s, "clock", begin))
	}
	got = append(got, status(s, "clock", begin.Add(10*time.Second)), status(s, "prices", begin))
	if diff := cmp.Diff([]int{502, 501, 501, 502, 502, 0, 0}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	var hits []int
	for _, r := range s.Rules() {
		hits = append(hits, r.Hits)
	}
	if diff := cmp.Diff([]int{2, 3, 0}, hits); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	if n := s.Remove(2); n != 1 || len(s.Rules()) != 2 {
		t.Errorf("removed %d, left %+v", n, s.Rules())
	}
	if n := s.Remove(0); n != 2 || !s.Empty() {
		t.Errorf("removed %d, left %+v", n, s.Rules())
	}
}

// TestChance: about a quarter of the requests is struck, the same ones with the same seed.
func TestChance(t *testing.T) {
	t.Parallel()
	now := time.Now()
	draw := func(seed uint64) (drawn string) {
		s := newSet(t, seed, now, "error on=clock chance=25% status=200")
		for range 2_000 {
			drawn += string("01"[status(s, "clock", now)/200])
		}
		return drawn
	}
	one := draw(1)
	if n := strings.Count(one, "1"); n < 430 || n > 570 {
		t.Errorf("%d of 2000 with a chance of 25%%", n)
	}
	if one != draw(1) || one == draw(2) {
		t.Error("the draws do not follow from the seed")
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	s, outage := faults.NewSet(0), faults.Fault{Kind: "outage"}
	if _, err := s.Add(time.Now(), slices.Repeat([]faults.Fault{outage}, 1000)...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(time.Now(), outage); err == nil {
		t.Error("added a thousand and one faults")
	}
	s.Remove(0)
	if _, err := s.Add(time.Now(), outage, faults.Fault{Kind: "x"}); err == nil || !s.Empty() {
		t.Errorf("added a fault of an unknown kind: %v, %+v", err, s.Rules())
	}
}
