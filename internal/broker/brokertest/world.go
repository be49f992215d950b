package brokertest

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

func buy(id, symbol string, notional money.USD) rewards.OrderRequest {
	return rewards.OrderRequest{ClientOrderID: id, Symbol: symbol, Notional: notional}
}

// matches checks that the order is what was asked for.
func matches(t *testing.T, o rewards.BrokerOrder, r rewards.OrderRequest) {
	t.Helper()
	got := rewards.OrderRequest{ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Notional: o.Notional}
	if got != r || o.Side != "buy" {
		t.Errorf("the order is %+v, want a buy of %+v", o, r)
	}
}

// wantKind checks a broker's error; code "" is not checked.
func wantKind(t *testing.T, err error, kind rewards.BrokerErrorKind, code string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %s", kind)
		return
	}
	if got := rewards.BrokerKindOf(err); got != kind {
		t.Errorf("error %q is of kind %s, want %s", err, got, kind)
	}
	if code != "" && codeOf(err) != code {
		t.Errorf("error %q has the code %q, want %q", err, codeOf(err), code)
	}
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*rewards.BrokerError](err); ok {
		return e.Code
	}
	return ""
}

func clientIDs(orders []rewards.BrokerOrder) []string {
	ids := make([]string, len(orders))
	for i, o := range orders {
		ids[i] = o.ClientOrderID
	}
	return ids
}

func (w World) submit(t *testing.T, r rewards.OrderRequest) rewards.BrokerOrder {
	t.Helper()
	o, err := w.Broker.Submit(t.Context(), r)
	if err != nil {
		t.Fatalf("Submit(%+v): %v", r, err)
	}
	return o
}

func (w World) find(t *testing.T, clientOrderID string) rewards.BrokerOrder {
	t.Helper()
	o, err := w.Broker.OrderByClientID(t.Context(), clientOrderID)
	if err != nil {
		t.Fatalf("OrderByClientID(%q): %v", clientOrderID, err)
	}
	return o
}

func (w World) orders(t *testing.T, after time.Time) []rewards.BrokerOrder {
	t.Helper()
	list, err := w.Broker.Orders(t.Context(), after)
	if err != nil {
		t.Fatalf("Orders(%s): %v", after, err)
	}
	return list
}

func (w World) positions(t *testing.T) []rewards.Position {
	t.Helper()
	list, err := w.Broker.Positions(t.Context())
	if err != nil {
		t.Fatalf("Positions: %v", err)
	}
	return list
}

func (w World) account(t *testing.T) rewards.BrokerAccount {
	t.Helper()
	a, err := w.Broker.Account(t.Context())
	if err != nil {
		t.Fatalf("Account: %v", err)
	}
	return a
}
