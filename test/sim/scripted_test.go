package sim

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

type story struct {
	fault string
	most  time.Duration // until the outcome
	// The reward of AAPL is "executed" or "failed"; or its order is "quarantined" or its price
	// "doubted", and the reward executed when the operator has decided.
	ends   string
	orders int // at the brokerage for AAPL; 0: one
}

func scripted() map[string]story {
	return map[string]story{
		"lost-request":    {fault: "lost-request times=4", ends: "executed"},
		"lost-answer":     {fault: "lost-answer times=4", ends: "executed"},
		"late-request":    {fault: "late-request by=20s on=submit times=2", ends: "executed"},
		"late-answer":     {fault: "late-answer by=20s on=submit,lookup,list times=4", ends: "executed"},
		"cut-answer":      {fault: "cut-answer times=4", ends: "executed"},
		"error":           {fault: "error chance=50% times=10", ends: "executed"},
		"error carried":   {fault: "error status=504 carried=true on=submit times=1", ends: "executed"},
		"error 403 later": {fault: "error status=403 on=submit skip=0 times=3", ends: "executed"},
		"rate-limit":      {fault: "rate-limit carried=true on=submit times=1", ends: "executed"},
		"empty-body":      {fault: "empty-body times=4", ends: "executed"},
		"html-body":       {fault: "html-body times=4", ends: "executed"},
		"html-body 200":   {fault: "html-body status=200 carried=true on=submit times=1", ends: "executed"},
		"duplicate":       {fault: "duplicate times=1", ends: "executed"},
		"no-buying-power": {fault: "no-buying-power times=5", ends: "executed"},
		"outage":          {fault: "outage for=4h", most: 5 * time.Hour, ends: "executed"},
		"outage 503":      {fault: "error on=all status=503 for=4h", most: 5 * time.Hour, ends: "executed"},

		"late-visibility":       {fault: "late-visibility by=2m", ends: "executed"},
		"late-visibility hours": {fault: "late-visibility by=3h", most: 4 * time.Hour, ends: "executed"},

		"reject":                {fault: "reject", ends: "failed"},
		"reject-later":          {fault: "reject-later by=20s", ends: "failed"},
		"cancel":                {fault: "cancel times=1", ends: "executed", orders: 2},
		"expire":                {fault: "expire times=1 by=1m", ends: "executed", orders: 2},
		"expire at the close":   {fault: "expire times=1", most: 30 * time.Hour, ends: "executed", orders: 2},
		"partial-then-filled":   {fault: "partial-then-filled by=1m share=30", ends: "executed"},
		"partial-then-canceled": {fault: "partial-then-canceled times=1 share=30", ends: "executed", orders: 2},
		"partial-then-expired":  {fault: "partial-then-expired times=1", most: 30 * time.Hour, ends: "executed", orders: 2},
		"fill-after-cancel":     {fault: "fill-after-cancel by=20s", ends: "executed"},
		"shrinking-fill":        {fault: "shrinking-fill times=1", ends: "quarantined", orders: 2},
		"wrong-symbol":          {fault: "wrong-symbol times=1", ends: "quarantined", orders: 2},
		"wrong-side":            {fault: "wrong-side times=1", ends: "quarantined", orders: 2},
		"wrong-notional":        {fault: "wrong-notional times=1", ends: "quarantined", orders: 2},
		"unknown-status":        {fault: "unknown-status times=1", ends: "quarantined", orders: 2},
		"zero-price":            {fault: "zero-price times=1", ends: "quarantined", orders: 2},
		"absurd-price":          {fault: "absurd-price times=1", ends: "quarantined", orders: 2},

		"zero-quote":    {fault: "zero-quote", ends: "executed"},
		"missing-quote": {fault: "missing-quote", ends: "executed"},
		"stale-quote":   {fault: "stale-quote", ends: "executed"},
		"absurd-quote":  {fault: "absurd-quote times=1", ends: "doubted"},
	}
}

