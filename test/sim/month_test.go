package sim

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
)

var seed = flag.Uint64("seed", 3, "the seed of the simulation's random choices")

// monthBegin is in November 2026, with Thanksgiving and the half day after it.
func monthBegin() time.Time { return time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC) }

const (
	monthDays    = 30
	rewardsADay  = 24
	asksAgain    = 8 // a client retries those of the latest rewards that have no answer
	coarse       = 10 * time.Minute
	sessionStart = 6*time.Hour + 30*time.Minute // after 8:00 UTC: 9:30 in New York, in winter
)

// TestMonth simulates a month with random faults: clients lose answers, the disk fails before
// and at commits, the process is killed, and the broker has every fault. At the end the store
// equals the brokerage's books.
func TestMonth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(monthBegin()))
		w := newWorld(t, *seed, paper.USEquities)
		for day := range monthDays {
			w.day(day)
		}
		w.recover()
		w.verify()
		w.hledger()
		w.summary()
	})
}

// day simulates a day from 8:00 UTC: rewards at all hours, faults in two parts of it, and the
// operator's rounds at noon and before the close.
func (w *world) day(day int) {
	end := monthBegin().AddDate(0, 0, day+1)
	hours := make([]time.Duration, rewardsADay)
	for i := range hours {
		hours[i] = time.Duration(w.random.Int64N(int64(24 * time.Hour)))
		if i%2 == 0 { // every second one while the market may be open
			hours[i] = sessionStart + time.Duration(w.random.Int64N(int64(6*time.Hour+30*time.Minute)))
		}
	}
	morning, noon := monthBegin().AddDate(0, 0, day).Add(sessionStart), monthBegin().AddDate(0, 0, day).Add(sessionStart+3*time.Hour)
	w.trouble(day)
	rounds := 0
	for at := time.Now(); at.Before(end); at = time.Now() {
		for _, d := range hours {
			if due := monthBegin().AddDate(0, 0, day).Add(d); !due.After(at) && due.After(at.Add(-coarse)) {
				w.visit()
			}
		}
		switch {
		case rounds == 0 && at.After(noon):
			w.round()
			w.trouble(day)
			rounds++
		case rounds == 1 && at.After(noon.Add(2*time.Hour)): // before the close, also of a half day
			w.round()
			rounds++
		}
		if at.After(morning) && at.Before(noon.Add(4*time.Hour)) {
			w.pass(40*time.Second, time.Second)
		}
		w.chaos()
		w.tick(min(coarse-40*time.Second, time.Until(end)))
	}
}

func (w *world) visit() {
	app := w.random.IntN(apps)
	user := w.users[app][w.random.IntN(usersPerApp)]
	symbol := symbols()[w.random.IntN(len(symbols()))]
	amounts := []money.USD{money.Cent, 33 * money.Cent, 5*money.Dollar + 250_001, 100 * money.Dollar, 4_321_987_654}
	g := w.give(app, user, symbol, amounts[w.random.IntN(len(amounts))])
	if w.random.IntN(5) == 0 {
		w.send(g) // the answer was lost
	}
	for _, g := range w.given[max(0, len(w.given)-asksAgain):] {
		if !g.acknowledged {
			w.send(g)
		}
	}
}

func (w *world) chaos() {
	if w.random.IntN(20) == 0 {
		w.note("kill -9")
		w.boot()
	}
}

// trouble sets the faults of the broker and the disk, which differ from day to day.
func (w *world) trouble(day int) {
	for range []int{0, 2, 5}[day%3] {
		kinds := paper.Kinds()
		line := kinds[w.random.IntN(len(kinds))]
		switch f, err := paper.ParseFault(line); {
		case err != nil:
			w.check(err)
		case line == "outage":
			line += fmt.Sprintf(" for=%dm", 1+w.random.IntN(180))
		case len(f.On) > 0:
			line += fmt.Sprintf(" chance=%d%% for=%dm", 1+w.random.IntN(40), 1+w.random.IntN(240))
		case f.By > 0 && w.random.IntN(2) == 0:
			line += fmt.Sprintf(" times=1 by=%ds", 1+w.random.IntN(600))
		default:
			line += " times=1"
		}
		w.afflict(line)
	}
	w.failWrites([]int{0, 2, 5}[day%3], []int{0, 1, 2}[day%3])
}

func (w *world) round() {
	for _, r := range w.brokerage.Faults() {
		w.hits += r.Hits
	}
	w.brokerage.RemoveFault(0)
	w.failWrites(0, 0)
	w.pass(2*time.Minute, time.Second)
	w.attend()
}

// recover simulates two trading days without faults, with the operator's rounds.
func (w *world) recover() {
	for _, g := range w.given {
		if !g.acknowledged {
			w.send(g)
		}
	}
	for range 2 {
		time.Sleep(time.Until(nextNoon()))
		for range 8 {
			w.pass(10*time.Minute, time.Second)
			w.round()
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

// summary logs what happened, and fails if it was too little to prove anything.
func (w *world) summary() {
	statuses := map[string]int{}
	for _, g := range w.given {
		statuses[w.look(g).Status]++
	}
	orders := w.orders()
	w.t.Logf("seed %d: %d rewards (%v), %d orders, %d faults of the broker, %d of the disk, %d starts, %d decisions of the operator",
		*seed, len(w.given), statuses, len(orders), w.hits, w.engine.failures, w.boots, w.decisions)
	if len(w.given) < monthDays*10 || len(orders) < 100 || w.hits < 50 || w.engine.failures == 0 || w.boots < 10 {
		w.t.Error("the month was too quiet")
	}
}
