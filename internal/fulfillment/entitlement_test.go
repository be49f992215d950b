package fulfillment_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// hideDividends leaves the cash dividends out of the announcements.
func hideDividends(r *http.Request, carry carrier) (*http.Response, error) {
	return replacing(`"cash_dividends":\[[^\]]*\]`, `"cash_dividends":[]`)(r, carry)
}

// A dividend is announced after a split of the next day was applied: the broker counted fewer shares than users have then.
func TestADividendIsAnnouncedAfterASplit(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		off := w.faulty(ofActions, hideDividends)
		id := w.post(dividend + "}")
		split := w.announce("1", "4", "2000-01-06")
		w.until("2000-01-04 20:00:00")
		held := w.held("AAPL")
		w.run(10 * time.Second)
		w.until("2000-01-05 20:00:00")
		w.run(10 * time.Second)
		w.until("2000-01-06 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(split, rewards.ActionSwept)
		off()
		w.run(40 * time.Second)
		w.until("2000-01-10 02:30:00")
		w.run(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		for u := range held {
			held[u] *= 4 // as the entitlement was recorded
		}
		w.wantShared(id, held)
	})
}

// A split waits for an operator, and a dividend of the day after is due meanwhile: the broker counts the shares after the
// split, and the entitlement was recorded before it.
func TestADividendWhileASplitWaits(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		split := w.announce("1", "4", "2000-01-05")
		id := w.post(`{"type":"cash_dividend","symbol":"AAPL","rate":0.25,"ex_date":"2000-01-06","payable_date":"2000-01-10"}`)
		held := w.held("AAPL")
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		w.until("2000-01-05 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(split, rewards.ActionHeld)
		w.until("2000-01-05 20:00:00")
		w.run(30 * time.Second)
		w.until("2000-01-06 10:00:00")
		w.until("2000-01-10 02:30:00")
		w.run(time.Minute)
		if p := w.payout(id); p.net != 0 {
			w.t.Errorf("%s is shared before it is decided what the broker counted", p.net)
		}
		w.approve(split)
		w.run(time.Minute)
		w.wantAction(split, rewards.ActionSwept)
		w.wantAction(id, rewards.ActionSwept)
		w.wantShared(id, held)
	}, func(w *world) { w.cfg.ReviewActions = true })
}

// A dividend is entered 50 days after its ex-date: who bought since then is not entitled.
func TestADividendIsEnteredAfterMonths(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		w.faulty(ofActions, hideDividends)
		w.post(dividend + "}")
		w.until("2000-01-04 20:00:00")
		held := w.held("AAPL")
		w.until("2000-01-06 12:00:00")
		late := w.newUser(w.app)
		w.wantAfter(5*time.Second, w.giveTo(late, "AAPL", 5000*usd), rewards.Executed)
		w.until("2000-01-10 02:30:00")
		w.run(2 * time.Minute)
		w.until("2000-02-25 12:00:00")
		w.run(time.Minute)
		w.enter(rewards.Terms{
			Type: rewards.ActionCashDividend, Symbol: "AAPL", Rate: "0.25", ExDate: "2000-01-05", PayDate: "2000-01-10",
		})
		w.run(2 * time.Minute)
		w.wantAction("entered", rewards.ActionSwept)
		p := w.wantShared("entered", held)
		if p.cash[late.ID] != 0 {
			w.t.Errorf("who bought after the ex-date gets %s of %s", p.cash[late.ID], p.net)
		}
	})
}

// A fill without a time counts for a dividend that is announced late when its order was planned before the entitlement.
func TestAFillWithoutATimeAfterTheEntitlement(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		off := w.faulty(ofActions, says(200, `{"corporate_actions":{},"next_page_token":null}`))
		id := w.post(dividend + "}")
		w.until("2000-01-04 19:59:50")
		w.buy()
		held := w.held("AAPL")
		w.until("2000-01-05 10:00:00")
		w.wire.rewrite = func(o map[string]any) { o["filled_at"] = nil }
		late := w.newUser(w.app)
		w.wantAfter(5*time.Second, w.giveTo(late, "AAPL", 500*usd), rewards.Executed)
		off()
		w.run(20 * time.Second)
		w.until("2000-01-10 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantShared(id, held)
	})
}

