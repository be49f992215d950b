package test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	sdk "stockrewards/client"
)

// dark makes pages dark from now on.
func dark(ctx context.Context, tab *chromedp.Target) error {
	_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	return err
}

// On a phone, in the dark and without scripts, dev's page shows a webhook endpoint as it fails, recovers and is
// disabled, with its deliveries. Its button sends a test; another site's page cannot.
func TestWebhooksInABrowser(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	defer stop()
	var broken atomic.Bool
	broken.Store(true)
	in := newHook(t, func(int) int {
		if broken.Load() {
			return http.StatusInternalServerError
		}
		return 0
	})
	b := newBrowser(t)
	b.do(chromedp.Func(withoutScripts), chromedp.Func(dark), chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile),
		chromedp.Navigate(s.url+"/"))
	b.await("#webhooks", "None yet.")

	address := in.url + "?" + strings.Repeat("a-long-address-", 10)
	e, _, err := s.sdk().CreateWebhookEndpoint(t.Context(), sdk.NewWebhookEndpoint{URL: address, Types: []string{"reward.executed"}})
	noError(t, err)
	card := "#w-" + e.ID
	send := func() {
		b.do(chromedp.Click(chromedp.CSS(card + " button")))
		b.await("#tested", "A test was sent to "+address)
	}
	shows := func(want ...string) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !containsAll(b.text(card), want); {
			if time.Now().After(deadline) {
				t.Fatalf("the endpoint reads %q, want %q", b.text(card), want)
			}
			b.do(chromedp.Navigate(s.url + "/"))
		}
		if wide := script[int](b, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("the page is %d wide", wide)
		}
	}
	shows("enabled", "Gets reward.executed. No event waits to be sent for the first time.")
	send()
	shows("failing", "Every attempt has failed since", "test.ping", "pending", "the receiver answered 500", "again at")
	s.give(s.newUser("watched"), "watched-key", "5.25", "AAPL")
	shows("reward.executed pending")
	b.picture("webhooks", "#webhooks")
	broken.Store(false)
	send()
	in.next(t)
	shows("enabled", "delivered")
	s.must(200, "PATCH", "/v1/webhook-endpoints/"+e.ID, `{"status":"disabled"}`)
	s.give(s.newUser("late"), "late-key", "5.25", "AAPL")
	shows("disabled", "the app disabled it. Its events wait until you enable it.", "Not sent yet: reward.executed of")
	b.check(s.url)
	crossSite(t, s, "webhook="+e.ID, http.StatusForbidden, "Sec-Fetch-Site", "cross-site")
	crossSite(t, s, "webhook="+e.ID, http.StatusForbidden, "Origin", "https://evil.example")
	crossSite(t, s, "webhook=01a20528-57fa-7000-8a2b-9cbe054ef63e", http.StatusNotFound, "Sec-Fetch-Site", "same-origin")
}

// containsAll reports whether a page contains every string of a list.
func containsAll(page string, list []string) bool {
	return !slices.ContainsFunc(list, func(want string) bool { return !strings.Contains(page, want) })
}

// crossSite posts a form to the page with a header, which must be answered with a status.
func crossSite(t *testing.T, s *service, form string, want int, name, value string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/", strings.NewReader(form))
	noError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set(name, value)
	a, err := client.Do(r)
	noError(t, err)
	noError(t, a.Body.Close())
	if a.StatusCode != want {
		t.Errorf("%s with %s: %s is %d, want %d", form, name, value, a.StatusCode, want)
	}
}
