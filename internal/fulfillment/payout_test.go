package fulfillment_test

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Who held the stock at 20:00 gets the dividend, also when that is recorded after all was taken back.
func TestADividendOfWhatWasTakenBackSince(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]money.USD{"all but a millionth": 1, "all": 0}, func(w *world, left money.USD) {
		w.investors()
		id := w.post(dividend + "}")
		w.until("2000-01-04 19:59:50")
		held := w.held("AAPL")
		time.Sleep(30 * time.Second) // nobody leads
		for _, r := range w.awards(w.users[0]) {
			back := rewards.NewReversal{AppID: r.AppID, RewardID: r.ID, IdempotencyKey: "back-" + r.ID.String()}
			if left > 0 {
				back.Amount = r.Amount - left
			}
			o, err := w.store.ReverseRewards(w.t.Context(), []rewards.NewReversal{back})
			w.check(err)
			w.check(o[0].Refused)
		}
		w.run(10 * time.Second)
		w.until("2000-01-10 02:30:00")
		w.run(40 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		if p := w.wantShared(id, held); p.cash[w.users[0].ID] == 0 {
			w.t.Error("nothing is paid for what was held")
		}
		w.wantBalance()
	})
}

// The awards of a merger's cash are recorded, and the service dies before it notes them. Meanwhile the acquirer's stock
// is disabled. The cash is not owed too.
func TestCashThatWasAwardedIsNotOwed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.holders("AAPL")
		id := w.post(`{"type":"cash_merger","acquiree_symbol":"AAPL","acquirer_symbol":"KO","rate":210.25,"effective_date":"2000-01-05"}`)
		failed := false
		w.restartWith(hooked{w.store, func(name string, write func() error) error {
			if name == "SavePaid" && !failed {
				failed = true
				w.check(w.store.SetEnabled(w.t.Context(), "KO", false))
				return rewards.Unavailable("the database cannot be reached", errors.New("lost"))
			}
			return write()
		}}, newClient(w.wire))
		w.overnight()
		w.serve(2 * time.Minute)
		if owed, err := w.store.OwedCash(w.t.Context(), id); err != nil || len(owed) > 0 || !failed {
			w.t.Errorf("owed %+v, %v; the service died: %t", owed, err, failed)
		}
		for _, u := range w.users {
			w.want(w.awards(u)["merger:"+id+":"+u.ID.String()], rewards.Executed)
		}
	})
}

// A part of a dividend that is more than an award may have is listed, unless the app keeps dividends.
func TestADividendLargerThanAnAward(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		keeps := w.investors()
		id := w.post(`{"type":"cash_dividend","symbol":"AAPL","rate":400000,"ex_date":"2000-01-05","payable_date":"2000-01-10"}`)
		w.until("2000-01-04 20:00:00")
		w.run(5 * time.Second)
		w.until("2000-01-10 02:30:00")
		w.run(40 * time.Second)
		cash := w.payout(id).cash
		owed, err := w.store.OwedCash(w.t.Context(), id)
		w.check(err)
		if len(owed) != len(w.users)-1 {
			w.t.Errorf("%d parts are owed", len(owed))
		}
		for _, o := range owed {
			if o.AppID == keeps.ID || o.Cash != cash[o.UserID] || o.Cash <= 1_000_000*usd || o.Why != "it is more than an award may have" {
				w.t.Errorf("owed %+v", o)
			}
		}
	})
}
