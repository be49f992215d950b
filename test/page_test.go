package test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"stockrewards/test/world"
)

// newDev starts dev as a service with the test as its client.
func newDev(t *testing.T) (s *service, stop func(...os.Signal)) {
	t.Helper()
	folder := t.TempDir()
	greeting, stop := startDev(t, folder)
	url := regexp.MustCompile(`Watch it in a browser: (http://\S+)/\n`).FindStringSubmatch(greeting)
	key := regexp.MustCompile(`(?m)^ +(sr_test_\w+)$`).FindStringSubmatch(greeting)
	if url == nil || key == nil {
		t.Fatalf("no address or key in\n%s", greeting)
	}
	return &service{t: t, folder: folder, url: url[1], key: key[1]}, stop
}

// In a real browser: changes appear without a reload, the form gives rewards, foreign text
// is escaped, and the page reconnects to a restarted server.
func TestPageUpdatesLive(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	b := newBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.url+"/"))
	b.await("#connection", "Live")
	b.await("#rewards", "None yet.")
	script[int](b, `window.loaded = 1`)

	user := s.newUser("browser-user")
	r := s.give(user, "browser-key-1", "5.25", "AAPL")
	b.await("#r-"+r.ID, "browser-user $5.25 AAPL executed 0.0")
	b.await("#orders", "AAPL 1 $5.25 settled filled 0.0")
	b.await("#portfolio-title", "Portfolio of browser-user")
	b.await("#count-executed", "1")
	b.await("#announce", "0 recorded, 0 executing, 1 executed, 0 failed")
	if value := b.text("#value"); !regexp.MustCompile(`^\$5\.\d+$`).MatchString(value) {
		t.Errorf("the portfolio is worth %q", value)
	}
	b.await("#portfolio table", "AAPL $5.")
	s.give(user, "browser-key-2", "1000", "NVR") // so expensive that its price moves every few seconds
	b.await("#portfolio table", "NVR $")
	b.awaitOther("#portfolio table", b.text("#portfolio table"))
	if script[int](b, `window.loaded`) != 1 {
		t.Error("the page was loaded again")
	}

	b.do(
		chromedp.SetValue(chromedp.CSS("input[name=user]"), "form-user"),
		chromedp.SetValue(chromedp.CSS("input[name=amount]"), "12.5"),
		chromedp.SetValue(chromedp.CSS("input[name=symbol]"), "ko"),
		chromedp.Click(chromedp.CSS("form button")))
	b.await("#given", "Recorded: $12.50 of KO for form-user.")
	b.await("#portfolio", "Portfolio of form-user $12.")
	b.await("#count-executed", "3")

	hostile := s.newUser(`"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`)
	r = s.give(hostile, "browser-key-3", "1", "KO")
	b.await("#r-"+r.ID, `"><img src=x`)
	if script[bool](b, `"hacked" in window || document.querySelector("img") !== null`) {
		t.Error("a user's name has become a part of the page")
	}
	b.check(s.url)

	restartUnderThePage(t, s, b, stop)
}

// The panel of dev's page moves a price and closes the market, and the page follows.
func TestPanelInABrowser(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	defer stop()
	b := newBrowser(t)
	b.do(chromedp.Navigate(s.url + "/"))
	b.await("#connection", "Live")
	b.do(
		chromedp.SetValue(chromedp.CSS("#panel input[name=symbol]"), "ko"),
		chromedp.SetValue(chromedp.CSS("#panel input[name=price]"), "12.5"),
		chromedp.Click(chromedp.CSS("#panel button[value=price]")))
	b.await("#panel-done", "The price of KO moved.")
	b.do(chromedp.Click(chromedp.CSS("#panel button[value=close]")))
	b.await("#panel-done", "The market is closed.")
	b.await("#market", "Market closed")
	waiting := s.give(s.newUser("panel-user"), "panel-key-1", "5.25", "AAPL")
	b.await("#r-"+waiting.ID, "recorded")
	b.do(chromedp.Navigate(s.url + "/rewards/" + waiting.ID))
	b.await("#timeline", "the market is closed")
	script[string](b, `window.loaded = 1; document.querySelector("main a").focus(); ""`)
	world.Ask(t, http.StatusOK, "", "PUT", s.url+"/control/market", `{"open":true}`, nil)
	b.await("#status", "executed")
	b.await("#announce", "executed")
	if script[string](b, `window.loaded + document.activeElement.textContent`) != "1panel-user" {
		t.Error("the page of a reward was loaded again, or lost the focus")
	}
	b.check(s.url)
}

