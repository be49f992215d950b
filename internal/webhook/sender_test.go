package webhook_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
	shared "stockrewards/test/world"
)

// local allows receivers on this machine.
func local() rewards.WebhookAddresses {
	return rewards.WebhookAddresses{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// sendTo sends one request to a handler.
func sendTo(t *testing.T, addresses rewards.WebhookAddresses, h http.HandlerFunc) rewards.WebhookAnswer {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	sender := webhook.NewSender(addresses, "test")
	defer sender.Close()
	return sender.Send(t.Context(), webhook.Request{
		URL: server.URL + "/hook?token=hidden", ID: rewards.EventID{1}, Sequence: 42, Body: []byte(`{"a":1}`),
		Secrets: [][]byte{[]byte("the newer secret of 32 bytes ...."), []byte("the older secret of 32 bytes ....")}, At: time.Now(),
	})
}

// Each connection has one request at a time, so that no receiver holds up another one behind the same address, and
// a connection whose path is gone ends with its request.
func TestNoConnectionIsShared(t *testing.T) {
	t.Parallel()
	url, offered := shared.Protocols(t)
	sender := webhook.NewSender(local(), "test")
	defer sender.Close()
	sender.Send(t.Context(), webhook.Request{URL: url, Secrets: [][]byte{[]byte("a secret")}, At: time.Now()})
	if got := <-offered; slices.Contains(got, "h2") {
		t.Errorf("the sender offers %v", got)
	}
}

// Standard Webhooks 1.0.0: the reference library verifies a request with either secret.
func TestSignature(t *testing.T) {
	t.Parallel()
	a := sendTo(t, local(), func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != `{"a":1}` || r.Method != http.MethodPost {
			t.Errorf("%s %q, error %v", r.Method, body, err)
		}
		for secret, valid := range map[string]bool{
			"the newer secret of 32 bytes ....": true, "the older secret of 32 bytes ....": true, "another secret": false,
		} {
			v, err := standardwebhooks.NewWebhookRaw([]byte(secret))
			if err != nil {
				t.Error(err)
			}
			if err := v.Verify(body, r.Header); (err == nil) != valid {
				t.Errorf("verified by %q: %v, want valid: %v", secret, err, valid)
			}
		}
		for name, want := range map[string]string{
			"Webhook-Id": rewards.EventID{1}.String(), "X-Event-Sequence": "42", "Content-Type": "application/json",
			"User-Agent": "stockrewards/test",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		w.WriteHeader(http.StatusNoContent)
	})
	if !a.Success() {
		t.Errorf("the answer is %+v", a)
	}
}

// The address is judged when connecting: a name in a URL proves nothing.
func TestSenderGuards(t *testing.T) {
	t.Parallel()
	reached := false
	a := sendTo(t, rewards.WebhookAddresses{}, func(http.ResponseWriter, *http.Request) { reached = true })
	if reached || a.StatusCode != 0 || !strings.Contains(a.Error, "special range") {
		t.Errorf("%+v, reached: %v; want it refused", a, reached)
	}
}

// Redirects are not followed; of an answer's body a KiB is kept, without what a database refuses.
func TestAnswers(t *testing.T) {
	t.Parallel()
	a := sendTo(t, local(), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hook" {
			t.Error("it follows the redirect")
		}
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusFound)
		_, _ = w.Write([]byte(strings.Repeat("\x00\xffab", 50_000)))
	})
	if a.StatusCode != http.StatusFound || a.Success() || a.RetryAfter != 7*time.Second || !strings.Contains(a.Error, "not followed") {
		t.Errorf("the answer is %+v", a)
	}
	if len(a.Body) > 1024 || strings.Trim(a.Body, "ab") != "" || a.Body == "" {
		t.Errorf("%d bytes of the body are kept: %.20q", len(a.Body), a.Body)
	}
	date := time.Now().Add(time.Hour)
	a = sendTo(t, local(), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", date.UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if a.RetryAfter < 58*time.Minute || a.RetryAfter > time.Hour {
		t.Errorf("Retry-After of a date an hour away: %v", a.RetryAfter)
	}
	a = sendTo(t, local(), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "99999999999")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if a.RetryAfter < 365*24*time.Hour {
		t.Errorf("Retry-After of 3,000 years: %v", a.RetryAfter)
	}
}

// A receiver that switches to another protocol and keeps the connection has failed: the body of such an answer never ends.
func TestAnotherProtocol(t *testing.T) {
	t.Parallel()
	a := sendTo(t, local(), func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil { // it stays open
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
			t.Cleanup(func() { _ = conn.Close() })
		}
	})
	if a.Success() || a.Error != "the receiver answered 101 Switching Protocols" {
		t.Errorf("the answer is %+v", a)
	}
}

// A status that HTTP does not have is no status.
func TestNoStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{"099": "99", "000": "0"} {
		a := sendTo(t, local(), func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 "+status+" Odd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				_ = conn.Close()
			}
		})
		if a.Success() || a.StatusCode != 0 || a.Error != "the receiver answered "+want+", which is no status of HTTP" {
			t.Errorf("%s: %+v", status, a)
		}
	}
}

// No error shows a part of the address, which may have a secret.
func TestErrorsHideTheAddress(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil)
	server.Close() // nobody listens there
	sender := webhook.NewSender(local(), "test")
	ctx, cancel := context.WithCancel(t.Context())
	for _, url := range []string{
		server.URL + "/?token=hidden", "https://hidden.invalid/?token=hidden", "http://127.0.0.1:1/hidden",
		strings.Replace(server.URL, "http:", "https:", 1) + "/hidden",
	} {
		a := sender.Send(ctx, webhook.Request{URL: url, Body: []byte("{}"), At: time.Now()})
		if a.Error == "" || strings.Contains(a.Error, "hidden") || strings.Contains(a.Error, "127.0.0.1") {
			t.Errorf("%s: %q", url, a.Error)
		}
	}
	cancel()
}
