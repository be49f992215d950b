package alpaca_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/test/world"
)

const (
	keyID     = "PKCANARYKEYID"
	secretKey = "canary/secret+key"

	goodOrder = `{"id":"61e69015-8549-4bfd-b9c3-01e75843f47d","client_order_id":"sr-1","symbol":"AAPL",
		"side":"buy","status":"filled","notional":"25.5","qty":null,"filled_qty":"0.1","filled_avg_price":"255",
		"submitted_at":"2026-03-16T18:38:01.942282123Z","filled_at":"2026-03-16T14:38:02-04:00","legs":null}`
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(body)),
	}
}

// serve returns a client of a server with that handler.
func serve(t *testing.T, h http.HandlerFunc) *alpaca.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return alpaca.New(alpaca.Options{
		TradingURL: server.URL, DataURL: server.URL, KeyID: keyID, SecretKey: secretKey,
		RequestsPerMinute: 1_000_000, Timeout: 5 * time.Second,
	})
}

// serveBody returns a client of a server that gives one answer to everything.
func serveBody(t *testing.T, status int, body string) *alpaca.Client {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func request() rewards.OrderRequest {
	return rewards.OrderRequest{ClientOrderID: "sr-1", Symbol: "AAPL", Notional: 25*money.Dollar + 50*money.Cent}
}

func wantError(t *testing.T, err error, kind rewards.BrokerErrorKind, code string) {
	t.Helper()
	e, ok := errors.AsType[*rewards.BrokerError](err)
	if !ok {
		t.Fatalf("error %v is no broker error", err)
	}
	if e.Kind != kind || e.Code != code {
		t.Errorf("error %q is %s %q, want %s %q", e, e.Kind, e.Code, kind, code)
	}
	for _, secret := range []string{keyID, secretKey} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("error %q shows a credential", err)
		}
	}
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	var sent []string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = []string{
			r.Method, r.URL.String(), string(body), r.Header.Get("APCA-API-KEY-ID"),
			r.Header.Get("APCA-API-SECRET-KEY"), r.Header.Get("Content-Type"),
		}
		_, _ = io.WriteString(w, goodOrder)
	})
	got, err := client.Submit(t.Context(), request())
	world.Check(t, err)
	wantSent := []string{
		"POST", "/v2/orders", `{"symbol":"AAPL","notional":"25.5","side":"buy","type":"market",` +
			`"time_in_force":"day","client_order_id":"sr-1"}`, keyID, secretKey, "application/json",
	}
	if diff := cmp.Diff(wantSent, sent); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	want := rewards.BrokerOrder{
		ID: "61e69015-8549-4bfd-b9c3-01e75843f47d", ClientOrderID: "sr-1", Symbol: "AAPL", Side: "buy",
		Status: "filled", Notional: request().Notional, FilledQty: money.Share / 10, FilledAvgPrice: 255_000_000_000,
		SubmittedAt: time.Date(2026, 3, 16, 18, 38, 1, 942282123, time.UTC),
		FilledAt:    time.Date(2026, 3, 16, 18, 38, 2, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestOrderByClientID(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got, want := r.URL.String(), "/v2/orders:by_client_order_id?client_order_id=sr-1"; got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
		_, _ = io.WriteString(w, goodOrder)
	})
	if o, err := client.OrderByClientID(t.Context(), "sr-1"); err != nil || o.Symbol != "AAPL" {
		t.Errorf("OrderByClientID = %+v, %v", o, err)
	}
}

