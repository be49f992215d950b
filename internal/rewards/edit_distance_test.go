package rewards_test

import (
	"testing"

	"stockrewards/internal/rewards"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		word       string
		candidates []string
		want       string
	}{
		{"APPL", []string{"AAPL", "AMZN", "KO"}, "AAPL"},
		{"LISTN", []string{"DATABASE", "ADMIN_LISTEN", "LISTEN"}, "LISTEN"},
		{"X", []string{"KO", "V", "T"}, "V"},
		{"ÄÖ", []string{"AÖ", "KO"}, "AÖ"},
		{"", []string{"KO"}, "KO"},
		{"KO", nil, ""},
	} {
		if got := rewards.Nearest(test.word, test.candidates); got != test.want {
			t.Errorf("nearest to %q of %v: got %q, want %q", test.word, test.candidates, got, test.want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"ab", "ba", 2}, {"äb", "ab", 1}} {
		if got := rewards.Distance(test.a, test.b); got != test.want {
			t.Errorf("from %q to %q: got %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
