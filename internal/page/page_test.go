package page_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

const dollar200 money.Price = 200_000_000_000

func TestEmptyPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	html := w.get(t, "/")
	wantWords(t, html, "recorded 0", "executing 0", "executed 0", "failed 0", "Market open",
		"There are no rewards yet", "Latest rewards None yet.", "Latest orders None yet.", keyFile)
	if strings.Contains(html, w.key) {
		t.Error("the page shows the app's key")
	}
}

// The page shows rewards, orders and the portfolio in exact numbers.
func TestPageShowsExactNumbers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Give(t, 3_000_000)
	w.Give(t, 1_000_001)
	check(t, w.Settle(t, w.Open(t), "filled", 20_000_000, dollar200))
	w.Give(t, 2_000_000)
	w.Open(t)
	w.Give(t, 5_250_000)
	aapl := w.Asset(t, "AAPL").ID
	w.prices[aapl] = 210_123_456_789
	html := w.get(t, "/")
	wantWords(t, html, "recorded 1", "executing 1", "executed 2",
		"user-0 $5.25 of AAPL recorded", "user-0 $2.00 of AAPL executing", "user-0 $1.000001 of AAPL executed 0.0049",
		"AAPL 1 reward $2.00 open new",
		"AAPL 2 rewards $4.01 settled The house topped up AAPL by $0.009999. filled 0.02 shares at $200.00",
		"Portfolio of user-0", "at $210.123456789", "on $4.000001", "+$0.19", "+4.80%")
	live := w.get(t, "/?part=live")
	if strings.Contains(live, "<form") || strings.Contains(live, "<script") {
		t.Errorf("the live part contains more: %s", live)
	}
	for _, id := range regexp.MustCompile(`<(?:section|p|div) id="(\w+)"`).FindAllStringSubmatch(live, -1) {
		if strings.Count(html, `id="`+id[1]+`"`) != 1 {
			t.Errorf("the part %s is not exactly once in the page", id[1])
		}
	}
	w.prices[aapl] = 190_000_000_000
	wantWords(t, w.get(t, "/?part=live"), "-$0.2", "-5.", "at $190.00")
	delete(w.prices, aapl)
	wantWords(t, w.get(t, "/"), "no usable market price for AAPL now")
}

func TestPortfolioIsChosen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Give(t, 3_000_000)
	wantWords(t, w.get(t, "/"), "Portfolio of user-0 $0.00 No shares yet.")
	wantWords(t, w.get(t, "/?user="+w.Users[1].ID.String()), "Portfolio of user-1", "Show the user of the latest reward")
	other := w.NewUser(t, w.NewApp(t, "second").ID, "stranger")
	for _, id := range []string{"nonsense", rewards.UserID{1}.String(), other.ID.String()} {
		html := w.get(t, "/?user="+id)
		wantWords(t, html, "There is no user with this id.")
		if strings.Contains(html, "stranger") {
			t.Error("another app's user is shown")
		}
	}
}

func TestAlarmsAndHoursAreShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check(t, w.RaiseAlarm(t.Context(), "insufficient_buying_power", "no money left"))
	w.clock = rewards.MarketClock{NextOpen: time.Date(2026, 11, 23, 14, 30, 0, 0, time.UTC)}
	html := w.get(t, "/?part=live")
	wantWords(t, html, "insufficient_buying_power since", "no money left",
		"Market closed, opens Nov 23, 14:30:00 UTC")
	if !strings.Contains(html, `datetime="2026-11-23T14:30:00.000Z" title="2026-11-23T14:30:00.000Z"`) {
		t.Error("the exact time is missing")
	}
	w.closed = true
	wantWords(t, w.get(t, "/"), "Market hours unknown")
}

