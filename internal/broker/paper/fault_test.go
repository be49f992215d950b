package paper_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
)

func TestParseFault(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]paper.Fault{
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
		got, err := paper.ParseFault(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

func TestParseFaultRefuses(t *testing.T) {
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
		if _, err := paper.ParseFault(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", line, err, want)
		}
	}
}

// Each kind is told in the way that it is read.
func TestFaultsReadAsTheyAreTold(t *testing.T) {
	t.Parallel()
	if n := len(paper.Kinds()); n != 32 || !slices.IsSorted(paper.Kinds()) {
		t.Errorf("%d kinds: %v", n, paper.Kinds())
	}
	for _, kind := range paper.Kinds() {
		for _, settings := range []string{"", " symbol=AAPL chance=12.5% skip=1 times=2 for=1h0m0s by=3s share=7 status=418 carried=true"} {
			line := kind + settings
			f, err := paper.ParseFault(line)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			again, err := paper.ParseFault(f.String())
			if diff := cmp.Diff(f, again); err != nil || diff != "" {
				t.Errorf("%q is told as %q: %v\n%s", line, f, err, diff)
			}
			if settings == "" && f.String() != kind {
				t.Errorf("%q is told as %q", line, f)
			}
		}
	}
}

// hits is how often the faults struck, in the order in which they were added.
func hits(b *paper.Brokerage) (list []int) {
	for _, r := range b.Faults() {
		list = append(list, r.Hits)
	}
	return list
}

// afflict adds faults.
func afflict(t *testing.T, b *paper.Brokerage, lines ...string) {
	t.Helper()
	for _, line := range lines {
		f, err := paper.ParseFault(line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.AddFault(f); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhenFaultsStrike(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	afflict(t, d.b,
		"error on=clock skip=1 times=2 status=501",
		"error on=clock for=10s status=502",
		"error on=prices symbol=F status=599", // a price has no order's symbol
	)
	var got []int
	for range 5 {
		got = append(got, d.do(t, "GET", "/v2/clock", "").status)
	}
	d.advance(10 * time.Second)
	got = append(got, d.do(t, "GET", "/v2/clock", "").status, d.do(t, "GET", "/v2/stocks/snapshots?symbols=F", "").status)
	if diff := cmp.Diff([]int{502, 501, 501, 502, 502, 200, 200}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{2, 3, 0}, hits(d.b)); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	if n := d.b.RemoveFault(2); n != 1 || len(d.b.Faults()) != 2 {
		t.Errorf("removed %d, left %+v", n, d.b.Faults())
	}
	if n := d.b.RemoveFault(0); n != 2 || len(d.b.Faults()) != 0 {
		t.Errorf("removed %d, left %+v", n, d.b.Faults())
	}
	if got := d.do(t, "GET", "/v2/clock", ""); got.status != 200 {
		t.Errorf("without faults: %d", got.status)
	}
}

// A chance is about right, and the same seed draws the same.
func TestChance(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) (text string) {
		d := newDesk(t, paper.Options{FaultSeed: seed})
		afflict(t, d.b, "error on=clock chance=25%")
		for range 2_000 {
			text += string("01"[d.do(t, "GET", "/v2/clock", "").status/500])
		}
		return text
	}
	one := draw(1)
	if n := strings.Count(one, "1"); n < 430 || n > 570 {
		t.Errorf("%d of 2000 with a chance of 25%%", n)
	}
	if one != draw(1) || one == draw(2) {
		t.Error("the draws do not follow from the seed")
	}
}

func TestFaultsHaveALimit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	for range 1000 {
		afflict(t, d.b, "outage on=other")
	}
	if _, err := d.b.AddFault(paper.Fault{Kind: "outage"}); err == nil {
		t.Error("a thousand and one faults")
	}
	if _, err := d.b.AddFault(paper.Fault{Kind: "x"}); err == nil {
		t.Error("a fault of an unknown kind")
	}
}
