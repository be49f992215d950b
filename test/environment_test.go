package test

import (
	"slices"
	"strings"
	"testing"
)

// Variables configure services and locate the database and the broker; no variable sets a
// flag that decides something. An unknown one is refused, with the nearest known name.
func TestVariablesDecideNothing(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	own := s.env
	const order = "01a1fe02-1262-7000-bbaf-62ded01743e8"
	for variable, command := range map[string]string{
		"STOCKREWARDS_NOT_BOUGHT=true": "order resolve " + order + " --reason=x",
		"STOCKREWARDS_FILLED=1":        "order resolve " + order + " --reason=x",
		"STOCKREWARDS_PRICE=1":         "order resolve " + order + " --reason=x",
		"STOCKREWARDS_REASON=x":        "order acknowledge sr-1",
		"STOCKREWARDS_STATE=open":      "order list",
		"STOCKREWARDS_LIMIT=1":         "order list",
		"STOCKREWARDS_EXPIRES=1h":      "key create tester",
	} {
		s.env = append(slices.Clone(own), variable)
		name, _, _ := strings.Cut(variable, "=")
		fails(t, "exit status 2", "unknown environment variable "+name+": ")(s.try(strings.Fields(command)...))
	}
	s.env = own
	s.command("order", "list")
}

// A mistyped variable is refused, rather than meaning no limit. So is a value of which the parser would change bytes.
func TestMistypedVariablesAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	own := s.env
	for variable, nearest := range map[string]string{
		"STOCKREWARDS_DAILY_NOTIONAL_LIMT=5": "STOCKREWARDS_DAILY_NOTIONAL_LIMIT",
		"STOCKREWARDS_BROKR=paper":           "STOCKREWARDS_BROKER",
		"STOCKREWARDS_PAPER_KEY=x":           "STOCKREWARDS_PAPER_KEY_ID",
		"STOCKREWARDS_=":                     "",
	} {
		s.env = append(slices.Clone(own), variable)
		s.wantError("the nearest known one is "+nearest, "app", "list")
	}
	s.env = append(slices.Clone(own), "STOCKREWARDS_BROKER=pap\xffer")
	fails(t, "exit status 2", "the environment variable STOCKREWARDS_BROKER is not UTF-8")(s.try("app", "list"))
	s.env = append(slices.Clone(own), "STOCKREWARDS_POOLING_WINDOW=1s", "STOCKREWARDS_PAPER_KEY_ID=x", "STOCKREWARDSX=y",
		"STOCKREWARDS_PORT=tcp://10.0.0.1:80", "STOCKREWARDS_SERVICE_HOST=10.0.0.1", "STOCKREWARDS_ADMIN_SERVICE_PORT_HTTP=80",
		"STOCKREWARDS_PORT_80_TCP_ADDR=10.0.0.1") // the last four as Kubernetes does for its Services
	s.command("app", "list")
}
