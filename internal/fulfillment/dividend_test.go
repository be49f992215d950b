package fulfillment_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// dividend is a cash dividend of AAPL with the ex-date 2000-01-05, paid on 2000-01-10.
const dividend = `{"type":"cash_dividend","symbol":"AAPL","rate":0.25,"ex_date":"2000-01-05","payable_date":"2000-01-10"`

// awards are all awards of a user, by idempotency key.
func (w *world) awards(u rewards.User) map[string]rewards.Reward {
	w.t.Helper()
	list, err := w.store.Rewards(w.t.Context(), u.AppID, rewards.RewardFilter{UserID: &u.ID}, rewards.Page[rewards.Reward]{Limit: 100})
	w.check(err)
	byKey := make(map[string]rewards.Reward, len(list))
	for _, r := range list {
		byKey[r.IdempotencyKey] = r
	}
	return byKey
}

// payout is what was paid for an action, and the parts of all users.
type payout struct {
	net, shared money.USD
	counted     money.Shares
	cash        map[rewards.UserID]money.USD
}

func (w *world) payout(id string) payout {
	w.t.Helper()
	p := payout{cash: make(map[rewards.UserID]money.USD)}
	w.check(w.engine.Read(w.t.Context(), func(ctx context.Context, tx store.Tx) error {
		err := tx.Query(ctx, func(row store.Row) error {
			return row.Scan((*int64)(&p.net), (*int64)(&p.shared), (*int64)(&p.counted))
		}, `SELECT net, shared, counted FROM payouts WHERE action_id = ?1`, id)
		if err != nil {
			return err
		}
		return tx.Query(ctx, func(row store.Row) error {
			var user string
			var cash int64
			err := row.Scan(&user, &cash)
			for _, u := range w.users {
				if fmt.Sprintf("%X", u.ID[:]) == user {
					p.cash[u.ID] += money.USD(cash)
				}
			}
			return err
		}, `SELECT hex(e.user_id), e.cash FROM effects e JOIN payouts p ON p.switch = e.switch WHERE p.action_id = ?1`, id)
	}))
	return p
}

// wantShared checks that every user got the floor of their part, by the shares that they held, and
// that the parts add up.
func (w *world) wantShared(id string, held map[rewards.UserID]money.Shares) payout {
	w.t.Helper()
	p := w.payout(id)
	var sum money.USD
	for _, u := range w.users {
		want, err := rewards.Payment{Net: p.net, Counted: p.counted}.Share(held[u.ID])
		w.check(err)
		if p.cash[u.ID] != want {
			w.t.Errorf("of %s shares %s is paid, want %s", held[u.ID], p.cash[u.ID], want)
		}
		sum += p.cash[u.ID]
	}
	if sum != p.shared || sum > p.net || p.net == 0 {
		w.t.Errorf("%s shared of %s, the parts add up to %s", p.shared, p.net, sum)
	}
	return p
}

// held are the shares of all users.
func (w *world) held(symbol string) map[rewards.UserID]money.Shares {
	w.t.Helper()
	held := make(map[rewards.UserID]money.Shares, len(w.users))
	for _, u := range w.users {
		held[u.ID] = w.holding(u, symbol).Quantity
	}
	return held
}

// investors gives users of two apps some shares of AAPL; the second app keeps dividends.
func (w *world) investors() (keeps rewards.App) {
	w.t.Helper()
	keeps, _, err := w.store.CreateApp(w.t.Context(), "keeps", rewards.Key{Hash: rewards.KeyHash{1}})
	w.check(err)
	w.check(w.store.SetDividends(w.t.Context(), "keeps", rewards.DividendsHouse))
	w.newUser(w.app)
	w.newUser(keeps)
	for i, u := range w.users {
		w.giveTo(u, "AAPL", money.USD(1_234_567_891*(i+1)))
	}
	w.run(5 * time.Second)
	return keeps
}