// What each answer means, for a submit and for a look-up of the same order.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	const (
		unknown   = rewards.BrokerUnknown
		refused   = rewards.BrokerRefused
		wait      = rewards.BrokerWait
		duplicate = rewards.BrokerDuplicate
		notFound  = rewards.BrokerNotFound
	)
	message := func(text string) string { return fmt.Sprintf(`{"code":42210000,"message":%q}`, text) }
	for _, c := range []struct {
		status int
		body   string
		kind   rewards.BrokerErrorKind
		code   string
	}{
		{422, `{"code":40010001,"message":"client_order_id must be unique"}`, duplicate, ""},
		{400, message("client_order_id must be unique"), duplicate, ""},
		{422, message(`asset "XYZ" not found`), refused, "asset_not_found"},
		{422, message(`could not find asset "XYZ"`), refused, "asset_not_found"},
		{422, message(`asset "XYZ" is not tradable`), refused, "asset_not_tradable"},
		{422, message(`asset "XYZ" is not fractionable`), refused, "asset_not_fractionable"},
		{422, message("notional amount must be >= 1.00"), refused, "notional_too_small"},
		{422, message("cost basis must be >= minimal amount of order 1"), refused, "notional_too_small"},
		{422, message("notional value must be limited to 2 decimal places"), refused, "order_refused"},
		{422, message("fractional orders must be DAY orders"), refused, "order_refused"},
		{422, message("insufficient buying power"), wait, "insufficient_buying_power"},
		{400, message("request body format is invalid"), refused, "order_refused"},
		{400, `{"message":"no code"}`, refused, "order_refused"},
		{400, `{"code":40010000}`, unknown, ""},
		{422, `{"code":42210000,"message":null}`, unknown, ""},
		{422, `{"code":42210000,"message":7}`, unknown, ""},
		{422, `"client_order_id must be unique"`, unknown, ""},
		{422, `<html>client_order_id must be unique</html>`, unknown, ""},
		{422, "", unknown, ""},
		{422, `{"message":"cut`, unknown, ""},
		{403, `{"code":40310000,"message":"insufficient buying power","buying_power":"0","cost_basis":"1"}`, wait, "insufficient_buying_power"},
		{403, message(`asset "XYZ" is not fractionable`), refused, "asset_not_fractionable"},
		{403, `{"message":"forbidden."}`, wait, "forbidden"},
		{403, message("trading is blocked"), wait, "forbidden"},
		{403, "<html>proxy says no</html>", unknown, ""},
		{401, `{"message":"unauthorized"}`, wait, "unauthorized"},
		{401, "", unknown, ""},
		{404, "<html>no such page</html>", unknown, ""},
		{402, message("pay"), unknown, ""},
		{405, message("no"), unknown, ""},
		{407, "", unknown, ""},
		{408, message("late"), unknown, ""},
		{409, message("conflict"), unknown, ""},
		{410, message("gone"), unknown, ""},
		{413, message("large"), unknown, ""},
		{425, message("early"), unknown, ""},
		{429, `{"code":42910000,"message":"rate limit exceeded"}`, unknown, ""},
		{500, `{"code":50010000,"message":"internal server error occurred"}`, unknown, ""},
		{502, "<html></html>", unknown, ""},
		{503, message("client_order_id must be unique"), unknown, ""},
		{504, "", unknown, ""},
		{301, "", unknown, ""},
		{302, goodOrder, unknown, ""},
		{307, goodOrder, unknown, ""},
		{308, "", unknown, ""},
		{204, "", unknown, ""},
		{200, "", unknown, ""},
		{200, "null", unknown, ""},
		{200, "{}", unknown, ""},
		{200, "[]", unknown, ""},
		{200, "[" + goodOrder + "]", unknown, ""},
		{200, "<html>fine</html>", unknown, ""},
		{200, goodOrder[:len(goodOrder)-1], unknown, ""},
		{200, goodOrder + "}", unknown, ""},
		{200, strings.Replace(goodOrder, `"sr-1"`, `"sr-2"`, 1), unknown, ""},
		{200, strings.Replace(goodOrder, `"filled"`, `""`, 1), unknown, ""},
		{200, strings.Replace(goodOrder, `"id":`, `"id":"a","id":`, 1), unknown, ""}, // a duplicate member
		{200, strings.Replace(goodOrder, "}", `,"x":"`+strings.Repeat("x", 1<<20)+`"}`, 1), unknown, ""},
		{422, `{"message":"client_order_id must be unique","x":"` + strings.Repeat("x", 1<<16) + `"}`, unknown, ""},
	} {
		name := fmt.Sprintf("%d %.60s", c.status, c.body)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := serveBody(t, c.status, c.body)
			_, err := client.Submit(t.Context(), request())
			wantError(t, err, c.kind, c.code)
			if c.kind == refused && !slices.Contains(rewards.FailureCodes(), rewards.FailureCode(c.code)) {
				t.Errorf("%s is not a documented failure code", c.code)
			}
			_, err = client.OrderByClientID(t.Context(), "sr-1")
			wantError(t, err, c.kind, c.code)
		})
	}
	t.Run("404", func(t *testing.T) {
		t.Parallel()
		client := serveBody(t, 404, `{"code":40410000,"message":"order not found for sr-1"}`)
		_, err := client.Submit(t.Context(), request())
		wantError(t, err, wait, "not_found")
		_, err = client.OrderByClientID(t.Context(), "sr-1")
		wantError(t, err, notFound, "")
	})
}

