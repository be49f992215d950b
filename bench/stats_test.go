package main

import (
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []int
		want   spread[int]
	}{
		{nil, spread[int]{}},
		{[]int{7}, spread[int]{7, 7, 7}},
		{[]int{3, 1, 2}, spread[int]{2, 1, 3}},
		{[]int{4, 1, 3, 2}, spread[int]{2, 1, 4}},
	} {
		if diff := cmp.Diff(test.want, spreadOf(test.values)); diff != "" {
			t.Errorf("%v: %s", test.values, diff)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for share, want := range map[float64]int{0: 1, 0.5: 50, 0.99: 99, 0.991: 100, 1: 100} {
		if got := percentile(hundred, share); got != want {
			t.Errorf("%f: got %d, want %d", share, got, want)
		}
	}
}

func TestSlope(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{5}, 0},
		{[]float64{5, 5, 5}, 0},
		{[]float64{1, 3, 5, 7}, 2},
		{[]float64{0, 10, 0, 10}, 2},
		{[]float64{9, 6, 3}, -3},
	} {
		if got := slope(test.values); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%v: got %f, want %f", test.values, got, test.want)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 76_570 * time.Nanosecond: "77µs", 2_118_400 * time.Nanosecond: "2.12ms",
		105_400 * time.Microsecond: "105ms", 1_234_567 * time.Microsecond: "1.23s", 100_400 * time.Millisecond: "1m40s",
	} {
		if got := short(d); got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
}

func TestChosen(t *testing.T) {
	t.Parallel()
	if got := len(chosen(regexp.MustCompile("."))); got != len(cases()) {
		t.Errorf("chose %d cases by default", got)
	}
	if got := chosen(regexp.MustCompile("^portfolio")); len(got) != 1 || got[0].file != filePortfolio {
		t.Errorf("%v", got)
	}
	names := map[string]bool{}
	for _, c := range cases() {
		if names[c.name] {
			t.Errorf("two cases have the name %s", c.name)
		}
		names[c.name] = true
	}
}

// TestAccount: every acknowledged reward must be recorded once and executed.
func TestAccount(t *testing.T) {
	t.Parallel()
	answers := func(created, unknown int) offered {
		return offered{Statuses: map[string]int{"201": created, "error": unknown, "503": 7}}
	}
	for name, test := range map[string]struct {
		report           endToEndReport
		recorded, failed int
		good             bool
	}{
		"all":             {endToEndReport{offered: answers(10, 0), executed: 10}, 10, 0, true},
		"unknown, made":   {endToEndReport{offered: answers(10, 2), executed: 12}, 12, 0, true},
		"one is lost":     {endToEndReport{offered: answers(10, 0), executed: 9}, 9, 0, false},
		"one too many":    {endToEndReport{offered: answers(10, 1), executed: 12}, 12, 0, false},
		"one not bought":  {endToEndReport{offered: answers(10, 0), executed: 9}, 10, 0, false},
		"one bought more": {endToEndReport{offered: answers(10, 0), executed: 11}, 10, 0, false},
		"one failed":      {endToEndReport{offered: answers(10, 0), executed: 10}, 10, 1, false},
	} {
		if err := test.report.account(test.recorded, test.failed); (err == nil) != test.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBacklogGrows(t *testing.T) {
	t.Parallel()
	r := endToEndReport{backlog: []int{0, 100, 200, 210, 220, 230, 240, 250, 260}}
	if got := r.grows(); math.Abs(got-10) > 1e-9 {
		t.Errorf("grows by %f, want 10 after the first third", got)
	}
	if r.at(1./3) != 200 || r.at(2./3) != 230 || r.at(1) != 260 {
		t.Errorf("%d %d %d", r.at(1./3), r.at(2./3), r.at(1))
	}
}

func TestOverloadCheck(t *testing.T) {
	t.Parallel()
	if err := (overloadReport{many: outcome{Socket: 3, Counted: counted{Created: 9, Unavailable: 9}}}).check(); err != nil {
		t.Error(err)
	}
	for name, r := range map[string]overloadReport{
		"another status":    {many: outcome{Counted: counted{Other: 1}}},
		"no advice":         {many: outcome{Counted: counted{Unadvised: 1}}},
		"a time-out":        {many: outcome{Timeouts: 1}},
		"refused before":    {before: outcome{Refused: 1}},
		"cut off before":    {before: outcome{Socket: 1}},
		"timed out before":  {before: outcome{Timeouts: 1}},
		"refused afterward": {after: []outcome{{}, {Refused: 1}}},
	} {
		if r.check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
