package alpaca_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/rewards"
)

// Every call is observed once, as its caller sees it: an unreadable answer is an error, and a call
// that was not sent took no time.
func TestEveryCallIsObserved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		status, body := 200, ""
		client := alpaca.New(alpaca.Options{
			TradingURL: "http://broker.test", DataURL: "http://broker.test", KeyID: keyID, SecretKey: secretKey, RequestsPerMinute: 20,
			Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				time.Sleep(2 * time.Second)
				return answer(status, body), nil
			}),
			Observe: func(operation string, err error, took time.Duration) {
				if !slices.Contains(alpaca.Operations(), operation) {
					t.Errorf("%s is not listed", operation)
				}
				outcome := "ok"
				if err != nil {
					outcome = rewards.BrokerKindOf(err).String()
				}
				seen = append(seen, fmt.Sprint(operation, " ", outcome, " ", took))
			},
		})
		ctx := t.Context()
		body = goodOrder
		_, _ = client.Submit(ctx, request())
		body = strings.Replace(goodOrder, "sr-1", "sr-2", 1)
		_, _ = client.Submit(ctx, request())
		body = `[]`
		_, _ = client.Orders(ctx, time.Time{}, nil)
		_, _ = client.Positions(ctx)
		_, _ = client.Assets(ctx)
		_, _, _ = client.Activities(ctx, "", time.Time{}, "")
		body = `{}`
		_, _ = client.Clock(ctx)
		_, _ = client.Account(ctx)
		_, _ = client.LatestPrices(ctx, []string{"AAPL"})
		status, body = 404, `{"message":"order not found"}`
		_, _ = client.OrderByClientID(ctx, "sr-1")
		hurried, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		_, _ = client.Clock(hurried)
		want := []string{
			"submit ok 2s", "submit unknown 2s", "orders ok 2s", "positions ok 2s", "assets ok 2s", "activities ok 2s",
			"clock unknown 2s", "account unknown 2s", "snapshots ok 2s", "order not_found 2s", "clock wait 0s",
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The strings of an order, which logs and alarms show, are short and printable.
func TestStringsOfAnOrderAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for from, to := range map[string]string{
		`"status":"filled"`: `"status":"\u001b[31m` + long + `"`, `"symbol":"AAPL"`: `"symbol":"` + long + `"`,
		`"side":"buy"`: `"side":"` + long + `"`,
	} {
		o, err := serveBody(t, 200, strings.Replace(goodOrder, from, to, 1)).Submit(t.Context(), request())
		if err != nil || len(o.Status) > 200 || len(o.Symbol) > 200 || len(o.Side) > 200 || strings.Contains(o.Status, "\x1b") {
			t.Errorf("%s: %+v, %v", from, o, err)
		}
	}
}