// A client that takes the keys of an award of cash keeps nobody from theirs.
func TestAClientTakesAllKeysOfADividend(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var batch []rewards.NewReward
		for range 1_000 { // as many as one part of a payout
			batch = append(batch, w.newRewardOf(w.newUser(w.app), "AAPL", 20*usd))
		}
		_, err := w.store.RecordRewards(w.t.Context(), batch)
		w.check(err)
		other, _, err := w.store.CreateApp(w.t.Context(), "other", rewards.Key{Hash: rewards.KeyHash{1}})
		w.check(err)
		victim := w.newUser(other)
		w.giveTo(victim, "AAPL", 2000*usd)
		w.run(20 * time.Second)
		id := w.post(dividend + "}")
		batch = nil
		for n := range 120 { // awards of a millionth of a dollar
			theirs := w.newRewardOf(w.users[1], "AAPL", 1)
			theirs.IdempotencyKey = "dividend:" + id + ":" + w.users[1].ID.String()
			if n > 0 {
				theirs.IdempotencyKey += fmt.Sprint(":", n+1)
			}
			theirs.Fingerprint = rewards.NewFingerprint(theirs, "")
			batch = append(batch, theirs)
		}
		_, err = w.store.RecordRewards(w.t.Context(), batch)
		w.check(err)
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		w.until("2000-01-10 02:30:00")
		w.run(2 * time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		if _, paid := w.awards(victim)["dividend:"+id+":"+victim.ID.String()]; !paid {
			w.t.Errorf("the user of another app, whose part is %s, has no award", w.payout(id).cash[victim.ID])
		}
		found := 0
		for key, r := range w.awards(w.users[1]) {
			if r.Source == "dividend" && strings.HasPrefix(key, "dividend:"+id) {
				found++
			}
		}
		if found != 1 {
			w.t.Errorf("the user whose keys are taken has %d awards, want one", found)
		}
	})
}

// The position shows a split that is not announced, and a dividend of the day after is paid meanwhile.
func TestADividendWhileThePositionIsInDoubt(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		id := w.post(`{"type":"cash_dividend","symbol":"AAPL","rate":0.25,"ex_date":"2000-01-06","payable_date":"2000-01-10"}`)
		w.faulty(ofActions, replacing(`"forward_splits":\[[^\]]*\]`, `"forward_splits":[]`))
		w.announce("1", "4", "2000-01-05")
		w.until("2000-01-05 02:30:00")
		w.run(30 * time.Second)
		doubt := w.actionsOf(rewards.ActionHeld)
		if len(doubt) != 1 || doubt[0].Type != rewards.ActionPosition {
			w.t.Fatalf("held: %+v, want the position", doubt)
		}
		w.until("2000-01-05 20:00:00")
		w.run(30 * time.Second)
		w.until("2000-01-10 02:30:00")
		w.run(time.Minute)
		w.approve(doubt[0].ID)
		w.run(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		if p := w.payout(id); p.shared < p.net*9/10 {
			w.t.Errorf("the users, who have all shares, get %s of %s", p.shared, p.net)
		}
	})
}

// The broker does not say how many shares it counted, and the house owes some.
func TestADividendThatIsNotCountedWhileTheHouseOwes(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.owing(6000*usd, 6000*usd, 6000*usd)
		id := w.post(`{"type":"cash_dividend","symbol":"AAPL","rate":100,"ex_date":"2000-01-06","payable_date":"2000-01-10"}`)
		held := w.held("AAPL")
		w.until("2000-01-05 20:00:00")
		w.run(10 * time.Second)
		w.faulty(ofActivities, replacing(`"qty":"[^"]*",?`, ""))
		w.until("2000-01-10 02:30:00")
		w.run(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		p := w.payout(id)
		var all money.Shares
		for _, n := range held {
			all += n
		}
		for _, u := range w.users {
			want, err := rewards.Payment{Net: p.net, Counted: all}.Share(held[u.ID])
			w.check(err)
			if p.cash[u.ID] != want {
				w.t.Errorf("of %s shares %s is paid, want the same part less: %s", held[u.ID], p.cash[u.ID], want)
			}
		}
	})
}
