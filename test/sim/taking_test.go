package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// taking is a reversal that a client asks for until it is answered.
type taking struct {
	g      *given
	key    string
	asked  money.USD // 0: all that is left
	id     string
	amount money.USD
	void   bool // refused
}

// takeBack takes an award back, or a part of it.
func (p *post) takeBack() {
	if len(p.given) == 0 {
		return
	}
	g := p.given[p.random.IntN(len(p.given))]
	if !g.acknowledged {
		return
	}
	t := &taking{g: g, key: fmt.Sprintf("taking-%06d", len(p.takings))}
	if p.random.IntN(2) == 0 {
		t.asked = money.USD(1 + p.random.Int64N(int64(g.amount)))
	}
	p.executed[g.user] -= g.amount // the least that the portfolio may cost
	p.takings = append(p.takings, t)
	p.sendTaking(t)
}

// sendTaking sends a reversal, for the first time or again.
func (p *post) sendTaking(t *taking) {
	body := fmt.Sprintf(`{"idempotencyKey":%q,"reason":"of a test"}`, t.key)
	if t.asked != 0 {
		body = fmt.Sprintf(`{"idempotencyKey":%q,"amountUsd":%s,"reason":"of a test"}`, t.key, t.asked)
	}
	c := &call{app: t.g.app, method: http.MethodPost, path: "/v1/rewards/" + t.g.id + "/reversals", body: body}
	p.ask(p.randomProcess(), c)
	p.note("client: %s takes %s of %s: %d", t.key, t.asked, t.g.key, c.status)
	left := t.g.amount - p.reversed[t.g]
	switch {
	case p.excused(c):
		return
	case c.status == http.StatusCreated || c.status == http.StatusOK:
		p.taken(t, c)
	case c.status == http.StatusConflict && t.id == "":
		t.void = true // the award has failed
	case c.status == http.StatusUnprocessableEntity && t.id == "" && (left == 0 || t.asked > left || p.unsureOf(t)):
		t.void = true
	default:
		p.violate("a valid reversal is recorded", t.g.key, "%s: %d %s, left are %s", t.key, c.status, c.text, left)
	}
}

// unsureOf reports whether another reversal of the award may be recorded.
func (p *post) unsureOf(t *taking) bool {
	return slices.ContainsFunc(p.takings, func(o *taking) bool { return o != t && o.g == t.g && o.id == "" && !o.void })
}

// taken checks an answer with a reversal.
func (p *post) taken(t *taking, c *call) {
	var got struct {
		Reversal struct {
			ID, RewardID, Status string
			AmountUSD, Quantity  json.Number
		}
	}
	p.check(json.Unmarshal(c.text, &got))
	amount, err := money.ParseUSD(got.Reversal.AmountUSD.String())
	p.check(err)
	r := got.Reversal
	if t.id == "" {
		t.id, t.amount = r.ID, amount
		p.reversed[t.g] += amount
	}
	if r.ID != t.id || r.RewardID != t.g.id || amount != t.amount || t.asked != 0 && amount != t.asked ||
		p.reversed[t.g] > t.g.amount {
		p.violate("a key gives one reversal, of no more than is left", t.g.key, "%s: %s, taken are %s", t.key, c.text, p.reversed[t.g])
	}
}

// askTakings retries the reversals without an answer, and sometimes one with an answer.
func (p *post) askTakings() (unsure int) {
	for _, t := range p.takings {
		if t.void || t.id != "" && p.random.IntN(40) != 0 {
			continue
		}
		p.sendTaking(t)
		if t.id == "" && !t.void {
			unsure++
		}
	}
	return unsure
}

// setBudgets limits two apps.
func (p *post) setBudgets() {
	for app, b := range []rewards.Budget{
		{Name: "daily", Per: rewards.PerApp, Period: rewards.PeriodDay, Limit: 3_000 * money.Dollar},
		{Name: "each", Per: rewards.PerUser, Period: rewards.PeriodTotal, Limit: 5_000 * money.Dollar},
	} {
		b, err := p.store.SetBudget(p.t.Context(), p.apps[app].Name, b)
		p.check(err)
		p.budgets = append(p.budgets, b)
	}
}

// overBudget reports whether an award was refused for a budget. Its amount must be more than what is left.
func (p *post) overBudget(g *given, text []byte) bool {
	var got struct {
		Error struct {
			Details struct {
				Budget  string
				LeftUSD json.Number
			}
		}
	}
	if p == nil || json.Unmarshal(text, &got) != nil || got.Error.Details.Budget == "" {
		return false
	}
	left, err := money.ParseUSD(got.Error.Details.LeftUSD.String())
	p.check(err)
	if g.amount <= left {
		p.violate("a budget refuses only what exceeds it", g.key, "%s of %s: %s", g.amount, g.symbol, text)
	}
	return true
}

// verifyBudgets checks that what did not fail is within the budgets.
func (p *post) verifyBudgets() {
	sums := map[string]money.USD{}
	for _, g := range p.given {
		if !g.acknowledged || g.app >= len(p.budgets) {
			continue
		}
		id, err := rewards.ParseID[rewards.Reward](g.id)
		p.check(err)
		r, err := p.store.Reward(p.t.Context(), p.apps[g.app].ID, id)
		p.check(err)
		b := p.budgets[g.app]
		who := g.user
		if b.Per == rewards.PerApp {
			who = b.Name
		}
		if r.Status == rewards.Failed {
			continue
		}
		period := who + b.Period.Start(r.CreatedAt()).String()
		if sums[period] += g.amount; sums[period] > b.Limit {
			p.violate("no budget is exceeded", g.key, "%s of %s in %s", sums[period], b.Limit, period)
		}
	}
}
