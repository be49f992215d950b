package sim

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// watched is the state of the books after the last step.
type watched struct {
	live    map[string]rewards.Order // not final, by client order id
	filled  map[string]money.Shares  // by symbol
	planned map[string]money.USD     // notional, by UTC day
	faultOf map[string]string        // the kind of fault that struck an order, by client order id
	excess  []rewards.Order          // settled orders of which the broker reported less than it bought
	lifted  [apps]time.Time          // when an app's suspension ended
	final   int                      // orders
}

// violate reports a violated invariant with the story of its subject.
func (l *lab) violate(promise, about, format string, args ...any) {
	l.t.Helper()
	l.note("VIOLATED: "+promise+": "+about+": "+format, args...)
	l.t.Errorf("seed %d: violated: %s\n%s\nthe story of %s:\n%s",
		l.seed, promise, l.story[len(l.story)-1], about, strings.Join(l.storyOf(about), "\n"))
}

// storyOf is the lines about a reward's key or an order's id, and about those that share an
// order with it.
func (l *lab) storyOf(about string) []string {
	tags := []string{about}
	for _, line := range l.story { // the orders of a reward, the rewards of an order
		if _, names, found := strings.Cut(line, " carries "); found && strings.Contains(line, about) {
			for _, name := range strings.Fields(names) {
				if !slices.Contains(tags, name) && (name == about || strings.HasPrefix(name, "sr-")) {
					tags = append(tags, name)
				}
			}
		}
	}
	var lines []string
	for _, line := range l.story {
		if slices.ContainsFunc(tags, func(tag string) bool { return strings.Contains(line, tag) }) {
			lines = append(lines, line)
		}
	}
	const most = 40
	lines = append(lines[max(0, len(lines)-most):], "the last lines:")
	return append(lines, l.story[max(0, len(l.story)-most):]...)
}

// sawPlanned checks a new order within the step that plans it.
func (l *lab) sawPlanned(p *process, o rewards.Order) {
	l.live[o.ClientOrderID] = o
	l.checkOrdered(o)
	day := time.Now().UTC().Format(time.DateOnly)
	l.planned[day] += o.Notional
	members, err := l.store.Members(l.t.Context(), o.ID)
	l.check(err)
	sum := o.House
	ids := ""
	for _, m := range members {
		sum += m.Amount
		ids += " " + m.RewardID.String()
	}
	l.note("%s: order %s of %s for %s is planned, %s carries%s %s", p.name, o.ID, o.Symbol, o.Notional, o.ClientOrderID, ids, o.ClientOrderID)
	if sum != o.Notional || o.Notional > rewards.LowestMaxNotional || l.planned[day] > l.config.dailyLimit {
		l.violate("an order is the sum of its members and within the limits", o.ClientOrderID,
			"%s of %s, on this day %s of %s", sum, o.Notional, l.planned[day], l.config.dailyLimit)
	}
}

// sawNews notes the fault that struck an order whose state is about to be written.
func (l *lab) sawNews(before rewards.Order) {
	kind, known := l.faultOf[before.ClientOrderID]
	if !known {
		r, found := l.record(before.ClientOrderID)
		if !found {
			return
		}
		kind, _, _ = strings.Cut(r.Fault, " ")
		l.faultOf[before.ClientOrderID] = kind
	}
	if kind != "" {
		l.cover.hit(rowOf(before), kind)
	}
}

// watch checks everything that a step may have changed.
func (l *lab) watch() {
	l.advanceEvents()
	now, err := l.store.LiveOrders(l.t.Context())
	l.check(err)
	before := l.live
	l.live = make(map[string]rewards.Order, len(now))
	for _, o := range now {
		l.live[o.ClientOrderID] = o
		l.checkTransition(before[o.ClientOrderID], o)
		delete(before, o.ClientOrderID)
	}
	if len(before) == 0 {
		return
	}
	ended, err := l.store.OrdersByClientID(l.t.Context(), slices.Sorted(maps.Keys(before)))
	l.check(err)
	for _, id := range slices.Sorted(maps.Keys(before)) {
		o, found := ended[id]
		if !found || !o.State.Final() {
			l.violate("an order that was planned stays in the books", id, "%+v", o)
			continue
		}
		l.checkTransition(before[id], o)
		l.checkEnded(o)
	}
}

