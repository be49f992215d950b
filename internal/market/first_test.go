package market_test

import (
	"testing"
	"time"

	"stockrewards/internal/money"
)

// wantFirst checks the first trade of AAPL since 09:30 New York of a day.
func (w *world) wantFirst(opened time.Time, price money.Price, at time.Time) {
	w.t.Helper()
	if got, tradedAt := w.FirstTrade(w.aapl, opened); got != price || !tradedAt.Equal(at) {
		w.t.Errorf("the first trade since %s is at %s of %s, want %s of %s", opened, got, tradedAt, price, at)
	}
}

// The first trade of each of the last days stays known; a process that starts later knows the last one.
func TestTheFirstTradeOfADay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		opened := time.Date(2000, 1, 4, 14, 30, 0, 0, time.UTC)
		trade := func(price money.Price, at time.Time) {
			time.Sleep(time.Until(at))
			w.quote(price, 0)
			w.tick()
		}
		trade(200*dollar, opened.Add(-time.Second))
		w.wantFirst(opened, 0, time.Time{})
		w.quoteAhead(190*dollar, 0, time.Minute) // nobody trades in the future
		w.tick()
		trade(201*dollar, opened)
		trade(202*dollar, opened.Add(time.Second))
		trade(203*dollar, opened.Add(3*time.Hour))
		w.wantFirst(opened, 201*dollar, opened)
		next := opened.AddDate(0, 0, 1)
		w.wantFirst(next, 0, time.Time{})
		trade(204*dollar, next.Add(-time.Hour))
		trade(205*dollar, next.Add(time.Minute))
		w.wantFirst(opened, 201*dollar, opened)
		w.wantFirst(next, 205*dollar, next.Add(time.Minute))
		w.restart()
		trade(206*dollar, next.Add(2*time.Hour))
		trade(207*dollar, next.Add(3*time.Hour))
		w.wantFirst(opened, 206*dollar, next.Add(2*time.Hour))
		last := opened
		for day := 2; day < 20; day++ {
			last = opened.AddDate(0, 0, day)
			trade(money.Price(300+day)*dollar, last)
			trade(300*dollar, last.Add(time.Second))
		}
		w.wantFirst(last, 319*dollar, last)
		tenth := last.AddDate(0, 0, -9)
		w.wantFirst(opened, 310*dollar, tenth)
	})
}