// No table of dev's page is wider than its card, however wide the window is: with an order that has a reason, a user
// with a long name and the largest award.
func TestPageFitsEveryWindow(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	defer stop()
	user := s.newUser(strings.Repeat("a-long-name-", 10))
	s.give(user, "wide-key-1", "1000000", "GOOGL")
	b := newBrowser(t)
	b.do(chromedp.EmulateViewport(1400, 900), chromedp.Navigate(s.url+"/"))
	b.await("#connection", "Live")
	b.await("#count-executed", "1")
	world.Ask(t, http.StatusOK, "", "POST", s.url+"/control/faults", "error on=submit status=422 times=1", nil)
	s.give(user, "wide-key-2", "1000000", "AAPL")
	b.await("#orders", "AAPL 1 $1000000.00 refused")
	price := script[float64](b, `parseFloat(document.querySelector("#portfolio .price").textContent.replace("at $", ""))`)
	world.Ask(t, http.StatusOK, "", "PUT", s.url+"/control/prices/GOOGL", fmt.Sprintf(`{"price":"%.2f"}`, 0.75*price), nil)
	b.await("#gain", "(-2")
	const overflow = `
		document.querySelectorAll("#rewards time, #orders time").forEach(t => t.textContent = "Nov 28, 02:30:28 PM");
		Math.max(...[...document.querySelectorAll("table")].map(table => {
			const card = table.closest(".card");
			return Math.ceil(table.getBoundingClientRect().right - card.getBoundingClientRect().right
				+ parseFloat(getComputedStyle(card).paddingRight));
		}))`
	for _, width := range []int64{320, 390, 704, 705, 786, 787, 1000, 1152, 1153, 1166, 1167, 1200, 1247, 1400, 2000} {
		b.do(chromedp.EmulateViewport(width, 900))
		if over := script[int](b, overflow); over > 0 {
			t.Errorf("a table is %d pixels too wide in a window of %d", over, width)
		}
		if wide := script[int64](b, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("the page is %d wide in a window of %d", wide, width)
		}
		if width == 1200 {
			b.picture("wide", "#orders")
		}
	}
	b.check(s.url)
}

// restartUnderThePage kills and restarts the server of an open page, which must not delay
// the server's shutdown.
func restartUnderThePage(t *testing.T, s *service, b *browser, stop func(...os.Signal)) {
	t.Helper()
	script[int](b, `window.loaded = 2`)
	stop(os.Kill)
	b.await("#connection", "Not connected")
	_, stop = startDev(t, s.folder, strings.TrimPrefix(s.url, "http://"))
	b.await("#connection", "Live")
	r := s.give(s.newUser("late-user"), "browser-key-4", "2", "AAPL")
	b.await("#r-"+r.ID, "late-user $2.00 AAPL executed")
	if script[int](b, `window.loaded`) != 2 {
		t.Error("the page was loaded again")
	}
	began := time.Now()
	stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("with a page open it stopped after %s", took)
	}
	b.await("#connection", "Not connected")
	b.check(s.url, "network: Failed to load resource: net::ERR_")
}

// Only dev has the page, which does not change the API.
func TestOnlyDevHasThePage(t *testing.T) {
	t.Parallel()
	dev, stop := newDev(t)
	defer stop()
	served := newService(t, t.TempDir())
	served.start()
	if a := dev.must(200, "GET", "/", ""); !strings.HasPrefix(string(a.body), "<!DOCTYPE html>") {
		t.Errorf("dev's page: %s", a.body)
	}
	for _, a := range []answer{
		served.must(404, "GET", "/", ""), served.must(404, "POST", "/", "{}"),
		dev.must(404, "PUT", "/", "{}"), dev.must(404, "GET", "/favicon.ico", ""), dev.must(404, "GET", "//", ""),
	} {
		var got struct {
			Error struct{ Code, Message, RequestID string }
		}
		a.decode(t, &got)
		if got.Error.Code != "not_found" || got.Error.Message != "no such route" || got.Error.RequestID == "" ||
			a.header.Get("Content-Security-Policy") != "" {
			t.Errorf("got %s with %v", a.body, a.header)
		}
	}
	dev.must(200, "GET", "/v1/users", "")
}

// A hidden page sends no requests, and is current once it is visible.
func TestHiddenPageDoesNotPoll(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	defer stop()
	b := newBrowser(t)
	b.do(chromedp.Navigate(s.url + "/"))
	b.await("#connection", "Live")
	hide := func(hidden bool) {
		script[bool](b, fmt.Sprintf(`Object.defineProperty(document, "hidden", {configurable: true, value: %t});
			for (let i = 0; i < 10; i++) document.dispatchEvent(new Event("visibilitychange"))`, hidden))
	}
	hide(true)
	asked, began := b.asked(), time.Now()
	user := s.newUser("unseen")
	var last award
	for i := 0; time.Since(began) < 3*time.Second; i++ {
		last = s.await(s.give(user, fmt.Sprint("unseen-key-", i), "1", "KO").ID, "executed", 10*time.Second)
	}
	if more := b.asked() - asked; more > 1 { // one may have been in progress
		t.Errorf("%d requests while nobody looked", more)
	}
	if got := b.text("#r-" + last.ID); got != "" {
		t.Errorf("the hidden page shows %s", got)
	}
	asked, began = b.asked(), time.Now()
	hide(false)
	b.await("#r-"+last.ID, "executed")
	if more, most := b.asked()-asked, 2+int(time.Since(began).Seconds()); more > most {
		t.Errorf("%d requests at once", more)
	}
	b.check(s.url)
}

// Without scripts the page shows the same content until it is reloaded, and the form works.
// On a phone nothing is wider than the screen.
func TestPageWithoutScripts(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	defer stop()
	r := s.await(s.give(s.newUser("plain-user"), "plain-key", "5.25", "AAPL").ID, "executed", 10*time.Second)
	b := newBrowser(t)
	b.do(chromedp.Func(withoutScripts), chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile),
		chromedp.Navigate(s.url+"/"))
	b.await("#r-"+r.ID, "UTC")
	for _, want := range []string{"plain-user", "$5.25", "AAPL", "executed", "0.0"} {
		b.await("#r-"+r.ID, want)
	}
	b.await("#portfolio", "Portfolio of plain-user $5.")
	b.await(".pills", "Reload")
	b.do(chromedp.SetValue(chromedp.CSS("input[name=amount]"), "1000000"), chromedp.Click(chromedp.CSS("form button")))
	b.await("#given", "Recorded: $1000000.00 of AAPL for plain-user.")
	if wide := script[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %d wide", wide)
	}
	b.check(s.url)
}
