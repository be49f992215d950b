package test

import (
	"strings"
	"testing"
)

// Variables that are left over from somewhere decide nothing: they set where the books and
// the broker are, and how `serve` behaves, but no flag of a command that does one thing.
func TestVariablesDecideNothing(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	s.env = append(s.env, "STOCKREWARDS_NOT_BOUGHT=true", "STOCKREWARDS_FILLED=1", "STOCKREWARDS_PRICE=1",
		"STOCKREWARDS_REASON=left over", "STOCKREWARDS_STATE=nonsense", "STOCKREWARDS_LIMIT=0", "STOCKREWARDS_EXPIRES=-1h")
	const order = "01a1fe02-1262-7000-bbaf-62ded01743e8"
	for _, test := range []struct{ command, want string }{
		{"order resolve " + order, "missing flags"},
		{"order resolve " + order + " --reason=x", "--filled"},
		{"order acknowledge sr-1", "missing flags"},
	} {
		if out, err := s.try(strings.Fields(test.command)...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s %v, want %q", test.command, out, err, test.want)
		}
	}
	s.command("order", "list")
	s.command("key", "create", "tester")
	s.command("fulfillment", "pause")
	if out := s.command("fulfillment", "status"); strings.Contains(out, "left over") {
		t.Errorf("status: %s", out)
	}
}
