package fulfillment_test

import (
	"context"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// answers are the portfolio values that clients saw.
type answers struct {
	values      []money.USD
	unavailable int // 502
}

// watch runs the service for a while as its process does, and polls every user's portfolio every
// 50 ms.
func (w *world) watch(d time.Duration) (seen answers) {
	w.t.Helper()
	w.check(w.market.Refresh(w.t.Context()))
	stop, done := w.start()
	ctx, cancel := context.WithCancel(w.t.Context())
	refreshed := make(chan struct{})
	go func() {
		defer close(refreshed)
		for ctx.Err() == nil {
			w.check(w.market.Refresh(w.t.Context()))
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}()
	service := rewards.NewService(w.store, nil, w.market, time.Now)
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, u := range w.users {
			p, err := service.Portfolio(w.t.Context(), u.AppID, u.ID)
			switch {
			case rewards.CodeOf(err) == rewards.CodeUpstream:
				seen.unavailable++
			default:
				w.check(err)
				seen.values = append(seen.values, p.Value)
			}
		}
	}
	cancel()
	stop()
	<-refreshed
	<-done
	w.restart()
	return seen
}

// wantNear checks that every value is within the price's own movement of a value before.
func (w *world) wantNear(seen answers, before money.USD) {
	w.t.Helper()
	const percent = 10 // the stock moves less in a night, and every split much more
	for _, value := range seen.values {
		if value < before*(100-percent)/100 || value > before*(100+percent)/100 {
			w.t.Fatalf("a portfolio of %s is valued at %s", before, value)
		}
	}
}

// While an action is announced, due, applied and swept, every answer is right or 502: no portfolio
// has shares of one basis at a price of the other.
func TestNoPortfolioMixesUnits(t *testing.T) {
	t.Parallel()
	type variant struct {
		body, fault string
		from        string // when it is watched again, for a minute
		gaps        bool   // 502 is allowed
	}
	const split, late = `"type":"forward_split","old_rate":1,"new_rate":4`, `"type":"forward_split","old_rate":2,"new_rate":3`
	inWorlds(t, map[string]variant{
		"4:1":                     {split, "", "2000-01-05 02:29:30", false},
		"1:10":                    {`"type":"reverse_split","old_rate":10,"new_rate":1`, "", "2000-01-05 02:29:30", false},
		"a stock dividend":        {`"type":"stock_dividend","rate":0.5`, "", "2000-01-05 02:29:30", false},
		"a late position":         {split, "late-position by=12h", "2000-01-05 02:29:30", false},
		"the late position comes": {split, "late-position by=12h", "2000-01-05 14:29:30", false},
		"another ratio":           {split, "wrong-ratio", "2000-01-05 02:30:10", true},
		"a late announcement":     {late, "late-announcement", "2000-01-05 03:29:30", true},
	}, func(w *world, v variant) {
		for i, u := range []rewards.User{w.user, w.newUser(w.app)} {
			w.wantAfter(5*time.Second, w.giveTo(u, "AAPL", money.USD(1_000_000_000+1000*i)), rewards.Executed)
		}
		if v.fault != "" {
			w.afflict(v.fault)
		}
		id := w.post(`{"symbol":"AAPL","ex_date":"2000-01-05",` + v.body + `}`)
		w.until("2000-01-04 19:59:30")
		evening := w.watch(time.Minute)
		before := evening.values[0]
		w.wantNear(evening, before)
		if evening.unavailable > 0 {
			w.t.Errorf("in the evening %d answers of %d were 502", evening.unavailable, len(evening.values))
		}
		if v.gaps { // what changed in the night is known before it is watched
			w.until("2000-01-05 02:30:00")
			w.serve(40 * time.Second)
		}
		w.until(v.from)
		night := w.watch(time.Minute)
		w.wantNear(night, before)
		if !v.gaps && night.unavailable > 0 {
			w.t.Errorf("%d answers of %d were 502", night.unavailable, night.unavailable+len(night.values))
		}
		if v.fault == "" || v.from == "2000-01-05 14:29:30" || v.fault == "late-announcement" {
			w.wantAction(id, rewards.ActionSwept)
			w.wantBalance()
			if len(night.values) == 0 {
				w.t.Error("nothing was valued after the action")
			}
		}
	})
}

// An undo is one moment as well.
func TestNoPortfolioMixesUnitsInAnUndo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		id := w.announce("1", "4", "2000-01-05")
		w.until("2000-01-05 02:30:00")
		w.serve(20 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		before := w.watch(time.Second).values[0]
		go func() {
			time.Sleep(10 * time.Second)
			w.undo(id)
		}()
		seen := w.watch(20 * time.Second)
		w.wantAction(id, rewards.ActionUndone)
		for _, value := range seen.values { // the shares are a quarter, and so is what they are worth at the broker
			if near := value*4 > before*9/10 && value*4 < before*11/10; !near && (value < before*9/10 || value > before*11/10) {
				w.t.Fatalf("a portfolio of %s is valued at %s", before, value)
			}
		}
	})
}

// Of two actions of a stock the first one ends the old units, whichever has the greater id and whatever else is due.
func TestNoPortfolioMixesUnitsOfTwoActions(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string][2]string{"in order": {"2000-01-05", "2000-01-06"}, "the later one first": {"2000-01-06", "2000-01-05"}},
		func(w *world, dates [2]string) {
			w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
			w.afflict("late-position symbol=AAPL by=6h")
			for i, rates := range []string{`"old_rate":2,"new_rate":3`, `"old_rate":3,"new_rate":4`} {
				w.post(`{"symbol":"AAPL","ex_date":"` + dates[i] + `","type":"forward_split",` + rates + `}`)
			}
			w.until("2000-01-04 19:59:00")
			evening := w.watch(10 * time.Second)
			w.until("2000-01-05 02:29:30")
			night := w.watch(time.Minute)
			w.wantNear(night, evening.values[0])
			w.until("2000-01-05 10:00:00")
			w.wantNear(w.watch(time.Minute), evening.values[0])
		})
}