// Who has shares at 20:00 New York of the session before the ex-date gets their part on the pay
// date, as an award of the same stock; an app may leave it to the house. Nothing stops ordering.
func TestADividendIsShared(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{"untaxed": "", "taxed": `,"tax_rate":0.15`}, func(w *world, tax string) {
		keeps := w.investors()
		id := w.post(dividend + tax + "}")
		w.wantAlarm("", false)
		w.until("2000-01-04 19:59:50")
		w.buy()
		held := w.held("AAPL")
		w.until("2000-01-04 20:00:00")
		late := w.newUser(w.app)
		after := w.giveTo(late, "AAPL", 500*usd)
		w.wantAfter(5*time.Second, after, rewards.Executed)
		w.buy()
		w.until("2000-01-10 02:29:50")
		w.wantAction(id, rewards.ActionAnnounced)
		w.run(5 * time.Second)
		if p := w.payout(id); p.net != 0 {
			w.t.Errorf("paid before the pay date: %+v", p)
		}
		w.until("2000-01-10 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		p := w.wantShared(id, held)
		if p.cash[late.ID] != 0 {
			w.t.Errorf("who came after 20:00 got %s", p.cash[late.ID])
		}
		if rate := 4 * int64(p.net) / int64(p.counted/1000); rate != 1 && tax == "" {
			w.t.Errorf("%s for %s shares", p.net, p.counted)
		}
		for _, u := range w.users {
			key := "dividend:" + id + ":" + u.ID.String()
			r, awarded := w.awards(u)[key]
			switch {
			case u.ID == late.ID || u.AppID == keeps.ID:
				if awarded {
					w.t.Errorf("an award without a reason: %+v", r)
				}
			case r.Amount != p.cash[u.ID] || r.Symbol != "AAPL" || r.Source != "dividend" ||
				r.Metadata != `{"corporateActionId":"`+id+`"}` || r.Status != rewards.Executed:
				w.t.Errorf("the award of %s is %+v", p.cash[u.ID], r)
			}
		}
		if owed, err := w.store.OwedCash(w.t.Context(), id); err != nil || len(owed) != 0 {
			w.t.Errorf("owed: %+v, %v", owed, err)
		}
		w.wantBalance()
		w.wantAlarm("", false)
		w.run(time.Minute)
		if n := w.count(`SELECT count(*) FROM rewards WHERE source = 'dividend'`); n != 2 {
			w.t.Errorf("%d awards of the dividend, want 2", n)
		}
	})
}

// The key of a dividend's award may be a client's already: then it has a number.
func TestTheKeyOfADividendIsTaken(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("AAPL", 2000*usd), rewards.Executed)
		id := w.post(dividend + "}")
		key := "dividend:" + id + ":" + w.user.ID.String()
		theirs := w.newReward("AAPL", 5*usd)
		theirs.IdempotencyKey, theirs.Fingerprint = key, rewards.Fingerprint{1}
		_, err := w.store.RecordRewards(w.t.Context(), []rewards.NewReward{theirs})
		w.check(err)
		w.until("2000-01-04 20:00:00")
		w.run(5 * time.Second)
		w.until("2000-01-10 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		awards := w.awards(w.user)
		if got := awards[key]; got.Amount != 5*usd || got.Source != "" {
			w.t.Errorf("the client's award is %+v", got)
		}
		if got := awards[key+":2"]; got.Amount != w.payout(id).cash[w.user.ID] || got.Source != "dividend" {
			w.t.Errorf("the award of the dividend is %+v", got)
		}
	})
}

// What an order bought before 20:00 but is booked later gets no part: the house pays. The
// entitlement does not wait for the order.
func TestAnOrderIsOpenWhenTheEntitlementIsFixed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.investors()
		id := w.post(dividend + "}")
		w.until("2000-01-04 19:59:30")
		w.disguises()
		held := w.held("AAPL")
		open := w.give("AAPL", 500*usd)
		w.run(10 * time.Second)
		o := w.quarantined()
		w.reportsTruth()
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		w.until("2000-01-05 12:00:00")
		w.run(10 * time.Second)
		for _, b := range w.orders() {
			if b.ClientOrderID == o.ClientOrderID {
				w.resolve(o, rewards.Resolution{FilledQty: b.FilledQty, Price: b.FilledAvgPrice})
			}
		}
		w.wantAfter(10*time.Second, open, rewards.Executed)
		w.until("2000-01-10 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantShared(id, held)
		w.wantBalance()
	})
}

// The entitlement is fixed although the broker does not show its positions at 20:00.
func TestTheEntitlementNeedsNoPositions(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		id := w.post(dividend + "}")
		held := w.held("AAPL")
		w.until("2000-01-04 19:59:55")
		off := w.faulty(ofPositions, down)
		w.run(10 * time.Second)
		w.buy()
		off()
		w.until("2000-01-10 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantShared(id, held)
	})
}

// A dividend and a split of the same night: the shares of before the split count for the cash, and
// the award buys shares of after it.
func TestADividendAndASplitOfOneNight(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		id, split := w.post(dividend+"}"), w.announce("1", "4", "2000-01-05")
		held := w.held("AAPL")
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		w.until("2000-01-05 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(split, rewards.ActionSwept)
		for _, u := range w.users {
			if got := w.holding(u, "AAPL").Quantity; got != 4*held[u.ID] {
				w.t.Errorf("%s shares became %s", held[u.ID], got)
			}
		}
		w.until("2000-01-10 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantShared(id, held)
		w.wantBalance()
		w.wantAlarm("", false)
	})
}

// A dividend that the broker does not pay within 60 days is for an operator.
func TestADividendThatIsNotPaid(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		id := w.post(dividend + "}")
		w.faulty(ofActivities, says(200, `[]`))
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		w.until("2000-03-10 12:00:00")
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionAnnounced)
		w.until("2000-03-11 12:00:00")
		w.run(30 * time.Second)
		w.wantHeld(id, "not paid within 60 days")
		w.buy()
	})
}

