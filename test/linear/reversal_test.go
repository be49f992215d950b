package linear

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The award of a history about reversals. Its shares cannot be divided by its dollars.
const (
	backKeys     = 8
	awardDollars = 7
	awardShares  = 35_000_003 // billionths
)

// takeBack is a request for a reversal; of 0 dollars it is for all that is left. readBack is
// GET /v1/reversals/{reversalId}, and readAward GET /v1/rewards/{rewardId}. order and fill are the
// worker's: they make the award executing, and executed.
type (
	takeBack  struct{ key, dollars int }
	readBack  struct{ key int }
	readAward struct{}
	order     struct{}
	fill      struct{}
)

// part is a reversal as an answer shows it.
type part struct {
	id                string
	dollars, quantity int
	completed         bool
}

// outcome is an answer: of a 422 what is left, of a 409 whether that is because the award has failed.
// Of order it says whether the award was ordered.
type outcome struct {
	part

	status int
	left   int
	failed bool
	award  string
}

// back is the reversal under a key, without an id if there is no reversal.
type back struct {
	part

	asked int
}

// pledge is the state of an award.
type pledge struct {
	status   string // "" is recorded
	reversed int
	backs    [backKeys]back
}

// complete completes a reversal. earlier is the sum of those before it, in dollars.
func (p *pledge) complete(b *back, earlier int) {
	b.completed = true
	if p.status == "executed" {
		b.quantity = awardShares*(earlier+b.dollars)/awardDollars - awardShares*earlier/awardDollars
	}
}

// completeAll completes the reversals that wait, in the order of their ids. Processes make ids by
// clocks of their own, so that this is not always the order of the requests.
func (p *pledge) completeAll() {
	var waiting []*back
	for i := range p.backs {
		if p.backs[i].id != "" {
			waiting = append(waiting, &p.backs[i])
		}
	}
	slices.SortFunc(waiting, func(a, b *back) int { return strings.Compare(a.id, b.id) })
	earlier := 0
	for _, b := range waiting {
		p.complete(b, earlier)
		earlier += b.dollars
	}
}

// takeBack is the model of a request for a reversal.
func (p pledge) takeBack(in takeBack, o outcome) (bool, pledge) {
	b, left := &p.backs[in.key], awardDollars-p.reversed
	switch {
	case b.id != "" && b.asked == in.dollars:
		return o.status == http.StatusOK && o.part == b.part, p
	case b.id != "":
		return o.status == http.StatusConflict && !o.failed, p
	case p.status == "failed":
		return o.status == http.StatusConflict && o.failed, p
	case left == 0 || in.dollars > left:
		return o.status == http.StatusUnprocessableEntity && o.left == left, p
	}
	*b = back{part: part{id: o.id, dollars: in.dollars}, asked: in.dollars}
	if in.dollars == 0 {
		b.dollars = left
	}
	earlier := p.reversed
	p.reversed += b.dollars
	switch {
	case p.status == "executed":
		p.complete(b, earlier)
	case p.status == "" && p.reversed == awardDollars:
		p.status = "failed"
		p.completeAll()
	}
	return o.status == http.StatusCreated && o.id != "" && o.part == b.part, p
}

// step applies a request, or a step of the worker.
func (p pledge) step(input, output any) (bool, pledge) {
	o, _ := output.(outcome)
	switch in := input.(type) {
	case takeBack:
		return p.takeBack(in, o)
	case readBack:
		return o.part == p.backs[in.key].part, p
	case readAward:
		return o.award == p.status || o.award == "recorded" && p.status == "", p
	case order:
		if p.status == "" {
			p.status = "executing"
			return o.award == "executing", p
		}
		return o.award == "", p
	case fill:
		p.status = "executed"
		p.completeAll()
		return true, p
	}
	return false, p
}

// pledges is the model of one award.
func pledges() porcupine.Model {
	return modelOf(func(any) string { return "" }, pledge.step)
}

// The checker itself: histories with one bug each.
func TestCheckerOfReversals(t *testing.T) {
	t.Parallel()
	took := func(status, dollars, quantity int, completed bool) outcome { // the id says how many dollars
		return outcome{status: status, part: part{fmt.Sprint(dollars), dollars, quantity, completed}}
	}
	ordered := at(1, 2, order{}, outcome{award: "executing"})
	bought := []porcupine.Operation{ordered, at(3, 4, fill{}, outcome{})}
	canceled := at(1, 2, takeBack{1, 0}, took(201, 7, 0, true))
	for name, c := range map[string]struct {
		want    porcupine.CheckResult
		history []porcupine.Operation
	}{
		"more than is left": {porcupine.Illegal, []porcupine.Operation{
			at(1, 3, takeBack{1, 4}, took(201, 4, 0, false)), at(2, 4, takeBack{2, 4}, took(201, 4, 0, false)),
		}},
		"the same twice": {porcupine.Illegal, []porcupine.Operation{
			at(1, 3, takeBack{1, 4}, took(201, 4, 0, false)), at(2, 4, takeBack{1, 4}, took(201, 4, 0, false)),
		}},
		"another rest": {porcupine.Illegal, []porcupine.Operation{
			at(1, 2, takeBack{1, 4}, took(201, 4, 0, false)), at(3, 4, takeBack{2, 4}, outcome{status: 422, left: 4}),
		}},
		"ordered after its cancel": {porcupine.Illegal, []porcupine.Operation{canceled, at(3, 4, order{}, outcome{award: "executing"})}},
		"canceled in an order":     {porcupine.Illegal, []porcupine.Operation{ordered, at(3, 4, takeBack{1, 0}, took(201, 7, 0, true))}},
		"canceled and recorded":    {porcupine.Illegal, []porcupine.Operation{canceled, at(3, 4, readAward{}, outcome{award: "recorded"})}},
		"pending for ever": {porcupine.Illegal, append([]porcupine.Operation{
			at(2, 3, takeBack{1, 2}, took(201, 2, 0, false)), at(5, 6, readBack{1}, took(200, 2, 0, false)),
		}, bought...)},
		"a billionth too much": {porcupine.Illegal, append([]porcupine.Operation{
			at(5, 6, takeBack{1, 2}, took(201, 2, 10_000_001, true)),
		}, bought...)},
		"at once": {porcupine.Ok, append([]porcupine.Operation{
			at(1, 3, takeBack{1, 2}, took(201, 2, 0, false)), at(1, 9, takeBack{1, 2}, took(200, 2, 10_000_000, true)),
			at(1, 9, takeBack{2, 0}, took(201, 5, 25_000_003, true)), at(1, 9, takeBack{2, 1}, outcome{status: 409}),
			at(5, 9, takeBack{3, 1}, outcome{status: 422}),
		}, bought...)},
		"canceled at once": {porcupine.Ok, []porcupine.Operation{
			at(1, 9, takeBack{1, 0}, took(201, 6, 0, true)), at(1, 9, takeBack{2, 1}, took(201, 1, 0, false)),
			at(1, 9, order{}, outcome{}), at(10, 11, takeBack{3, 0}, outcome{status: 409, failed: true}),
		}},
	} {
		if got := porcupine.CheckOperationsTimeout(pledges(), c.history, patience); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
