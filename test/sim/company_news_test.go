package sim

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/rewards"
)

// eventKinds are all kinds of corporate actions.
func eventKinds() []string {
	return []string{
		"forward_split", "cash_dividend", "reverse_split", "spin_off", "stock_dividend", "name_change", "stock_merger",
		"stock_and_cash_merger", "cash_merger", "worthless_removal",
	}
}

// faultsOfEvent are the faults of the brokerage that can strike the kind.
func faultsOfEvent(kind string) []string {
	switch kind {
	case "forward_split", "reverse_split", "stock_dividend":
		return slices.DeleteFunc(actionFaults(), func(fault string) bool {
			return fault == "new-asset-id" || fault == "reversed-ratio" && kind == "stock_dividend"
		})
	case "spin_off", "stock_merger", "stock_and_cash_merger":
		return []string{"late-announcement", "wrong-ratio", "duplicate-announcement", "revised", "late-position", "cash-in-lieu"}
	case cashDividend:
		return []string{"late-position", "duplicate-announcement"}
	}
	return []string{"late-announcement", "duplicate-announcement", "late-position"}
}

// sessionsAhead are the next trading days after today.
func (l *lab) sessionsAhead() []rewards.Date {
	today := rewards.DateOf(time.Now())
	list, err := l.operator.Sessions(l.t.Context(), today.Plus(-7), today.Plus(14))
	l.check(err)
	return slices.DeleteFunc(list, func(d rewards.Date) bool { return d <= today || !time.Now().Before(l.evening(d)) })
}

// evening is 20:00 New York of the session before a day.
func (l *lab) evening(ex rewards.Date) time.Time {
	list, err := l.operator.Sessions(l.t.Context(), ex.Plus(-9), ex.Plus(-1))
	l.check(err)
	return clockOn(list[len(list)-1], 20, 0)
}

func clockOn(day rewards.Date, hour, minute int) time.Time {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	t, err := time.ParseInLocation("2006-01-02 15:04", fmt.Sprintf("%s %02d:%02d", day, hour, minute), zone)
	if err != nil {
		panic(err)
	}
	return t
}

// announceNext has the brokerage announce the next corporate action.
func (l *lab) announceNext() {
	kind := eventKinds()[l.firms.announced%len(eventKinds())]
	if kind == cashDividend {
		l.firms.announced++
		l.announceDividend()
		return
	}
	idle := l.firms.idle()
	if kind != "name_change" && len(idle) < 3 {
		return
	}
	slices.SortStableFunc(idle, func(a, b *firm) int { return len(b.held) - len(a.held) })
	idle = idle[:min(len(idle), 4)]
	if len(idle) == 0 || len(idle[0].held) == 0 {
		return
	}
	l.random.Shuffle(len(idle), func(i, j int) { idle[i], idle[j] = idle[j], idle[i] })
	e := &event{kind: kind, stock: idle[0], keep: big.NewRat(1, 1)}
	if strings.Contains(kind, "stock_") && strings.HasSuffix(kind, "merger") {
		e.target = idle[1%len(idle)]
	}
	if len(e.stock.held) == 0 || e.target == e.stock {
		return
	}
	l.firms.announced++
	ahead := l.sessionsAhead()
	l.announce(e, ahead[l.random.IntN(min(2, len(ahead)))], l.drawFault(kind))
}

// announceSecond has the brokerage announce a split of a stock that another one waits for, for the session after that.
func (l *lab) announceSecond() {
	waiting := slices.DeleteFunc(slices.Clone(l.firms.list), func(s *firm) bool {
		e := s.event
		return e == nil || e.stock != s || s.next != nil || e.fault != "" || e.mistake || !e.splits() || !time.Now().Before(e.boundary)
	})
	if len(waiting) == 0 {
		return
	}
	stock := waiting[l.random.IntN(len(waiting))]
	later := slices.DeleteFunc(l.sessionsAhead(), func(d rewards.Date) bool { return d <= stock.event.terms.ExDate })
	kinds := slices.DeleteFunc(splitKinds(), func(kind string) bool { return kind == stock.event.kind })
	kind := kinds[l.random.IntN(len(kinds))]
	l.announce(&event{kind: kind, stock: stock, keep: big.NewRat(1, 1)}, later[0], "")
}

func (l *lab) drawFault(kind string) string {
	if l.random.IntN(5) < 2 {
		return ""
	}
	list := faultsOfEvent(kind)
	return list[l.random.IntN(len(list))]
}

// announce announces an event, which a fault may strike.
func (l *lab) announce(e *event, ex rewards.Date, fault string) {
	e.fault = fault
	body := l.write(e, ex)
	rule := 0
	if fault != "" {
		line := fault + " times=1 symbol=" + e.stock.now
		if fault == "late-position" {
			line += " by=6h"
		}
		f, err := paper.ParseFault(line)
		l.check(err)
		r, err := l.brokerage.AddFault(f)
		l.check(err)
		rule = r.ID
	}
	l.post(e, ex, body)
	if fault == "late-position" {
		e.moved = e.at.Add(6 * time.Hour)
	}
	if fault != "" {
		l.brokerage.RemoveFault(rule)
		l.cover.hit(rowAction, fault)
	}
}

