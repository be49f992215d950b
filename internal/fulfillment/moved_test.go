package fulfillment_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// replacing replaces what matches a pattern in an answer.
func replacing(pattern, by string) fault {
	return func(_ *http.Request, carry carrier) (*http.Response, error) {
		response, err := carry()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(response.Body)
		body = regexp.MustCompile(pattern).ReplaceAll(body, []byte(by))
		body = bytes.ReplaceAll(body, []byte(",}"), []byte("}"))
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		response.Header.Del("Content-Length")
		return response, err
	}
}

// movedDividend is a dividend that was recorded at its boundary, moved to 2000-01-07 and is held.
func (w *world) movedDividend() (id string) {
	w.investors()
	id = w.post(dividend + "}")
	w.until("2000-01-04 20:00:00")
	w.run(10 * time.Second)
	w.faulty(ofActions, replacing("2000-01-05", "2000-01-07"))
	w.run(time.Minute)
	w.wantHeld(id, "revised")
	return id
}

// lateBuyer buys between the old ex-date and the new one.
func (w *world) lateBuyer() rewards.User {
	w.until("2000-01-05 12:00:00")
	late := w.newUser(w.app)
	w.wantAfter(5*time.Second, w.giveTo(late, "AAPL", 500*usd), rewards.Executed)
	return late
}

func (w *world) wantPaid(id string, late rewards.User) {
	w.t.Helper()
	w.wantAction(id, rewards.ActionSwept)
	if w.payout(id).cash[late.ID] == 0 {
		w.t.Errorf("who held %s shares at 20:00 before the ex-date gets nothing", w.holding(late, "AAPL").Quantity)
	}
}

// The moved dividend, which an operator applied, is revised once more before its new boundary: another pay date.
func TestAMovedDividendIsRevisedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		id := w.movedDividend()
		w.approve(id)
		w.run(10 * time.Second)
		moved := replacing("2000-01-05", "2000-01-07")
		w.faulty(ofActions, func(r *http.Request, carry carrier) (*http.Response, error) {
			return replacing("2000-01-10", "2000-01-11")(r, func() (*http.Response, error) { return moved(r, carry) })
		})
		w.run(time.Minute)
		late := w.lateBuyer()
		w.until("2000-01-06 20:00:00")
		w.run(time.Minute)
		w.until("2000-01-11 02:30:00")
		w.run(time.Minute)
		w.wantPaid(id, late)
	})
}

// It is withdrawn in time, and listed again.
func TestAMovedDividendIsListedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		id := w.movedDividend()
		w.approve(id)
		w.run(time.Minute)
		w.faulty(ofActions, says(200, `{"corporate_actions":{},"next_page_token":null}`))
		w.run(2 * time.Minute)
		w.wantAction(id, rewards.ActionWithdrawn)
		w.faulty(ofActions, replacing("2000-01-05", "2000-01-07"))
		w.run(time.Minute)
		late := w.lateBuyer()
		w.until("2000-01-06 20:00:00")
		w.run(time.Minute)
		w.until("2000-01-10 02:30:00")
		w.run(time.Minute)
		w.wantPaid(id, late)
	})
}

// The payment has come, and another stock's sweep goes on in the step in which an operator's decision is seen.
func TestAMovedDividendWhileAnotherSweepGoesOn(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.giveTo(w.user, "KO", 500*usd), rewards.Executed)
		id := w.movedDividend()
		late := w.lateBuyer()
		w.until("2000-01-10 02:30:00")
		w.run(time.Minute)
		ko, err := rewards.EnteredAction("entered", rewards.Terms{
			Type: rewards.ActionCashDividend, Symbol: "KO", Rate: "0.25", ExDate: "2000-01-06", PayDate: "2000-01-20",
		}, time.Now(), "the broker's letter")
		w.check(err)
		_, err = w.operator("action enter").EnterAction(w.t.Context(), ko)
		w.check(err)
		w.approve(id)
		w.run(2 * time.Minute)
		w.wantPaid(id, late)
	})
}

