package sim

import (
	"context"
	"math/big"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// announceDividend has the brokerage announce a dividend of a stock, whatever else happens to that, and sometimes
// another one of the same day.
func (l *lab) announceDividend() {
	l.advanceEvents()
	paying := slices.DeleteFunc(slices.Clone(l.firms.list), func(s *firm) bool { return s.gone || s.quiet || len(s.held) == 0 })
	if len(paying) == 0 {
		return
	}
	busy := slices.DeleteFunc(slices.Clone(paying), func(s *firm) bool { return s.event == nil })
	if len(busy) > 0 && l.random.IntN(3) > 0 {
		paying = busy
	}
	stock, ahead := paying[l.random.IntN(len(paying))], l.sessionsAhead()
	ex := ahead[l.random.IntN(min(2, len(ahead)))]
	for range 1 + l.random.IntN(4)/3 {
		l.announce(&event{kind: cashDividend, stock: stock, keep: big.NewRat(1, 1)}, ex, l.drawFault(cashDividend))
	}
}

// nextRate is what the stock's next dividend pays for a share: each pays another amount, so that the payments are not
// taken for each other.
func (s *firm) nextRate() string {
	rates := []string{"0.77", "0.0125", "3.1", "0.2", "1.5", "0.05", "6", "0.41", "2.2", "12"}
	s.dividends++
	return rates[(s.dividends-1)%len(rates)]
}

// entitle notes who held the stock of a dividend at its boundary, in the units of its ex-date.
func (l *lab) entitle(e *event, w rewards.Switch) {
	e.applied, e.house, e.entitled = true, l.house(w.AssetID), map[rewards.UserID]money.Shares{}
	units := big.NewRat(1, 1)
	for _, other := range l.firms.events {
		if other.stock != e.stock || other.keep.Sign() == 0 {
			continue
		}
		booked := other.applied && (!other.mistake || !other.withdrawn)
		happened := !other.mistake && !other.withdrawn && !other.at.After(e.boundary)
		switch {
		case booked && other.mistake:
			return // the operator's mistake changes who gets what
		case happened && !booked:
			units.Mul(units, other.keep)
			e.house = min(e.house, -1) // it may owe what the broker lacks after that
		case booked && !happened:
			units.Quo(units, other.keep)
		}
	}
	for user, has := range e.stock.held {
		e.entitled[user] = has.shares
	}
	for _, p := range e.stock.bought {
		if !p.at.Before(e.boundary) {
			e.entitled[p.user] -= p.shares
		}
	}
	for user, shares := range e.entitled {
		e.entitled[user] = money.Shares(floor(int64(shares), units))
	}
}

// entitledInAll is how many shares of a dividend's stock all users have.
func (e *event) entitledInAll() (sum money.Shares) {
	for _, shares := range e.entitled {
		sum += shares
	}
	return sum
}

// verifyCash checks that each payment was shared among those who held the stock, once.
func (l *lab) verifyCash() {
	activities := l.activities()
	for _, e := range l.firms.events {
		if e.kind != cashDividend || e.withdrawn || len(e.entitled) == 0 {
			continue
		}
		var net money.USD
		var counted money.Shares
		for _, n := range activities {
			if n.GroupID == e.id {
				net += n.Net
				counted = max(counted, n.Qty)
			}
		}
		if counted == 0 || net == 0 {
			continue // nobody had a cent's worth
		}
		total := e.entitledInAll()
		if l.mistaken(e) {
			continue
		}
		busted := slices.ContainsFunc(l.busts, func(b *bust) bool { return b.stock == e.stock.name }) // the house owes it
		if total > counted && e.house >= 0 && !busted {
			l.violate("nobody is entitled to what the broker did not count", e.id, "%s of %s, the house %s", total, counted, e.house)
		}
		effects, found := l.effects(e.id)
		left := net
		for _, user := range e.stock.users() {
			want := money.USD(floor(int64(net), big.NewRat(int64(e.entitled[user]), int64(max(counted, total)))))
			got := effects[user]
			const rounded = 1 // where a split was applied in between
			if left -= got.Cash; got.Cash > want+rounded || got.Cash < want-rounded && left > 0 {
				l.violate("a dividend is shared exactly", e.id, "%s with %s of %s (%s counted) got %s of %s, want %s", user, e.entitled[user], total, counted, got.Cash, net, want)
			}
		}
		if !found || left < 0 {
			l.violate("a dividend is paid, and its parts are not more than was received", e.id, "found %v, left %s of %s", found, left, net)
		}
	}
}

// mistaken reports whether an operator applied something to the stock by mistake around the dividend: then it changes who
// gets how much.
func (l *lab) mistaken(e *event) bool {
	const around = 14 * 24 * time.Hour
	return slices.ContainsFunc(l.firms.events, func(other *event) bool {
		return other.mistake && other.applied && other.stock == e.stock && other.at.Sub(e.boundary).Abs() < around
	})
}

// unpaid is how many dividends the brokerage has paid that are not shared among all users yet.
func (l *lab) unpaid() (n int) {
	if l.firms == nil {
		return 0
	}
	paid := map[string]bool{}
	for _, n := range l.activities() {
		paid[n.GroupID] = paid[n.GroupID] || n.Qty > 0 && n.Net > 0 // a tax that is withheld is listed after it
	}
	for _, e := range l.firms.events {
		if e.kind != cashDividend || e.withdrawn || len(e.entitled) == 0 || !paid[e.id] {
			continue
		}
		if _, shared := l.effects(e.id); !shared {
			n++
		}
	}
	return n
}

// activities are all of the brokerage's account activities, without its fills.
func (l *lab) activities() (all []rewards.Activity) {
	for token, first := "", true; first || token != ""; first = false {
		page, next, err := l.operator.Activities(l.t.Context(), "", yearBegin(), token)
		l.check(err)
		all, token = append(all, page...), next
	}
	return slices.DeleteFunc(all, func(n rewards.Activity) bool { return strings.HasPrefix(n.Type, "FILL") })
}

// effects are what an action did to each user, and whether its cash was paid out.
func (l *lab) effects(action string) (list map[rewards.UserID]rewards.Effect, paid bool) {
	list = map[rewards.UserID]rewards.Effect{}
	l.check(l.engine.Read(l.t.Context(), func(ctx context.Context, tx store.Tx) error {
		err := tx.Query(ctx, func(row store.Row) error {
			var user string
			var cash money.USD
			err := row.Scan(&user, (*int64)(&cash))
			list[l.userOf(user)] = rewards.Effect{Cash: cash}
			return err
		}, `SELECT hex(e.user_id), e.cash FROM effects e JOIN switches w ON w.number = e.switch WHERE w.action_id = ?1`, action)
		if err != nil {
			return err
		}
		return tx.Query(ctx, func(row store.Row) error {
			var at int64
			err := row.Scan(&at)
			paid = at > 0
			return err
		}, `SELECT paid_at FROM payouts WHERE action_id = ?1`, action)
	}))
	return list, paid
}