// Every kind of fault has a story.
func TestEveryFaultHasAStory(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range scripted() {
		kind, _, _ := strings.Cut(s.fault, " ")
		seen[kind] = true
	}
	for kind := range scriptedActions() {
		seen[kind] = true
	}
	for _, kind := range faults.Kinds() {
		if !seen[kind] {
			t.Errorf("%s has no story", kind)
		}
	}
}

// Each fault alone leads to its outcome, and our books equal the brokerage's.
func TestEveryScriptedFault(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(scripted())) {
		s := scripted()[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { s.run(t) })
		})
	}
}

func (s story) run(t *testing.T) {
	t.Helper()
	w := openWorld(t, 1)
	w.afflict(s.fault + " symbol=AAPL")
	struck := w.give(0, w.users[0][0], "AAPL", 25*money.Dollar)
	other := w.give(1, w.users[1][0], "KO", 30*money.Dollar)
	most := max(s.most, 5*time.Minute)
	step := time.Second
	if most > time.Hour {
		step = 20 * time.Second
	}
	w.pass(most, step)
	got := w.look(struck).Status
	switch s.ends {
	case "quarantined":
		w.decide(struck)
	case "doubted":
		w.confirm(struck)
	case got:
	default:
		t.Errorf("the reward is %s, want %s", got, s.ends)
	}
	if got := w.look(other).Status; got != "executed" {
		t.Errorf("the reward of another stock is %s", got)
	}
	if n := w.ordersAtBroker("AAPL"); n != max(s.orders, 1) {
		t.Errorf("%d orders for AAPL, want %d", n, max(s.orders, 1))
	}
	if hits := w.brokerage.Faults()[0].Hits; hits == 0 {
		t.Error("the fault did not strike")
	}
	w.verify()
}

// afflict adds a fault to the brokerage, without the symbol if the fault strikes requests that
// have none.
func (w *world) afflict(line string) {
	f, err := paper.ParseFault(line)
	w.check(err)
	if len(f.On) > 0 && !slices.Equal(f.On, []string{"submit"}) {
		f.Symbol = ""
	}
	_, err = w.brokerage.AddFault(f)
	w.check(err)
	w.note("fault: %s", f)
}

// decide checks that a quarantined order stops its asset, and that the reward is executed
// after the operator's decision.
func (w *world) decide(g *given) {
	if got := w.look(g).Status; got != "executing" {
		w.t.Errorf("under quarantine the reward is %s", got)
	}
	if !w.alarmed("order_quarantined") {
		w.t.Error("no alarm reports the quarantine")
	}
	later := w.give(g.app, g.user, g.symbol, money.Dollar)
	w.pass(5*time.Minute, time.Second)
	if got := w.look(later).Status; got != "recorded" {
		w.t.Errorf("while an order of its stock is quarantined a reward is %s", got)
	}
	w.attend()
	w.pass(5*time.Minute, time.Second)
	for _, g := range []*given{g, later} {
		if got := w.look(g).Status; got != "executed" {
			w.t.Errorf("after the operator's decision the reward is %s", got)
		}
	}
}

// confirm checks that a price in doubt stops the asset until the operator decides.
func (w *world) confirm(g *given) {
	if got := w.look(g).Status; got != "recorded" || !w.alarmed("price_in_doubt") {
		w.t.Errorf("with a price in doubt the reward is %s, alarm %v", got, w.alarmed("price_in_doubt"))
	}
	w.attend()
	w.pass(5*time.Minute, time.Second)
	if got := w.look(g).Status; got != "executed" {
		w.t.Errorf("after the operator confirmed the reward is %s", got)
	}
}

func (w *world) alarmed(name string) bool {
	alarms, err := w.store.Alarms(w.t.Context())
	w.check(err)
	return slices.ContainsFunc(alarms, func(a rewards.Alarm) bool { return strings.HasPrefix(a.Name, name) })
}

// ordersAtBroker counts our orders of a stock in the brokerage's books.
func (w *world) ordersAtBroker(symbol string) (n int) {
	for _, o := range w.orders() {
		if _, found := w.record(o.ClientOrderID); found && o.Symbol == symbol {
			n++
		}
	}
	return n
}