// post has the brokerage announce an event.
func (l *lab) post(e *event, ex rewards.Date, body string) {
	e.boundary, e.at = l.evening(ex), clockOn(ex, 2, 30)
	e.moved, e.listed = e.at, e.fault != "late-announcement"
	var got struct{ ID string }
	l.control(http.MethodPost, "corporate-actions", body, http.StatusCreated, &got)
	e.id = got.ID
	switch {
	case e.kind == cashDividend:
	case e.stock.event != nil:
		e.stock.next = e
	default:
		e.stock.event = e
	}
	if e.target != nil {
		e.target.event = e
	}
	l.firms.events, l.firms.byID[e.id] = append(l.firms.events, e), e
	l.note("the brokerage: %s announces %s %s", e.fault, e.id, body)
}

// control sends a request to the brokerage's control interface, which faults never strike.
func (l *lab) control(method, path, body string, status int, into any) {
	answer := httptest.NewRecorder()
	l.brokerage.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(
		l.t.Context(), method, "/control/"+path, strings.NewReader(body)))
	if answer.Code != status {
		l.t.Fatalf("%s %s %s: %d %s", method, path, body, answer.Code, answer.Body)
	}
	if into != nil {
		l.check(json.Unmarshal(answer.Body.Bytes(), into))
	}
}

// write chooses the terms of an event and returns them as the control interface reads them.
func (l *lab) write(e *event, ex rewards.Date) string {
	pick := func(list ...[2]string) [2]string { return list[l.random.IntN(len(list))] }
	terms := rewards.Terms{Type: rewards.ActionType(e.kind), Symbol: e.stock.now, ExDate: ex}
	n, text := len(l.firms.events), ""
	switch e.kind {
	case "forward_split", "reverse_split":
		r := pick([2]string{"1", "4"}, [2]string{"2", "3"}, [2]string{"1", "20"})
		if e.kind == "reverse_split" {
			r = pick([2]string{"10", "1"}, [2]string{"7", "2"}, [2]string{"3", "1"})
		}
		terms.OldRate, terms.NewRate, e.keep = r[0], r[1], ratio(r)
		text = fmt.Sprintf(`"symbol":%q,"old_rate":%s,"new_rate":%s,"ex_date":%q`, e.stock.now, r[0], r[1], ex)
	case "stock_dividend":
		terms.Rate = pick([2]string{"0.05"}, [2]string{"1"}, [2]string{"0.333"})[0]
		e.keep = new(big.Rat).Add(e.keep, ratio([2]string{"1", terms.Rate}))
		text = fmt.Sprintf(`"symbol":%q,"rate":%s,"ex_date":%q`, e.stock.now, terms.Rate, ex)
	case cashDividend:
		terms.Rate, terms.PayDate = e.stock.nextRate(), ex.Plus(l.random.IntN(4))
		text = fmt.Sprintf(`"symbol":%q,"rate":%s,"ex_date":%q,"payable_date":%q%s`, e.stock.now, terms.Rate, ex, terms.PayDate,
			pick([2]string{""}, [2]string{`,"tax_rate":0.15`})[0])
	case "name_change":
		terms.NewSymbol = fmt.Sprintf("N%d", n)
		text = fmt.Sprintf(`"old_symbol":%q,"new_symbol":%q,"process_date":%q`, e.stock.now, terms.NewSymbol, ex)
	case "spin_off":
		r := pick([2]string{"1", "0.25"}, [2]string{"3", "1"}, [2]string{"1", "2"})
		terms.NewSymbol = fmt.Sprintf("S%d", n)
		e.target, e.give = l.firms.add(terms.NewSymbol), ratio(r)
		terms.OldRate, terms.NewRate = r[0], r[1]
		text = fmt.Sprintf(`"source_symbol":%q,"source_rate":%s,"new_symbol":%q,"new_rate":%s,"ex_date":%q`,
			e.stock.now, r[0], terms.NewSymbol, r[1], ex)
	case "stock_merger", "stock_and_cash_merger":
		r := pick([2]string{"1", "0.3"}, [2]string{"2", "5"})
		terms.NewSymbol, e.give, e.keep = e.target.now, ratio(r), new(big.Rat)
		terms.OldRate, terms.NewRate = r[0], r[1]
		if e.kind == "stock_and_cash_merger" {
			terms.Rate, text = "3.5", `"cash_rate":3.5,`
		}
		text += fmt.Sprintf(`"acquiree_symbol":%q,"acquirer_symbol":%q,"acquiree_rate":%s,"acquirer_rate":%s,"effective_date":%q`,
			e.stock.now, e.target.now, r[0], r[1], ex)
	case "cash_merger":
		terms.Rate, e.keep = "25.25", new(big.Rat)
		text = fmt.Sprintf(`"acquiree_symbol":%q,"rate":25.25,"effective_date":%q`, e.stock.now, ex)
	default:
		e.keep = new(big.Rat)
		text = fmt.Sprintf(`"symbol":%q,"process_date":%q`, e.stock.now, ex)
	}
	e.terms = terms
	return fmt.Sprintf(`{"type":%q,%s}`, e.kind, text)
}

// ratio returns the second rate over the first.
func ratio(r [2]string) *big.Rat {
	from, _ := new(big.Rat).SetString(r[0])
	to, _ := new(big.Rat).SetString(r[1])
	return to.Quo(to, from)
}

// advanceEvents does what the brokerage does by itself: new symbols, and stocks that end.
func (l *lab) advanceEvents() {
	if l.firms == nil {
		return
	}
	now := time.Now()
	for _, e := range l.firms.events {
		if now.Before(e.at) || e.withdrawn || e.mistake {
			continue
		}
		if e.kind == "name_change" && !e.renamed {
			e.renamed, e.stock.now = true, e.terms.NewSymbol
			l.symbols[e.stock.now] = e.stock.name
		}
		if e.keep.Sign() == 0 {
			e.stock.gone = true
		}
	}
}