// A dividend that is announced on its ex-date is shared over those who held the stock the evening
// before, although others have bought since.
func TestADividendThatIsAnnouncedLate(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		off := w.faulty(ofActions, says(200, `{"corporate_actions":{},"next_page_token":null}`))
		id := w.post(dividend + "}")
		w.until("2000-01-04 19:59:50")
		w.buy()
		held := w.held("AAPL")
		w.until("2000-01-05 10:00:00")
		late := w.newUser(w.app)
		w.wantAfter(5*time.Second, w.giveTo(late, "AAPL", 500*usd), rewards.Executed)
		w.buy()
		off()
		w.run(20 * time.Second)
		w.until("2000-01-10 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantShared(id, held)
		w.wantBalance()
	})
}

// The session before an ex-date is the one of the broker's calendar.
func TestTheEntitlementAfterALongWeekend(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		id := w.post(strings.NewReplacer("01-05", "01-18", "01-10", "01-20").Replace(dividend) + "}")
		if got, want := w.action(id).Boundary, time.Date(2000, 1, 15, 1, 0, 0, 0, time.UTC); !got.Equal(want) {
			w.t.Errorf("who is entitled is fixed at %s, want %s: Monday is Martin Luther King's day", got, want)
		}
	}, usHours)
}

// Activities that cannot be read for ten minutes have an alarm until they are read again.
func TestActivitiesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		activities := func(r *http.Request) bool { return r.URL.Path == "/v2/account/activities" }
		off := w.faulty(activities, loseRequest)
		w.run(9 * time.Minute)
		w.wantAlarm(rewards.AlarmActivitiesUnknown, false)
		w.run(3 * time.Minute)
		w.wantAlarm(rewards.AlarmActivitiesUnknown, true)
		off()
		w.run(2 * time.Minute)
		w.wantAlarm(rewards.AlarmActivitiesUnknown, false)
	})
}

// Two dividends of a stock at the same rate, of which the first is paid after the ex-date of the second, or on the same
// day: a payment is for one action, and both are shared. One that is announced again within five days waits for an
// operator: mostly it is an error, and would take the payment of the other one.
func TestTwoDividendsOfOneRate(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		first := w.post(`{"type":"cash_dividend","symbol":"AAPL","rate":0.25,"ex_date":"2000-01-05","payable_date":"2000-01-25"}`)
		second := w.post(`{"type":"cash_dividend","symbol":"AAPL","rate":0.25,"ex_date":"2000-01-20","payable_date":"2000-02-10"}`)
		third := w.post(`{"type":"cash_dividend","symbol":"AAPL","rate":0.25,"ex_date":"2000-01-20","payable_date":"2000-02-10"}`)
		for _, at := range []string{"2000-01-04 20:00:00", "2000-01-19 20:00:00", "2000-01-25 02:30:00"} {
			w.until(at)
			w.run(2 * time.Minute)
		}
		second, third = min(second, third), max(second, third)
		w.wantHeld(third, "it repeats the action "+second)
		w.approve(third)
		w.run(time.Minute)
		if w.payout(first).net == 0 || w.payout(second).net != 0 {
			w.t.Errorf("after the first pay date %s and %s were shared", w.payout(first).net, w.payout(second).net)
		}
		w.until("2000-02-10 02:30:00")
		w.run(2 * time.Minute)
		if w.payout(second).net == 0 || w.payout(third).net == 0 {
			w.t.Errorf("%s and %s were shared on the second pay date", w.payout(second).net, w.payout(third).net)
		}
	})
}

// However many fills the broker lists, a dividend is shared: fills are a list of their own.
func TestManyFillsHideNoDividend(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		id := w.post(dividend + "}")
		n := 0
		w.faulty(ofActivities, func(r *http.Request, carry carrier) (*http.Response, error) {
			if r.URL.Query().Get("category") == "non_trade_activity" {
				return carry()
			}
			list := make([]string, 100)
			for i := range list {
				n++
				list[i] = fmt.Sprintf(`{"activity_type":"FILL","id":"20000103000000000::%036d","symbol":"KO","qty":"1","cum_qty":"1",
					"price":"60","side":"buy","type":"fill","order_id":"an-order","transaction_time":"2000-01-03T15:00:00Z"}`, n)
			}
			return says(200, "["+strings.Join(list, ",")+"]")(r, carry)
		})
		w.until("2000-01-04 20:00:00")
		w.run(5 * time.Second)
		w.until("2000-01-10 02:30:00")
		w.restart()
		w.run(2 * time.Minute)
		if w.payout(id).net == 0 || n < 1000 {
			w.t.Errorf("the dividend was not shared; %d fills were read", n)
		}
	})
}
