package page_test

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/page"
)

// panelWorld is a world whose page controls a paper brokerage, at 01:00 in New York.
func panelWorld(t *testing.T) (*world, *paper.Brokerage) {
	t.Helper()
	w := newWorld(t)
	b, err := paper.Open(t.Context(), ":memory:", paper.Options{
		Control: true, Catalog: []paper.Asset{{Symbol: "AAPL", Price: 255_000_000_000}},
		Now: func() time.Time { return time.Date(2026, 3, 17, 5, 0, 0, 0, time.UTC) },
	})
	check(t, err)
	t.Cleanup(func() { check(t, b.Close()) })
	w.setup.Control = b.Handler()
	w.page = page.New(w.setup)
	return w, b
}

func press(button string, changes ...string) string {
	v := url.Values{"control": {button}, "symbol": {" aapl "}, "price": {""}, "key": {"page-" + rand.Text()}}
	for i := 0; i < len(changes); i += 2 {
		v.Set(changes[i], changes[i+1])
	}
	return v.Encode()
}

// Each button does what it says at once, and the page confirms it.
func TestPanel(t *testing.T) {
	t.Parallel()
	w, b := panelWorld(t)
	price := func() string {
		now, _ := b.Now()
		p, _ := b.Price("AAPL", now)
		return p.String()
	}
	clock := func() string { return w.ask(t, http.MethodGet, "/control/clock", "").Body.String() }
	for _, c := range []struct {
		body, done string
		happened   func() bool
	}{
		{press("price", "price", "$100"), "The price of AAPL moved.", func() bool { return price() == "100" }},
		{press("split"), "AAPL was split 4:1.", func() bool { return price() == "25" }},
		{press("close"), "The market is closed.", func() bool { return strings.Contains(clock(), `"isOpen":false`) }},
		{press("open"), "The market is open.", func() bool { return strings.Contains(clock(), `"isOpen":true`) }},
		{press("reject"), "The next order will be rejected.", func() bool {
			return len(b.Faults()) == 1 && b.Faults()[0].String() == "reject times=1"
		}},
	} {
		a := w.ask(t, http.MethodPost, "/", c.body)
		if a.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", c.body, a.Code, words(a.Body.String()))
		}
		wantWords(t, w.get(t, a.Header().Get("Location")), c.done)
		if !c.happened() {
			t.Errorf("%s: not done; the price is %s, the clock %s", c.body, price(), clock())
		}
	}
	if len(w.all(t)) != 0 {
		t.Error("the panel gave a reward")
	}
}

// The brokerage's refusal is shown, and the fields stay.
func TestPanelRefuses(t *testing.T) {
	t.Parallel()
	w, _ := panelWorld(t)
	for _, c := range []struct{ body, want string }{
		{press("price", "price", "cheap"), "price must be a number of dollars"},
		{press("price", "price", "1", "symbol", "NO/PE"), "asset not found for NO/PE"},
		{press("split", "symbol", "NOPE"), `symbol: asset "NOPE" not found`},
		{press("sell"), "the form is incomplete"},
		{press("split", "key", ""), "the form is incomplete"},
	} {
		a := w.ask(t, http.MethodPost, "/", c.body)
		if a.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", c.body, a.Code)
		}
		wantWords(t, a.Body.String(), "Nothing was done: "+c.want)
	}
	a := w.ask(t, http.MethodPost, "/", press("close"), func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
	if a.Code != http.StatusForbidden {
		t.Errorf("another site's form: %d", a.Code)
	}
}

// A form that is sent twice, or twice at once, is carried out once. Each new form has a new key, and a button of another
// form is carried out.
func TestPanelSentTwice(t *testing.T) {
	t.Parallel()
	w, b := panelWorld(t)
	form := regexp.MustCompile(`id="panel">\s*<input type="hidden" name="key" value="([^"]+)">`)
	key := func() string { return form.FindStringSubmatch(w.get(t, "/"))[1] }
	first := key()
	if other := key(); other == first {
		t.Fatalf("two forms have the key %q", first)
	}
	w.ask(t, http.MethodPost, "/", press("price", "price", "100"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			a := w.ask(t, http.MethodPost, "/", press("split", "key", first))
			if place := a.Header().Get("Location"); a.Code != http.StatusSeeOther || place != "/?done=split&symbol=AAPL" {
				t.Errorf("%d, to %q", a.Code, place)
			}
		})
	}
	all.Wait()
	price := func() string {
		now, _ := b.Now()
		p, _ := b.Price("AAPL", now)
		return p.String()
	}
	if got := price(); got != "25" {
		t.Errorf("the price is %s after one split of $100", got)
	}
	w.ask(t, http.MethodPost, "/", press("split", "key", key()))
	if got := price(); got != "6.25" {
		t.Errorf("the price is %s after two splits of $100", got)
	}
	w.ask(t, http.MethodPost, "/", press("price", "price", "1", "key", first))
	if got := price(); got != "1" {
		t.Errorf("the price is %s, want that of another button of the first form", got)
	}
}

// Without a brokerage to control there is no panel, and its form does nothing.
func TestNoPanel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if strings.Contains(w.get(t, "/"), "The paper brokerage") {
		t.Error("the panel is shown")
	}
	if a := w.ask(t, http.MethodPost, "/", press("close")); a.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", a.Code, words(a.Body.String()))
	}
}
