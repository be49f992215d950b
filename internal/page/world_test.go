package page_test

import (
	"context"
	"crypto/rand"
	"errors"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"stockrewards/internal/intake"
	"stockrewards/internal/money"
	"stockrewards/internal/page"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/storetest"
	shared "stockrewards/test/world"
)

// world is the page over a real store, intake and domain; prices are set by tests.
type world struct {
	*storetest.World
	key    string
	prices map[rewards.AssetID]money.Price
	clock  rewards.MarketClock
	closed bool // the broker does not report the market's hours
	page   http.Handler
	setup  page.Options
	engine store.Engine
}

// Price implements rewards.Prices.
func (w *world) Price(id rewards.AssetID, _ int64) (money.Price, bool) {
	p, ok := w.prices[id]
	return p, ok
}

// Generation implements rewards.Prices: no units change.
func (*world) Generation(rewards.AssetID) int64 { return 0 }

// Reload implements rewards.Prices.
func (*world) Reload(context.Context) error { return nil }

// Clock implements page.Market.
func (w *world) Clock(context.Context) (rewards.MarketClock, error) {
	if w.closed {
		return w.clock, errors.New("no answer")
	}
	return w.clock, nil
}

const keyFile = "/home/me/stockrewards-data/dev.key"

func newWorld(t *testing.T) *world {
	t.Helper()
	engine := shared.Engine(t)
	w := &world{
		World: storetest.NewWorld(t, engine), engine: engine,
		prices: map[rewards.AssetID]money.Price{}, clock: rewards.MarketClock{Open: true},
	}
	key, err := rewards.NewKeySecret(rewards.TestKeyPrefix, rand.Reader)
	check(t, err)
	w.key = key
	_, err = w.CreateKey(t.Context(), "first", rewards.Key{Hash: rewards.HashKey(w.key)})
	check(t, err)
	in := intake.New(w.Store, func() {})
	done := make(chan struct{})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { defer close(done); in.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	w.setup = page.Options{
		App: w.App.ID, Key: w.key, KeyFile: keyFile,
		Service: rewards.NewService(w.Store, in, w, w.Now), Store: w.Store, Market: w,
		Next: http.HandlerFunc(func(a http.ResponseWriter, _ *http.Request) { a.WriteHeader(http.StatusTeapot) }),
		Log:  slog.New(slog.DiscardHandler),
	}
	w.page = page.New(w.setup)
	return w
}

// ask sends a request like a browser on this machine, modified by change.
func (w *world) ask(t *testing.T, method, target, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, c := range change {
		c(r)
	}
	a := httptest.NewRecorder()
	w.page.ServeHTTP(a, r)
	return a
}

// get returns the page, which must load.
func (w *world) get(t *testing.T, target string) string {
	t.Helper()
	a := w.ask(t, http.MethodGet, target, "")
	if a.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", target, a.Code, a.Body)
	}
	return a.Body.String()
}

// fields is a valid form, modified by changes: names and values.
func fields(changes ...string) url.Values {
	v := url.Values{"key": {"page-12345678"}, "user": {"user-0"}, "amount": {"5.25"}, "symbol": {"AAPL"}}
	for i := 0; i < len(changes); i += 2 {
		v.Set(changes[i], changes[i+1])
	}
	return v
}

// all lists every reward of the app.
func (w *world) all(t *testing.T) []rewards.Reward {
	t.Helper()
	list, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{}, rewards.Page[rewards.Reward]{Limit: 1000})
	check(t, err)
	return list
}

var tags = regexp.MustCompile(`<(?:style|script|datalist)[^>]*>(?s:.*?)</(?:style|script|datalist)>|<[^>]*>`)

// words is the text of a page, without markup.
func words(text string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(text, " "))), " ")
}

func wantWords(t *testing.T, text string, want ...string) {
	t.Helper()
	got := words(text)
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no %q in %s", w, got)
		}
	}
}

var check = shared.Check
