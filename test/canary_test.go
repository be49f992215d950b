package test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// No request and no answer of the broker makes the log, the metrics or readiness contain
// secrets or personal data.
func TestNoSecretLeaves(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.env = []string{"APCA_API_KEY_ID=canary-key-id", "APCA_API_SECRET_KEY=canary-secret-of-the-broker"}
	behind, err := url.Parse("http://" + startBrokerage(t, "").address)
	noError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(behind)
	var accepting atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !accepting.Load() { // a broker that echoes its input
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"message":"no rights for %s with %s"}`, r.Header.Get("Apca-Api-Key-Id"), r.Header.Get("Apca-Api-Secret-Key"))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	admin := s.startWatched("--broker", "alpaca", "--alpaca-url", front.URL, "--alpaca-data-url", front.URL)
	var created struct{ User struct{ ID string } }
	s.must(201, "POST", "/v1/users", `{"email":"canary-mail@example.com","externalId":"canary-external"}`).decode(t, &created)
	user := created.User.ID
	body := strings.Replace(giving(user, "canary-idempotency", "5", "AAPL"), "}", `,"source":"canary-source","metadata":{"a":"canary-metadata"}}`, 1)
	s.must(201, "POST", "/v1/rewards", body)
	s.must(200, "POST", "/v1/rewards", body)
	s.must(409, "POST", "/v1/rewards", strings.Replace(body, ":5,", ":6,", 1))
	s.must(409, "POST", "/v1/users", `{"email":"canary-mail@example.com"}`)
	s.must(400, "POST", "/v1/users", `{"email":"canary-not a mail","canary-member":1}`)
	s.must(400, "POST", "/v1/rewards", `{"canary-broken`)
	s.must(422, "POST", "/v1/rewards", giving(user, "canary-other-key", "5", "CANARY"))
	s.must(200, "GET", "/v1/users?email=canary-mail@example.com", "")
	s.must(200, "GET", "/v1/users?canary-parameter=x", "")
	s.must(400, "GET", "/v1/users/canary-id", "")
	s.must(404, "GET", "/canary-path?canary=1", "")
	s.must(400, "GET", "/v1/users?cursor=canary-cursor", "")
	good := s.key
	s.key = "sr_test_canary-unknown-key"
	s.must(401, "GET", "/v1/users", "")
	s.key = good
	request, _ := http.NewRequestWithContext(t.Context(), "CANARYMETHOD-ABC"+strings.Repeat("D", 5000), s.url+"/v1/users", http.NoBody)
	if response, err := client.Do(request); err != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a strange method: %v", err)
	}
	s.eventually("refusal", 15*time.Second, func() bool { return strings.Contains(s.logs(), "no rights for [redacted]") })
	var ready string
	s.eventually("the warning", 15*time.Second, func() bool {
		_, ready = look(t, admin+"/readyz")
		return strings.Contains(ready, "order_waits")
	})
	_, metrics := look(t, admin+"/metrics")
	index, _ := look(t, admin+"/canary")
	accepting.Store(true)
	if index != 404 || !strings.Contains(ready, "order_waits") {
		t.Errorf("%d, %s", index, ready)
	}
	s.eventually("last line", 20*time.Second, func() bool { return strings.Contains(s.logs(), "CANARYMETHOD-ABC") })
	for name, text := range map[string]string{"the log": s.logs(), "/readyz": ready, "/metrics": metrics} {
		for line := range strings.SplitSeq(text, "\n") {
			lower := strings.ToLower(strings.ReplaceAll(line, `"method":"CANARYMETHOD-ABC"`, "")) // bounded, and not secret
			for _, secret := range []string{"canary", strings.ToLower(good)} {
				if strings.Contains(lower, secret) {
					t.Errorf("%s holds %q: %s", name, secret, line)
				}
			}
		}
	}
	for _, want := range []string{`"status":409`, `"status":401`, `"route":"/v1/users/{userId}"`, `"app":"0`, `"key":"0`, `"request_id":"`, `"took":`} {
		if !strings.Contains(s.logs(), want) {
			t.Errorf("no line of the log holds %s", want)
		}
	}
}