func (l *lab) checkTransition(before, o rewards.Order) {
	if before.State == o.State && before.Reason == o.Reason && before.FilledQty == o.FilledQty && before.Attempts == o.Attempts {
		return
	}
	l.note("order %s of %s: %s, attempts %d, %s %s, %s", o.ClientOrderID, o.Symbol, o.State, o.Attempts, o.BrokerStatus, o.FilledQty, o.Reason)
	if before.State != 0 && !reaches(before.State, o.State) {
		l.violate("an order makes only allowed transitions", o.ClientOrderID, "from %s to %s", before.State, o.State)
	}
	if before.MembersHash != o.MembersHash && before.State != 0 || o.Attempts < before.Attempts || o.Notional != before.Notional && before.State != 0 {
		l.violate("an order is frozen when it is planned", o.ClientOrderID, "%+v, was %+v", o, before)
	}
}

func reaches(from, to rewards.OrderState) bool {
	seen := map[rewards.OrderState]bool{from: true}
	for todo := []rewards.OrderState{from}; len(todo) > 0; todo = todo[1:] {
		for next := rewards.OrderPlanned; next <= rewards.OrderRefused; next++ {
			if todo[0].CanBecome(next) && !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return seen[to]
}

// checkEnded compares what was booked for a final order with the brokerage.
func (l *lab) checkEnded(o rewards.Order) {
	l.final++
	r, found := l.record(o.ClientOrderID)
	switch {
	case o.FilledQty > r.FilledQty, o.State == rewards.OrderRefused && o.FilledQty != 0:
		l.violate("nothing is booked that was not bought", o.ClientOrderID, "booked %s, bought %s", o.FilledQty, r.FilledQty)
	case found && l.stock(r.Symbol) != l.stock(o.Symbol):
		l.violate("what is booked is what was bought", o.ClientOrderID, "%s, bought %s", o.Symbol, r.Symbol)
	case o.FilledQty < r.FilledQty || found && !ended(r):
		if kind, _, _ := strings.Cut(r.Fault, " "); kind != "shrinking-fill" && kind != "fill-after-cancel" {
			l.violate("what was bought is booked", o.ClientOrderID, "booked %s, bought %s (%s)", o.FilledQty, r.FilledQty, r.Fault)
		}
		l.excess = append(l.excess, o)
	}
	l.filled[l.stock(o.Symbol)] += o.FilledQty
	l.sawEnded(o, r.Fault)
	members, err := l.store.Members(l.t.Context(), o.ID)
	l.check(err)
	sum := o.HouseShares
	for _, m := range members {
		sum += l.gained(o, m)
	}
	if sum != o.FilledQty {
		l.violate("allocations equal the fill", o.ClientOrderID, "%s of %s", sum, o.FilledQty)
	}
}

// gained is a member's shares of an order that has just ended. It checks the member's reward.
func (l *lab) gained(o rewards.Order, m rewards.Claim) money.Shares {
	shares, err := l.store.SharesOf(l.t.Context(), m.AppID, []rewards.RewardID{m.RewardID})
	l.check(err)
	r, err := l.store.Reward(l.t.Context(), m.AppID, m.RewardID)
	l.check(err)
	switch {
	case r.Booked > r.Amount,
		r.Status == rewards.Executed && (r.Booked != r.Amount || shares[m.RewardID] <= 0 || r.ExecutedAt.Before(r.CreatedAt())),
		r.Status == rewards.Failed && shares[m.RewardID] != 0,
		r.Status == rewards.Failed && o.FilledQty != 0 && !strings.HasPrefix(r.FailureReason, "amount_too_small") && !l.carriedAgain(o, m),
		r.Status == rewards.Recorded:
		l.violate("a reward is executed or failed completely", r.IdempotencyKey, "%+v, shares %s", r, shares[m.RewardID])
	}
	if r.Status == rewards.Executed || r.Status == rewards.Failed {
		l.note("books: %s is %s by %s with %s, %s carries %s", r.IdempotencyKey, r.Status, o.ClientOrderID, shares[m.RewardID], r.IdempotencyKey, o.ClientOrderID)
	}
	return l.allocated(o, m)
}

func (l *lab) allocated(o rewards.Order, m rewards.Claim) (shares money.Shares) {
	l.check(l.engine.Read(l.t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan((*int64)(&shares)) },
			`SELECT shares FROM allocations WHERE app_id = ?1 AND reward_id = ?2 AND order_id = ?3`,
			m.AppID[:], m.RewardID[:], o.ID[:])
	}))
	return shares
}

// carriedAgain reports whether a later order had the member too: both may have ended in one step.
func (l *lab) carriedAgain(o rewards.Order, m rewards.Claim) (again bool) {
	l.check(l.engine.Read(l.t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan(&again) },
			`SELECT count(*) > 0 FROM order_rewards WHERE app_id = ?1 AND reward_id = ?2 AND order_id > ?3`,
			m.AppID[:], m.RewardID[:], o.ID[:])
	}))
	return again
}
