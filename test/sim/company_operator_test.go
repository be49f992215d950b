package sim

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// advanceCompanies announces what is due before a sitting, and sometimes withdraws it.
func (l *lab) advanceCompanies() {
	if l.firms == nil || !l.on {
		return
	}
	l.brokerage.RemoveFault(0)
	for _, e := range l.firms.events {
		if !e.withdrawn && !e.mistake && time.Now().Before(e.boundary) && l.random.IntN(60) == 0 {
			l.control(http.MethodDelete, "corporate-actions/"+e.id, "", http.StatusNoContent, nil)
			e.withdrawn, e.withdrawnAt = true, time.Now()
			e.over()
			l.note("the brokerage: %s is withdrawn", e.id)
		}
	}
	share := l.firms.planned * 5 / 4 // some are not possible when they are due
	if total := max(1, l.total*actionSittings); l.random.IntN(total) < share && l.firms.announced < l.firms.planned {
		l.announceNext()
		if l.random.IntN(2) == 0 {
			l.announceDividend()
		}
		if l.random.IntN(2) == 0 {
			l.announceSecond()
		}
	}
}

// decideActions decides about the actions that the service holds, as docs/corporate-actions.md
// says.
func (l *lab) decideActions() {
	if l.firms == nil {
		return
	}
	const most = 1000
	list, err := l.store.Actions(l.t.Context(), rewards.ActionHeld, "", most)
	l.check(err)
	for _, a := range list {
		if a.WaitsFor == "" {
			l.decideAction(a)
		}
	}
	l.sellFractions()
}

func (l *lab) decideAction(a rewards.Action) {
	e, now := l.firms.byID[a.ID], time.Now()
	switch {
	case a.Type == rewards.ActionPosition:
		s := l.firms.of(l.stock(a.Symbol))
		if s == nil || s.event == nil {
			l.ignoreAction(a, "nothing has happened")
		}
	case e == nil || e.withdrawn:
		l.ignoreAction(a, "it never happens")
	case e.applied:
		l.ignoreAction(a, "it was entered")
	case now.Before(e.moved):
	case a.Terms == e.terms || sameTerms(a.Terms, e.terms):
		_, err := l.store.ApproveAction(l.t.Context(), a.ID, false)
		l.check(err)
		l.decisions++
		l.note("operator: %s is applied: %s", a.ID, a.Note)
	default:
		l.ignoreAction(a, "it was announced wrongly")
		l.enter(e, e.terms)
	}
}

func sameTerms(a, b rewards.Terms) bool {
	a.PayDate, b.PayDate, a.Symbol, b.Symbol = "", "", "", ""
	return a == b
}

func (l *lab) ignoreAction(a rewards.Action, why string) {
	_, err := l.store.IgnoreAction(l.t.Context(), a.ID, false)
	l.check(err)
	l.decisions++
	l.note("operator: %s of %s is ignored, %s: %s", a.ID, a.Symbol, why, a.Note)
}

// enter enters an event with its true terms and has it applied.
func (l *lab) enter(e *event, terms rewards.Terms) {
	l.firms.entered++
	id := fmt.Sprint("entered-", l.firms.entered)
	terms.Symbol = l.symbol(e.stock.name)
	a, err := rewards.EnteredAction(id, terms, time.Now(), "the broker's statement")
	l.check(err)
	_, err = l.store.EnterAction(l.t.Context(), a)
	l.check(err)
	_, err = l.store.ApproveAction(l.t.Context(), id, false)
	l.check(err)
	l.firms.byID[id] = e
	l.decisions++
	l.note("operator: %s is entered as %s", e.id, id)
}

