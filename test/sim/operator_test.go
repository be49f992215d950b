package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// attend decides what the service could not, from the brokerage's records.
func (w *world) attend() {
	w.resolveQuarantined()
	for _, c := range w.openConflicts() {
		w.settleConflict(c)
	}
	w.comparePositions()
	w.judgePrices()
}

func (w *world) resolveQuarantined() {
	live, err := w.store.LiveOrders(w.t.Context())
	w.check(err)
	for _, o := range live {
		if o.State == rewards.OrderQuarantined {
			w.resolve(o)
		}
	}
}

func (w *world) openConflicts() []rewards.BrokerConflict {
	return slices.DeleteFunc(w.conflicts(), func(c rewards.BrokerConflict) bool { return !c.AcknowledgedAt.IsZero() })
}

func (w *world) judgePrices() {
	ctx := w.t.Context()
	assets, err := w.store.Assets(ctx)
	w.check(err)
	for _, a := range assets {
		if !a.Doubt.Exists() || w.firms.of(w.stock(a.Symbol)).explains() {
			continue
		}
		judge := w.store.ConfirmAsset
		if traded := w.traded(a.Symbol); a.Doubt.Price < traded/2 || a.Doubt.Price > 2*traded {
			judge = w.store.RejectAsset
		}
		price, err := judge(ctx, a.Symbol)
		w.check(err)
		w.note("operator: %s at %s is looked at, traded at %s", a.Symbol, price, w.traded(a.Symbol))
	}
}

// traded is the true price of a stock, at which the brokerage trades it.
func (w *world) traded(symbol string) money.Price {
	w.record("") // has the brokerage do what is due
	price, known := w.brokerage.Price(w.brokerSymbol(w.stock(symbol)), time.Now())
	if !known {
		w.t.Errorf("the brokerage has no %s", symbol)
	}
	return price
}

// order is an order in our books.
func (w *world) order(clientOrderID string) (rewards.Order, bool) {
	found, err := w.store.OrdersByClientID(w.t.Context(), []string{clientOrderID})
	w.check(err)
	o, known := found[clientOrderID]
	return o, known
}

// conflicts are all conflicts with the broker.
func (w *world) conflicts() []rewards.BrokerConflict {
	list, err := w.store.Conflicts(w.t.Context())
	w.check(err)
	return list
}

func (w *world) record(clientOrderID string) (paper.Order, bool) {
	r, found, err := w.brokerage.Order(w.t.Context(), clientOrderID)
	w.check(err)
	return r, found
}

func ended(r paper.Order) bool {
	switch r.Status {
	case "filled", "canceled", "expired", "rejected":
		return true
	}
	return false
}

// resolve resolves a quarantined order, once it has ended at the brokerage.
func (w *world) resolve(o rewards.Order) {
	r, found := w.record(o.ClientOrderID)
	if found && !ended(r) {
		return
	}
	w.decisions++
	w.note("operator: order %s of %s is resolved with %s shares (%s)", o.ClientOrderID, o.Symbol, r.FilledQty, o.Reason)
	w.check(w.store.ResolveOrder(w.t.Context(), o.ID, rewards.Resolution{
		FilledQty: r.FilledQty, Price: r.FilledPrice, Reason: "the broker's statement",
	}))
}

// settleConflict acknowledges a conflict after selling the shares that we have not booked, or
// buying those that the broker took back. It reports whether it did.
func (w *world) settleConflict(c rewards.BrokerConflict) bool {
	o, known := w.order(c.ClientOrderID)
	r, found := w.record(c.ClientOrderID)
	if !known || !found {
		w.t.Fatalf("a conflict about %+v: known %v, found %v", c, known, found)
	}
	clock, err := w.operator.Clock(w.t.Context())
	w.check(err)
	if !ended(r) || !clock.Open { // an order to sell would wait for the open
		return false
	}
	excess, known := w.notBooked(o, r)
	if !known || excess > 0 && !w.trade("sell", o.Symbol, excess) || excess < 0 && !w.trade("buy", o.Symbol, -excess) {
		return false
	}
	w.decisions++
	w.note("operator: conflict of %s is acknowledged: %s", c.ClientOrderID, c.Detail)
	w.check(w.store.AcknowledgeConflict(w.t.Context(), c.ClientOrderID, "the account is as it was booked"))
	return true
}

// notBooked is what the brokerage bought by an order and we have not booked. When a corporate action has changed the
// stock since, only the positions show it: the house may have got these shares with the action. It is not known while
// an order of the stock, or the next action, is under way.
func (w *world) notBooked(o rewards.Order, r paper.Order) (shares money.Shares, known bool) {
	s := w.firms.of(w.stock(o.Symbol))
	if !s.changedSince(o) {
		return r.FilledQty - o.Corrected, true
	}
	if w.ordered(s) || s.event != nil {
		return 0, false
	}
	booked, theirs := w.positionOf(s)
	return theirs - booked, true
}

// changedSince reports whether a corporate action has changed the stock since the order was made.
func (s *firm) changedSince(o rewards.Order) bool {
	return s != nil && !s.gone && s.changed.After(o.CreatedAt())
}

// comparePositions sells shares that the broker bought and never reported: only the account's
// position shows them, in `audit --broker`.
func (w *world) comparePositions() {
	for _, o := range w.orders() {
		r, _ := w.record(o.ClientOrderID)
		if !o.State.Final() || r.FilledQty <= o.Corrected || w.sold[o.ClientOrderID] || !strings.HasPrefix(r.Fault, "shrinking-fill") {
			continue
		}
		excess, known := w.notBooked(o, r)
		if known && (excess <= 0 || w.trade("sell", o.Symbol, excess)) {
			w.noteSold(o)
		}
	}
}

// noteSold notes that what an order bought and we have not booked is sold. When a corporate action has changed the stock
// since, that is what the other orders of the stock bought too.
func (w *world) noteSold(o rewards.Order) {
	w.decisions++
	w.sold[o.ClientOrderID] = true
	if !w.firms.of(w.stock(o.Symbol)).changedSince(o) {
		return
	}
	for _, other := range w.orders() {
		if other.AssetID == o.AssetID && other.State.Final() {
			w.sold[other.ClientOrderID] = true
		}
	}
}

// trade buys or sells shares at the brokerage and reports whether the order was filled. While the market is closed it does
// nothing: the order would wait for the open.
func (w *world) trade(side, symbol string, qty money.Shares) bool {
	clock, err := w.operator.Clock(w.t.Context())
	w.check(err)
	if !clock.Open {
		return false
	}
	w.sales++
	id := fmt.Sprint("operator-", w.sales)
	body := fmt.Sprintf(`{"client_order_id":%q,"symbol":%q,"side":%q,"qty":%q,"type":"market","time_in_force":"day"}`,
		id, w.brokerSymbol(w.stock(symbol)), side, qty)
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://broker.test/v2/orders", strings.NewReader(body))
	w.check(err)
	response, err := w.brokerage.Transport().RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK {
		return false
	}
	w.check(response.Body.Close())
	time.Sleep(time.Second)
	r, found := w.record(id)
	w.note("operator: %s %s shares of %s: %s", side, qty, symbol, r.Status)
	return found && r.Status == "filled"
}