// Text from clients and brokers is escaped.
func TestHostileTextIsEscaped(t *testing.T) {
	t.Parallel()
	const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{.Key}}`
	w := newWorld(t)
	u := w.NewUser(t, w.App.ID, hostile)
	r := w.Request(t, 2_000_000)
	r.UserID, r.Source, r.Metadata, r.IdempotencyKey = u.ID, hostile, `{"a":"<script>"}`, hostile
	r.Fingerprint = rewards.NewFingerprint(r, "")
	_, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
	check(t, err)
	check(t, w.Settle(t, w.Open(t), hostile, 0, 0))
	check(t, w.RaiseAlarm(t.Context(), "name"+hostile, hostile))
	refused := w.ask(t, http.MethodPost, "/", fields("symbol", hostile, "amount", hostile, "user", hostile).Encode())
	for _, html := range []string{
		w.get(t, "/"), w.get(t, "/?part=live"), w.get(t, "/?user="+u.ID.String()), refused.Body.String(),
	} {
		if strings.Contains(html, "<img") || strings.Contains(html, "<script>alert") {
			t.Errorf("the text became markup: %s", html)
		}
		if !strings.Contains(html, "&lt;img src=x onerror=alert(1)&gt;") {
			t.Error("the text is not shown")
		}
	}
}

// A user whose name is not seen has the id in its place, so that there is something to click.
func TestUnseenNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.NewUser(t, w.App.ID, " \u200b\u00a0")
	r := w.Request(t, 2_000_000)
	r.UserID = u.ID
	r.Fingerprint = rewards.NewFingerprint(r, "")
	_, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
	check(t, err)
	wantWords(t, w.get(t, "/"), u.ID.String()+" $2.00 of AAPL recorded")
}

// Every answer of the page has the security headers, and the page loads nothing from
// other hosts.
func TestHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	foreign := func(r *http.Request) { r.Host = "evil.example" }
	for name, a := range map[string]http.Header{
		"page":    w.ask(t, http.MethodGet, "/", "").Header(),
		"part":    w.ask(t, http.MethodGet, "/?part=live", "").Header(),
		"given":   w.ask(t, http.MethodPost, "/", fields().Encode()).Header(),
		"refused": w.ask(t, http.MethodGet, "/", "", foreign).Header(),
	} {
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
			"Referrer-Policy": "same-origin",
		} {
			if got := a.Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
		policy := a.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%s: %s", name, policy)
		}
		for _, want := range []string{
			"default-src 'none'", "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
		} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: no %s in %s", name, want, policy)
			}
		}
	}
	a := w.ask(t, http.MethodGet, "/", "")
	policy, html := a.Header().Get("Content-Security-Policy"), a.Body.String()
	for _, kind := range []string{"style", "script"} {
		parts := regexp.MustCompile(`(?s)<`+kind+`>(.*?)</`+kind+`>`).FindAllStringSubmatch(html, -1)
		if len(parts) != 1 {
			t.Fatalf("%d parts %s", len(parts), kind)
		}
		sum := sha256.Sum256([]byte(parts[0][1]))
		if !strings.Contains(policy, kind+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("the policy %s does not allow the page's %s", policy, kind)
		}
	}
	var outside []string
	for _, m := range regexp.MustCompile(`(?:src|href|action)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if !strings.HasPrefix(m[1], "/") && !strings.HasPrefix(m[1], "data:") {
			outside = append(outside, m[1])
		}
	}
	if diff := cmp.Diff([]string(nil), outside); diff != "" || strings.Contains(html, "url(") {
		t.Errorf("from other hosts: %s", diff)
	}
}

// A foreign name that resolves to this machine (DNS rebinding) is refused.
func TestOnlyThisMachinesNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Give(t, 1_000_000)
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "127.0.0.1": 200, "localhost:8080": 200, "LOCALHOST": 200, "[::1]:8080": 200, "[::1]": 200,
		"127.8.0.1:1": 200, "evil.example": 403, "evil.example:8080": 403, "localhost.evil.example:8080": 403,
		"127.0.0.1.evil.example": 403, "evil.localhost": 403, "192.168.0.7:8080": 403, "0.0.0.0:8080": 403, "": 403,
		"[::]:8080": 403, "127.0.0.1@evil.example": 403, "127.1": 403, "2130706433": 403,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			body := ""
			if method == http.MethodPost {
				body = fields("key", "page-of "+host).Encode()
			}
			a := w.ask(t, method, "/", body, func(r *http.Request) { r.Host = host })
			expected := want
			if method == http.MethodPost && want == 200 {
				expected = http.StatusSeeOther
			}
			if a.Code != expected || want == 403 && strings.Contains(a.Body.String(), "user-0") {
				t.Errorf("%s %q: %d %s", method, host, a.Code, a.Body)
			}
		}
	}
	if n := len(w.all(t)); n != 1+7 {
		t.Errorf("%d rewards", n)
	}
}

// Everything except GET, HEAD and POST of "/" goes to the API.
func TestOtherRequestsGoToTheAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, x := range []struct {
		method, target string
		want           int
	}{
		{"GET", "/", 200},
		{"HEAD", "/?user=x", 200},
		{"POST", "/", 422},
		{"PUT", "/", 418},
		{"DELETE", "/", 418},
		{"OPTIONS", "/", 418},
		{"GET", "/v1/users", 418},
		{"GET", "/index.html", 418},
		{"GET", "//", 418},
		{"GET", "/%2F", 418},
		{"GET", "/favicon.ico", 418},
	} {
		if a := w.ask(t, x.method, x.target, ""); a.Code != x.want {
			t.Errorf("%s %s: %d, want %d", x.method, x.target, a.Code, x.want)
		} else if x.want == 418 && len(a.Header()) > 0 {
			t.Errorf("%s %s: the page changed the API's answer: %v", x.method, x.target, a.Header())
		}
	}
	if a := w.ask(t, "PUT", "/", "", func(r *http.Request) { r.Host = "api.example" }); a.Code != 418 {
		t.Errorf("the API's host name was checked: %d", a.Code)
	}
}

// When the store cannot be read, the page says so without the cause.
func TestUnreadableStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `ALTER TABLE alarms RENAME TO gone`)
		return err
	}))
	a := w.ask(t, http.MethodGet, "/", "")
	if got := a.Body.String(); a.Code != 503 || got != "cannot read the database; try again\n" {
		t.Errorf("%d %q", a.Code, got)
	}
}