// mistake has an operator apply what never happens, and take it back.
func (l *lab) mistake() {
	idle := l.firms.idle()
	if len(idle) == 0 || !l.on || l.random.IntN(4) != 0 || 4*l.firms.entered > len(l.firms.events) {
		return
	}
	s := idle[l.random.IntN(len(idle))]
	if len(s.held) == 0 || l.stopped() {
		return
	}
	today := rewards.DateOf(time.Now())
	e := &event{
		kind: "forward_split", stock: s, keep: big.NewRat(3, 1), mistake: true, at: time.Now(), moved: time.Now(),
		terms: rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "3", ExDate: today},
	}
	s.event = e
	l.firms.events = append(l.firms.events, e)
	l.firms.mistakes++
	l.enter(e, e.terms)
	e.id = fmt.Sprint("entered-", l.firms.entered)
	l.work(20)
}

// undoMistakes takes back what was applied by mistake.
func (l *lab) undoMistakes() {
	for _, e := range l.firms.events {
		if !e.mistake || !e.swept || e.withdrawn {
			continue
		}
		if _, err := l.store.UndoAction(l.t.Context(), e.id); err != nil {
			l.note("operator: %s cannot be undone yet: %v", e.id, err)
			continue
		}
		e.withdrawn = true
		e.undo()
		l.decisions++
		l.note("operator: %s is undone", e.id)
		time.Sleep(visible)
		for _, p := range l.procs { // each reads the prices in these units
			if !p.dead {
				_ = p.market.Reload(l.t.Context())
			}
		}
	}
}

// sellFractions sells the fractions of shares that the brokerage gave back.
func (l *lab) sellFractions() {
	if !l.operatorClock().Open {
		return
	}
	for _, s := range l.firms.list {
		e := l.fractionOf(s)
		if e == nil || s.event != nil || s.gone || slices.ContainsFunc(l.excess, func(o rewards.Order) bool { return l.stock(o.Symbol) == s.name }) {
			continue
		}
		booked, theirs := l.positionOf(s)
		if theirs > booked && theirs-booked < money.Share && !l.ordered(s) && l.trade("sell", s.now, theirs-booked) {
			l.decisions++
		}
	}
}

// ordered reports whether an order of a stock has not ended: the brokerage may have a part of it already.
func (w *world) ordered(s *firm) bool {
	live, err := w.store.LiveOrders(w.t.Context())
	w.check(err)
	return slices.ContainsFunc(live, func(o rewards.Order) bool { return w.stock(o.Symbol) == s.name })
}

// fractionOf is an event after which a fraction of a share came back; nil for none.
func (l *lab) fractionOf(s *firm) *event {
	for _, e := range l.firms.events {
		if e.fault == "fraction-reversed" && (e.stock == s || e.target == s) && time.Now().After(e.moved.Add(96*time.Hour)) {
			return e
		}
	}
	return nil
}

// positionOf is a stock's booked position, and the brokerage's.
func (w *world) positionOf(s *firm) (booked, theirs money.Shares) {
	list, err := w.store.Booked(w.t.Context())
	w.check(err)
	for _, b := range list {
		if w.stock(b.Symbol) == s.name {
			booked = b.Quantity
		}
	}
	positions, err := w.operator.Positions(w.t.Context())
	w.check(err)
	for _, p := range positions {
		if w.stock(p.Symbol) == s.name {
			theirs = p.Qty
		}
	}
	return booked, theirs
}