// An earlier version held it with the boundary of the old ex-date.
func TestADividendThatWasMovedBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		id := w.movedDividend()
		w.check(w.engine.Write(w.t.Context(), func(ctx context.Context, tx store.Tx) error { // as that version stored it
			_, err := tx.Exec(ctx, `UPDATE actions SET boundary = ?2 WHERE id = ?1`, id,
				time.Date(2000, 1, 5, 1, 0, 0, 0, time.UTC).UnixMicro())
			return err
		}))
		w.run(time.Minute)
		w.approve(id)
		w.run(time.Minute)
		late := w.lateBuyer()
		w.until("2000-01-06 20:00:00")
		w.run(time.Minute)
		w.until("2000-01-10 02:30:00")
		w.run(time.Minute)
		w.wantPaid(id, late)
	})
}

// The ex-date is moved to an earlier day.
func TestADividendIsMovedToAnEarlierDay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		off := w.faulty(ofActions, replacing("2000-01-05", "2000-01-07"))
		id := w.post(dividend + "}")
		w.until("2000-01-04 20:00:00")
		held := w.held("AAPL")
		w.until("2000-01-05 12:00:00")
		late := w.newUser(w.app)
		w.wantAfter(5*time.Second, w.giveTo(late, "AAPL", 5000*usd), rewards.Executed)
		w.until("2000-01-06 20:00:00")
		w.run(time.Minute)
		off()
		w.run(time.Minute)
		w.wantHeld(id, "revised")
		w.approve(id)
		w.run(time.Minute)
		w.until("2000-01-10 02:30:00")
		w.run(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		if p := w.wantShared(id, held); p.cash[late.ID] != 0 {
			w.t.Errorf("who bought after the ex-date gets %s of %s", p.cash[late.ID], p.net)
		}
	})
}

// Announced at 10:00 of its ex-date, and then moved to the next day.
func TestALateDividendIsMovedByADay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		w.faulty(ofActions, says(200, `{"corporate_actions":{},"next_page_token":null}`))
		id := w.post(dividend + "}")
		w.until("2000-01-05 10:00:00")
		late := w.newUser(w.app)
		w.wantAfter(5*time.Second, w.giveTo(late, "AAPL", 500*usd), rewards.Executed)
		w.faulty(ofActions, replacing("no such text", ""))
		w.run(time.Minute)
		w.faulty(ofActions, replacing("2000-01-05", "2000-01-06"))
		w.run(time.Minute)
		w.wantHeld(id, "revised")
		w.approve(id)
		w.until("2000-01-05 20:00:00")
		w.run(time.Minute)
		w.until("2000-01-10 02:30:00")
		w.run(time.Minute)
		w.wantPaid(id, late)
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
		w.holders("AAPL")
		for range 3 {
			w.wantAfter(5*time.Second, w.give("AAPL", 6000*usd), rewards.Executed)
		}
		w.afflict("cash-in-lieu")
		split := w.post(`{"type":"reverse_split","symbol":"AAPL","old_rate":10,"new_rate":1,"ex_date":"2000-01-05"}`)
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		w.until("2000-01-05 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(split, rewards.ActionSwept)
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

// A split is undone by mistake, a merger brings shares of the stock, and the split is applied again.
func TestAMergerAfterAWrongUndo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		w.wantAfter(5*time.Second, w.give("KO", 70*usd), rewards.Executed)
		aapl, ko := w.holding(w.user, "AAPL").Quantity, w.holding(w.user, "KO").Quantity
		split := w.post(`{"symbol":"AAPL","ex_date":"2000-01-05","type":"forward_split","old_rate":1,"new_rate":3}`)
		w.until("2000-01-05 02:30:00")
		w.serve(30 * time.Second)
		w.wantAction(split, rewards.ActionSwept)
		w.undo(split)
		w.serve(20 * time.Second)
		merger := w.post(`{"type":"stock_merger","acquiree_symbol":"KO","acquirer_symbol":"AAPL","acquiree_rate":1,"acquirer_rate":1,` +
			`"effective_date":"2000-01-06"}`)
		w.until("2000-01-06 02:30:00")
		w.serve(30 * time.Second)
		w.approve(merger) // held: the position of AAPL differs
		w.serve(30 * time.Second)
		w.approve(split)
		w.serve(time.Minute)
		w.wantAction(split, rewards.ActionSwept)
		if got := w.holding(w.user, "AAPL").Quantity; got != 3*aapl+ko {
			w.t.Errorf("%s shares of AAPL, want three times %s and %s", got, aapl, ko)
		}
	})
}
