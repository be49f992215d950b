package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/rewards"
)

// yearBegin is a Monday, 6:00 in New York.
func yearBegin() time.Time { return time.Date(2026, 1, 5, 11, 0, 0, 0, time.UTC) }

// A sitting is a part of a day with clients; between sittings nothing happens.
const (
	sittings       = 6
	sittingSteps   = 30
	actionSittings = 8 // a day, when there are corporate actions
	operatorAsks   = 3 // the operator visits after one in three sittings
)

func (l *lab) liveDays(days int) {
	l.total = days
	for begin := yearBegin(); l.opened < days && !l.t.Failed(); begin = begin.AddDate(0, 0, 1) {
		l.until(begin)
		clock := l.operatorClock()
		if !clock.Open && clock.NextOpen.Sub(clock.Now) > 10*time.Hour {
			if l.random.IntN(4) == 0 { // a weekend, a holiday
				l.sitting(1 + l.random.IntN(5))
			}
			continue
		}
		l.opened++
		l.day(begin)
	}
}

func (l *lab) until(at time.Time) {
	if d := time.Until(at); d > 0 {
		l.sleep(d)
	}
}

// day simulates a trading day, from 6:00 in New York.
func (l *lab) day(begin time.Time) {
	hours := []time.Duration{10*time.Hour - time.Duration(1+l.random.IntN(150))*time.Second} // before the bell
	for len(hours) < sittings {
		hours = append(hours, time.Hour+time.Duration(l.random.Int64N(int64(10*time.Hour))))
	}
	if l.firms != nil { // 20:35 and 02:45 in New York, when actions begin to count and happen
		hours = append(hours, 14*time.Hour+35*time.Minute, 20*time.Hour+45*time.Minute)
	}
	slices.Sort(hours)
	mood := l.random.IntN(5)
	for _, at := range hours {
		if l.t.Failed() {
			return
		}
		l.until(begin.Add(at))
		l.advanceStories()
		l.advanceCompanies()
		l.trouble(mood)
		l.sitting(3 + l.random.IntN(9))
		if l.random.IntN(operatorAsks) == 0 {
			l.visitOperator()
		}
	}
	l.compareAll()
}

func (l *lab) sitting(count int) {
	l.step(l.procs[l.random.IntN(len(l.procs))])
	l.clients(count)
	l.work(sittingSteps)
	l.askAgain()
	l.mail.sitting()
}

// trouble sets the rates of faults from now on: none, low or high.
func (l *lab) trouble(mood int) {
	l.brokerage.RemoveFault(0)
	l.rates = rates{}
	if mood == 0 {
		return
	}
	dense := mood > 2
	count := 1
	if l.rates = (rates{kill: 30, store: 60, freeze: 20, lose: 300}); dense {
		l.rates = rates{kill: 150, store: 300, freeze: 80, lose: 1500}
		count = 2 + l.random.IntN(5)
	}
	for range count {
		l.afflictOnce(l.nextFault(), dense)
	}
	if l.random.IntN(40) == 0 {
		l.suspend(l.random.IntN(apps), true)
	}
}

// nextFault returns each kind of fault once, in a random order, and again: a seed has few, and each kind must strike.
func (l *lab) nextFault() string {
	if len(l.faults) == 0 {
		l.faults = otherFaults()
		l.random.Shuffle(len(l.faults), func(i, j int) { l.faults[i], l.faults[j] = l.faults[j], l.faults[i] })
	}
	last := len(l.faults) - 1
	kind := l.faults[last]
	l.faults = l.faults[:last]
	return kind
}

func (l *lab) afflictOnce(line string, dense bool) {
	f, err := paper.ParseFault(line)
	l.check(err)
	chance := 1 + l.random.IntN(20)
	if dense {
		chance += l.random.IntN(50)
	}
	switch {
	case line == "outage":
		line += fmt.Sprintf(" for=%dm", 1+l.random.IntN(180))
	case line == "error":
		codes := []int{400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504}
		line += fmt.Sprintf(" chance=%d%% status=%d", chance, codes[l.random.IntN(len(codes))])
	case len(f.On) > 0 && f.By > 0:
		line += fmt.Sprintf(" chance=%d%% by=%dms", chance, 1+l.random.IntN(30_000))
	case len(f.On) > 0:
		line += fmt.Sprintf(" chance=%d%%", chance)
	case f.By > 0 && l.random.IntN(2) == 0:
		line += fmt.Sprintf(" chance=%d%% by=%dms", chance, 1+l.random.IntN(600_000))
	default:
		line += fmt.Sprintf(" chance=%d%%", chance)
	}
	if f, err = paper.ParseFault(line); err == nil {
		_, err = l.brokerage.AddFault(f)
	}
	l.check(err)
	l.note("fault: %s", f)
}

func (l *lab) suspend(app int, suspended bool) {
	a, err := l.store.SetSuspended(l.t.Context(), l.apps[app].ID.String(), suspended)
	l.check(err)
	l.apps[app] = a
	if !suspended {
		l.lifted[app] = time.Now()
	}
	l.note("operator: %s suspended: %v", a.Name, suspended)
}

