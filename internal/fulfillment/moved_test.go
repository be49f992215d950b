package fulfillment_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

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

// wantPaid checks that who held the stock at the new ex-date is paid.
func (w *world) wantPaid(id string, late rewards.User) {
	w.t.Helper()
	w.wantAction(id, rewards.ActionSwept)
	if w.payout(id).cash[late.ID] == 0 {
		w.t.Errorf("who held %s shares at 20:00 before the ex-date gets nothing", w.holding(late, "AAPL").Quantity)
	}
}

// wantPaidOn is wantPaid after the pay date.
func (w *world) wantPaidOn(payDate, id string, late rewards.User) {
	w.t.Helper()
	w.until("2000-01-06 20:00:00")
	w.run(time.Minute)
	w.until(payDate + " 02:30:00")
	w.run(time.Minute)
	w.wantPaid(id, late)
}

// An operator applies a dividend whose ex-date the broker moved after it was due: who bought before the new one is
// entitled.
func TestTheExDateIsMovedAfterItWasDue(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		id := w.movedDividend()
		w.approve(id)
		w.run(10 * time.Second)
		w.wantPaidOn("2000-01-10", id, w.lateBuyer())
		if a := w.action(id); a.ExDate != "2000-01-07" {
			w.t.Errorf("the ex-date is %s", a.ExDate)
		}
	})
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
		w.wantPaidOn("2000-01-11", id, w.lateBuyer())
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
		w.wantPaidOn("2000-01-10", id, w.lateBuyer())
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
		w.enter(rewards.Terms{
			Type: rewards.ActionCashDividend, Symbol: "KO", Rate: "0.25", ExDate: "2000-01-06", PayDate: "2000-01-20",
		})
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
		w.wantPaidOn("2000-01-10", id, w.lateBuyer())
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
