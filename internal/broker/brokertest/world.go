package brokertest

import (
	"context"
	"errors"
	"testing"

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

// read calls a method of the broker, which must not fail.
func read[V any](t *testing.T, method func(context.Context) (V, error)) V {
	t.Helper()
	v, err := method(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// call calls a method of the broker with an argument. It must not fail.
func call[A, V any](t *testing.T, method func(context.Context, A) (V, error), arg A) V {
	t.Helper()
	v, err := method(t.Context(), arg)
	if err != nil {
		t.Fatalf("%+v: %v", arg, err)
	}
	return v
}