// barred reports whether an app may be refused: it is suspended, or was until a second ago.
func (l *lab) barred(app int) bool {
	return l.apps[app].Suspended || time.Since(l.lifted[app]) < time.Second
}

// operatorClock reads the market's hours without faults.
func (l *lab) operatorClock() rewards.MarketClock {
	now := time.Now()
	if !l.hours.NextOpen.IsZero() && now.Before(l.hours.NextChange()) {
		l.hours.Now = now
		return l.hours
	}
	answer := httptest.NewRecorder()
	l.brokerage.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(l.t.Context(), http.MethodGet, "/control/clock", http.NoBody))
	var got struct {
		IsOpen              bool
		NextOpen, NextClose time.Time
	}
	l.check(json.Unmarshal(answer.Body.Bytes(), &got))
	l.hours = rewards.MarketClock{Now: now, Open: got.IsOpen, NextOpen: got.NextOpen, NextClose: got.NextClose}
	return l.hours
}

// visitOperator ends all faults for a while, and the operator decides what the service could
// not.
func (l *lab) visitOperator() {
	l.brokerage.RemoveFault(0)
	l.rates = rates{}
	l.work(12)
	l.decide()
	if l.random.IntN(3) == 0 { // the operator's decisions are booked under faults
		l.rates = rates{kill: 1000, store: 2000, freeze: 500}
		l.work(3)
		l.rates = rates{}
	}
	for app := range apps {
		if l.apps[app].Suspended {
			l.suspend(app, false)
		}
	}
	l.work(12)
	if l.firms != nil {
		l.mistake()
		l.undoMistakes()
	}
}

func (l *lab) decide() {
	l.resolveQuarantined()
	for _, c := range l.openConflicts() {
		if l.bustIn(c.Symbol) {
			continue
		}
		l.sold[c.ClientOrderID] = l.settleConflict(c) || l.sold[c.ClientOrderID]
	}
	l.sellExcess()
	l.judgePrices()
	l.decideActions()
	l.watch()
}

// sellExcess sells shares that the broker bought and never reported: only the account's
// position shows them.
func (l *lab) sellExcess() {
	clock := l.operatorClock()
	if !clock.Open {
		return
	}
	left := l.excess[:0]
	for _, o := range l.excess {
		r, _ := l.record(o.ClientOrderID)
		if l.sold[o.ClientOrderID] {
			continue
		}
		if !ended(r) || !strings.HasPrefix(r.Fault, "shrinking-fill") { // the rest becomes a conflict
			left = append(left, o)
			continue
		}
		excess, known := l.notBooked(o, r)
		if !known || l.bustIn(o.Symbol) || excess > 0 && !l.trade("sell", o.Symbol, excess) {
			left = append(left, o)
			continue
		}
		l.noteSold(o)
	}
	l.excess = left
}

// compareAll compares the account's positions with our books, once no order is in progress.
func (l *lab) compareAll() {
	if len(l.live) > 0 || len(l.excess) > 0 || l.t.Failed() {
		return
	}
	l.brokerage.RemoveFault(0)
	positions, err := l.operator.Positions(l.t.Context())
	l.check(err)
	left := maps.Clone(l.filled)
	for _, p := range positions {
		left[l.stock(p.Symbol)] -= p.Qty
	}
	for _, b := range l.busts {
		if !b.booked {
			left[b.stock] += b.corrected - b.wasBooked
		}
	}
	for symbol, qty := range left {
		if s := l.firms.of(symbol); s != nil {
			qty = l.unbookedOf(s)
		}
		if qty != 0 {
			l.violate("the account holds what was booked", symbol, "booked are %s more than it holds", qty)
		}
	}
}

// nextNoon is the next weekday's noon in New York, in winter.
func nextNoon() time.Time {
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(17 * time.Hour)
	for !noon.After(time.Now()) || noon.Weekday() == time.Saturday || noon.Weekday() == time.Sunday {
		noon = noon.AddDate(0, 0, 1)
	}
	return noon
}

func (l *lab) recover() {
	const most = 12
	l.on = false
	l.resume()
	l.relist()
	calm := 0 // days; a dividend of the last one may have become awards that are not bought yet
	for day := 0; day < most && !l.t.Failed(); day++ {
		l.until(nextNoon())
		for range 6 {
			l.visitOperator()
			l.askAgain()
			l.work(60)
			for _, g := range slices.Clone(l.open) {
				l.lookAt(g)
			}
			l.open = slices.DeleteFunc(l.open, l.stranded)
		}
		if l.unbooked() > 0 { // each process compares once an hour
			l.until(time.Now().Add(time.Hour + time.Minute))
			for _, p := range l.procs {
				l.step(p)
			}
		}
		if len(l.open)+len(l.unsure)+l.liveOnes()+len(l.excess)+l.unbooked()+l.firms.unfinished()+l.unpaid() > 0 {
			calm = 0
			continue
		}
		calm++
		if calm == 2 || l.firms == nil {
			return
		}
	}
	for _, b := range l.busts {
		if !b.booked {
			l.violate("in the end every bust is booked", b.id, "%+v", *b)
		}
	}
	for _, g := range append(l.unsure, l.open...) {
		l.violate("in the end every reward is executed or failed", g.key, "%+v", *g)
		return
	}
}