// Funds and credentials end a refusal; others last until the broker changes its mind.
func TestLastingRefusals(t *testing.T) {
	t.Parallel()
	for body, test := range map[string]struct {
		status  int
		lasting bool
	}{
		`{"message":"forbidden."}`:                {403, true},
		`{"message":"endpoint not found"}`:        {404, true},
		`{"message":"insufficient buying power"}`: {403, false},
		`{"message":"unauthorized"}`:              {401, false},
	} {
		_, err := serveBody(t, test.status, body).Submit(t.Context(), request())
		e, ok := errors.AsType[*rewards.BrokerError](err)
		if !ok || e.Kind != rewards.BrokerWait || e.Lasting != test.lasting {
			t.Errorf("%s: %v; want a wait that lasts: %t", body, err, test.lasting)
		}
	}
}

func TestBrokenExchanges(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"no answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"half a body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, goodOrder[:50])
		},
		"another protocol, then nothing": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil { // it stays open
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
				t.Cleanup(func() { _ = conn.Close() })
			}
		},
		"half an error": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"message":"client_order_id must be unique"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serve(t, h).Submit(t.Context(), request())
			wantError(t, err, rewards.BrokerUnknown, "")
		})
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, address := range []string{gone.URL, "http://[::1"} {
		_, err := alpaca.New(alpaca.Options{TradingURL: address}).Submit(t.Context(), request())
		wantError(t, err, rewards.BrokerUnknown, "")
	}
}

// Over HTTP/2 a repetition would follow its first request into a connection whose path is gone.
func TestRequestsShareNoConnection(t *testing.T) {
	t.Parallel()
	url, offered := world.Protocols(t)
	_, err := alpaca.New(alpaca.Options{TradingURL: url, RequestsPerMinute: 1_000_000}).Submit(t.Context(), request())
	if got := <-offered; slices.Contains(got, "h2") {
		t.Errorf("the client offers %v; its error is %v", got, err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed, with the key %q", r.Header.Get("APCA-API-KEY-ID"))
	}))
	t.Cleanup(target.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target.URL, status)
		})
		_, err := client.Submit(t.Context(), request())
		wantError(t, err, rewards.BrokerUnknown, "")
		_, err = client.Clock(t.Context())
		wantError(t, err, rewards.BrokerUnknown, "")
	}
}

func TestCredentialsStayHidden(t *testing.T) {
	t.Parallel()
	o := alpaca.Options{TradingURL: "https://t.test", DataURL: "https://d.test", KeyID: keyID, SecretKey: secretKey}
	var logged strings.Builder
	logger := slog.New(slog.NewTextHandler(&logged, nil))
	client := alpaca.New(o)
	logger.Info("x", slog.Any("options", o), slog.Any("pointer", &o), slog.Any("client", client))
	outputs := []string{logged.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		outputs = append(outputs, fmt.Sprintf(verb, o), fmt.Sprintf(verb, &o), fmt.Sprintf(verb, client))
	}
	echo := fmt.Sprintf("no such key %s %s", keyID, secretKey)
	_, err := serveBody(t, 403, fmt.Sprintf(`{"message":%q}`, echo)).Account(t.Context())
	outputs = append(outputs, err.Error())
	o.Transport = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New(echo) })
	_, err = alpaca.New(o).Account(t.Context())
	outputs = append(outputs, err.Error(), fmt.Sprintf("%v %+v", err, err))
	for _, text := range outputs {
		if strings.Contains(text, keyID) || strings.Contains(text, secretKey) ||
			strings.Contains(text, fmt.Sprintf("%x", secretKey)) {
			t.Errorf("%q shows a credential", text)
		}
	}
}

func TestMessagesAreCleaned(t *testing.T) {
	t.Parallel()
	body := `{"message":"bad\u0000\u001b[31m\n\u2028` + strings.Repeat("ä", 300) + `"}`
	_, err := serveBody(t, 422, body).Submit(t.Context(), request())
	e, ok := errors.AsType[*rewards.BrokerError](err)
	if !ok {
		t.Fatalf("error %v is no broker error", err)
	}
	want := "bad  [31m  " + strings.Repeat("ä", 94)
	if diff := cmp.Diff(want, e.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}
