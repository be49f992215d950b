package linear

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

// at is a request from one moment to another; "never" means without an answer.
func at(call, answered int64, input, output any) porcupine.Operation {
	return porcupine.Operation{Call: call, Return: answered, Input: input, Output: output}
}

const never = math.MaxInt64

// The checker itself: histories with one bug each, and unusual but valid ones.
func TestCheckerOfAwards(t *testing.T) {
	t.Parallel()
	ask := func(payload int) give { return give{"k", payload} }
	all := list{"k"}
	none := answer{status: 404}
	for name, c := range map[string]struct {
		want    porcupine.CheckResult
		history []porcupine.Operation
	}{
		"created twice":             {porcupine.Illegal, []porcupine.Operation{at(1, 3, ask(one), answer{201, "a", one}), at(2, 4, ask(one), answer{201, "b", one})}},
		"replayed as another":       {porcupine.Illegal, []porcupine.Operation{at(1, 2, ask(one), answer{201, "a", one}), at(3, 4, ask(one), answer{200, "b", one})}},
		"replayed before":           {porcupine.Illegal, []porcupine.Operation{at(1, 2, ask(one), answer{200, "a", one}), at(3, 4, ask(one), answer{201, "a", one})}},
		"another payload replayed":  {porcupine.Illegal, []porcupine.Operation{at(1, 2, ask(one), answer{201, "a", one}), at(3, 4, ask(two), answer{200, "a", one})}},
		"a conflict with nothing":   {porcupine.Illegal, []porcupine.Operation{at(1, 2, ask(one), answer{status: 409})}},
		"a refusal takes the key":   {porcupine.Illegal, []porcupine.Operation{at(1, 2, ask(noUser), answer{status: 404}), at(3, 4, ask(one), answer{status: 409})}},
		"refused for a used key":    {porcupine.Illegal, []porcupine.Operation{at(1, 2, ask(one), answer{201, "a", one}), at(3, 4, ask(noSymbol), answer{status: 422})}},
		"acknowledged and not read": {porcupine.Illegal, []porcupine.Operation{at(1, 2, ask(one), answer{201, "a", one}), at(3, 4, look{"k", "a"}, none)}},
		"acknowledged and unlisted": {porcupine.Illegal, []porcupine.Operation{at(1, 2, ask(one), answer{201, "a", one}), at(3, 4, all, none)}},
		"seen, then gone": {porcupine.Illegal, []porcupine.Operation{
			at(1, never, ask(one), answer{}), at(2, 3, all, answer{200, "a", one}), at(4, 5, all, none),
		}},
		"two of unknown outcome, both": {porcupine.Illegal, []porcupine.Operation{
			at(1, never, ask(one), answer{}), at(1, never, ask(two), answer{}), at(2, 3, all, answer{200, "a", one}), at(4, 5, all, answer{200, "b", two}),
		}},
		"unknown outcome, late effect": {porcupine.Ok, []porcupine.Operation{
			at(1, never, ask(one), answer{}), at(2, 3, all, none), at(4, 5, ask(noUser), answer{status: 404}), at(6, 7, ask(two), answer{status: 409}),
			at(8, 9, ask(one), answer{200, "a", one}),
		}},
		"unknown outcome, no effect": {porcupine.Ok, []porcupine.Operation{
			at(1, never, ask(one), answer{}), at(2, 3, ask(two), answer{201, "a", two}), at(4, 5, ask(one), answer{status: 409}),
		}},
		"at once": {porcupine.Ok, []porcupine.Operation{
			at(1, 9, ask(one), answer{200, "a", one}), at(1, 9, ask(two), answer{status: 409}), at(1, 9, ask(one), answer{201, "a", one}), at(1, 9, all, none),
		}},
	} {
		if got := porcupine.CheckOperationsTimeout(awards(), c.history, patience); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The same for users.
func TestCheckerOfUsers(t *testing.T) {
	t.Parallel()
	ada, bob := identity{1, 1}, identity{2, 2}
	mixed := identity{1, 2}
	who := func(id string, i identity) shown {
		return shown{status: 201, people: family{}.with(person{id, i})}
	}
	taken := func(field, id string) shown {
		return shown{status: 409, field: field, people: family{{}, {}, {}, {id: id}}}
	}
	ok := func(s shown) shown { s.status = 200; return s }
	for name, c := range map[string]struct {
		want    porcupine.CheckResult
		history []porcupine.Operation
	}{
		"an email twice":          {porcupine.Illegal, []porcupine.Operation{at(1, 3, create{"f", ada}, who("a", ada)), at(2, 4, create{"f", mixed}, who("b", mixed))}},
		"an external id twice":    {porcupine.Illegal, []porcupine.Operation{at(1, 3, create{"f", bob}, who("a", bob)), at(2, 4, create{"f", mixed}, who("b", mixed))}},
		"a conflict with nobody":  {porcupine.Illegal, []porcupine.Operation{at(1, 2, create{"f", ada}, taken("email", "a"))}},
		"a conflict with another": {porcupine.Illegal, []porcupine.Operation{at(1, 2, create{"f", ada}, who("a", ada)), at(3, 4, create{"f", ada}, taken("email", "b"))}},
		"the external id first": {porcupine.Illegal, []porcupine.Operation{
			at(1, 2, create{"f", ada}, who("a", ada)), at(3, 4, create{"f", bob}, who("b", bob)), at(5, 6, create{"f", mixed}, taken("externalId", "b")),
		}},
		"created and not found":  {porcupine.Illegal, []porcupine.Operation{at(1, 2, create{"f", ada}, who("a", ada)), at(3, 4, find{"f", identity{1, 0}}, shown{status: 200})}},
		"created and not read":   {porcupine.Illegal, []porcupine.Operation{at(1, 2, create{"f", ada}, who("a", ada)), at(3, 4, read{"f", "a"}, shown{status: 404})}},
		"created and not listed": {porcupine.Illegal, []porcupine.Operation{at(1, 2, create{"f", ada}, who("a", ada)), at(3, 4, find{"f", identity{}}, shown{status: 200})}},
		"found, then gone": {porcupine.Illegal, []porcupine.Operation{
			at(1, never, create{"f", ada}, shown{}), at(2, 3, find{"f", identity{1, 0}}, ok(who("a", ada))), at(4, 5, find{"f", identity{0, 1}}, shown{status: 200}),
		}},
		"unknown outcome, conflicting": {porcupine.Ok, []porcupine.Operation{
			at(1, never, create{"f", ada}, shown{}), at(2, 3, create{"f", mixed}, taken("email", "a")), at(4, 5, find{"f", ada}, ok(who("a", ada))),
		}},
		"unknown outcome, no effect": {porcupine.Ok, []porcupine.Operation{
			at(1, never, create{"f", ada}, shown{}), at(2, 3, create{"f", mixed}, who("a", mixed)), at(4, 5, find{"f", identity{}}, ok(who("a", mixed))),
		}},
		"neighbours": {porcupine.Ok, []porcupine.Operation{
			at(1, 2, create{"f", ada}, who("a", ada)), at(1, 2, create{"f", bob}, who("b", bob)), at(3, 4, create{"f", mixed}, taken("email", "a")),
			at(3, 4, find{"f", mixed}, shown{status: 200}), at(3, 4, read{"f", "b"}, ok(who("b", bob))),
		}},
	} {
		if got := porcupine.CheckOperationsTimeout(users(), c.history, patience); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
