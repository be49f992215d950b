package rewards_test

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// farFilled returns an order whose fill waits for a price.
func farFilled(t *testing.T) rewards.Order {
	t.Helper()
	o, b := openOrder()
	b.FilledQty, b.FilledAvgPrice = 1, 1
	now := time.Now()
	step := o.Next(rewards.Evidence{
		Source: rewards.FromList, Report: b, Levels: []money.Price{100_000_000_000}, Now: now,
		Priced: rewards.Pricing{Since: now, Asked: true},
	})
	if step.Kind != rewards.StepSave || !step.Order.AwaitsPrice() {
		t.Fatalf("got %+v, want that it waits for a price", step)
	}
	return step.Order
}

// What keeps orders of a stock from being planned, and from being sent.
func TestWhatAnOrderStops(t *testing.T) {
	t.Parallel()
	waits := farFilled(t)
	in := func(s rewards.OrderState) rewards.Order { o := waits; o.State = s; return o }
	for name, test := range map[string]struct {
		order          rewards.Order
		planned, again bool // an order that was never sent, and one that was
	}{
		"waits for a price":   {waits, true, true},
		"the same, open":      {in(rewards.OrderOpen), true, true},
		"quarantined":         {in(rewards.OrderQuarantined), true, false},
		"an operator decided": {in(rewards.OrderResolved), false, false},
		"settled":             {in(rewards.OrderSettled), false, false},
	} {
		planned, again := in(rewards.OrderPlanned), in(rewards.OrderSubmitted)
		if test.order.Brakes() != test.planned || test.order.Stops(planned) != test.planned || test.order.Stops(again) != test.again {
			t.Errorf("%s: brakes %t, stops a planned order %t, one that was sent %t", name,
				test.order.Brakes(), test.order.Stops(planned), test.order.Stops(again))
		}
		planned.AssetID++
		if test.order.Stops(planned) {
			t.Errorf("%s: it stops another stock", name)
		}
	}
}

// An order whose fill waits for a price goes on waiting when a look-up fails or finds nothing.
func TestAnOrderThatWaitsForAPriceGoesOnWaiting(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errors.New("cut"), &rewards.BrokerError{Kind: rewards.BrokerNotFound}} {
		o := farFilled(t)
		o.State = rewards.OrderOpen
		step := o.Next(rewards.Evidence{Source: rewards.FromLookUp, Err: err, Now: time.Now()})
		if step.Kind != rewards.StepSave || !step.Order.AwaitsPrice() {
			t.Errorf("%v: got %+v", err, step)
		}
	}
}