// checkModel compares a portfolio with the model: the shares, the cost basis, and the value at the
// brokerage's price in the same units.
func (l *lab) checkModel(user string, text []byte) {
	id, err := rewards.ParseID[rewards.User](user)
	l.check(err)
	var got struct {
		Holdings []struct {
			Asset                      string
			Quantity, Value, CostBasis json.Number
		}
		CostBasis json.Number
	}
	l.check(json.Unmarshal(text, &got))
	seen := map[*firm]bool{}
	for _, h := range got.Holdings {
		quantity, err := money.ParseShares(h.Quantity.String())
		l.check(err)
		value, err := money.ParseUSD(h.Value.String())
		l.check(err)
		s := l.firms.of(l.stock(h.Asset))
		if s == nil || s.held[id].shares != quantity {
			l.violate("a portfolio shows what the model says", user, "%s of %s, the model: %+v", quantity, h.Asset, s)
			return
		}
		if seen[s] = true; s.unclear() {
			continue
		}
		price := l.traded(h.Asset)
		worth, err := money.Value(money.Shares(floor(int64(quantity), s.units(time.Now()))), price, money.HalfAway)
		l.check(err)
		moved := money.USD(0)
		if s.event != nil && !s.event.listed { // nobody knows of it yet: a price that moves by a third is in no doubt
			moved = worth / 10
		}
		if value < (worth-moved)*2/3-money.Cent || value > (worth+moved)*3/2+money.Cent {
			l.violate("no portfolio mixes units", user, "%s of %s for %s, worth %s; event %+v", quantity, h.Asset, value, worth, s.event)
		}
	}
	for _, s := range l.firms.list {
		if s.held[id].shares != 0 && !seen[s] {
			l.violate("a portfolio shows what the model says", user, "no %s, the model: %+v", s.name, s.held[id])
		}
	}
	cost, err := money.ParseUSD(got.CostBasis.String())
	l.check(err)
	if want := l.firms.cost(id); cost < want-money.Cent || cost > want+money.Cent {
		l.violate("a portfolio costs what the model says", user, "%s, the model: %s", cost, want)
	}
}

// lookAtHolders reads portfolios while something happens to their stocks.
func (l *lab) lookAtHolders() {
	if l.firms == nil || l.nested || l.t.Failed() {
		return
	}
	now := time.Now()
	for _, e := range l.firms.events {
		if e.stock.event != e && e.stock.next != e || now.Before(e.boundary) || len(e.stock.held) == 0 {
			continue
		}
		users := e.stock.users()
		user := users[l.random.IntN(len(users))].String()
		for app := range apps {
			if slices.Contains(l.users[app], user) {
				l.portfolio(app, user)
			}
		}
	}
}

// verifyEvents checks in the end that everything that happened was applied, and paid.
func (l *lab) verifyEvents() {
	for _, e := range l.firms.events {
		happened := !e.withdrawn && !e.mistake && time.Now().After(e.moved)
		if happened && (!e.applied || !e.swept) {
			a, _, err := l.store.Action(l.t.Context(), e.id)
			l.violate("in the end everything that happened is applied", e.id, "%s (%s): %+v, stored %+v %v", e.kind, e.fault, *e, a, err)
		}
		if e.mistake && e.applied && !e.undone {
			l.violate("in the end every mistake is taken back", e.id, "%+v", *e)
		}
	}
	for _, s := range l.firms.list {
		l.compareFirm(s)
	}
	l.verifyCash()
}

// unbookedOf is by how much the brokerage's position differs from the booked one, unless an event
// explains it.
func (l *lab) unbookedOf(s *firm) money.Shares {
	if s.event != nil || s.gone || l.fractionOf(s) != nil {
		return 0
	}
	booked, theirs := l.positionOf(s)
	for _, b := range l.busts {
		if !b.booked && b.stock == s.name {
			booked += b.corrected - b.wasBooked
		}
	}
	return booked - theirs
}

// ended reports whether a stock is no longer listed.
func (w *world) ended(symbol string) bool {
	s := w.firms.of(w.stock(symbol))
	return s != nil && s.gone
}

// stranded reports whether a reward waits for a stock that has ended. Where a part of one was bought
// before, the rest can never be bought, and an operator must settle it with the client.
func (w *world) stranded(g *given) bool {
	return w.ended(g.symbol) && g.status != "executed" && g.status != "failed"
}

// liveOnes counts the orders that are not final and can be executed.
func (l *lab) liveOnes() (n int) {
	for _, o := range l.live {
		if !l.ended(o.Symbol) {
			n++
		}
	}
	return n
}
