package paper

import (
	"context"
	"net/http"
	"time"

	"stockrewards/internal/money"
)

// Order is what the books say of an order, whatever was told of it.
type Order struct {
	ClientOrderID string
	Symbol        string
	Status        string // Alpaca's word, without any fault
	FilledQty     money.Shares
	FilledPrice   money.Price // the average; 0 while nothing is filled
	FilledValue   money.USD   // dollars moved
	Fault         string      // that struck it; empty when none did
}

// Order finds an order in the books, hidden or not, and false when there is none
// with that client order id.
func (b *Brokerage) Order(ctx context.Context, clientOrderID string) (Order, bool, error) {
	o, err := b.trueOrder(ctx, clientOrderID)
	if isNotFound(err) {
		return Order{}, false, nil
	}
	if err != nil {
		return Order{}, false, err
	}
	r := Order{
		ClientOrderID: o.clientOrderID, Symbol: o.symbol, Status: o.status(b.clock.micros()),
		FilledQty: o.filledQty, FilledPrice: o.filledPrice, FilledValue: o.filledValue,
	}
	if o.fate.Kind != "" {
		r.Fault = o.fate.String()
	}
	return r, true, nil
}

// never is later than anything is hidden until.
func never() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }

func (b *Brokerage) trueOrder(ctx context.Context, clientOrderID string) (*order, error) {
	if err := b.progress(ctx, b.clock.micros()); err != nil {
		return nil, err
	}
	return b.orderByClientID(ctx, clientOrderID, never())
}

// getRecord tells an order as the books have it.
func (b *Brokerage) getRecord(r *http.Request) (any, error) {
	o, err := b.trueOrder(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return o.toWire(b.clock.micros()), nil
}
