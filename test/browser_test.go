package test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a tab of Debian's chromium, with its requests and console errors.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp's handle of the tab

	mu         sync.Mutex
	requests   []string
	complaints []string
}

// newBrowser starts a browser for the test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil { // a browser that did not start would be waited for
		cancel()
		t.Fatal("cannot start chromium, which `make test` installs: ", err)
	}
	t.Cleanup(func() {
		defer cancel()
		patient, stop := context.WithTimeout(ctx, 10*time.Second)
		defer stop()
		if err := chromedp.Cancel(patient); err != nil {
			t.Logf("the browser ended with %v", err)
		}
	})
	return b
}

// hear records the tab's requests and console errors.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *log.EventEntryAdded:
		b.complaints = append(b.complaints, fmt.Sprint(e.Entry.Source, ": ", e.Entry.Text, " ", e.Entry.URL))
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, fmt.Sprint("exception: ", e.ExceptionDetails.Text))
	case *runtime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, fmt.Sprint("console: ", e.Type))
	}
}

// asked is the number of requests so far.
func (b *browser) asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.requests)
}

// check fails unless every request went to the service. Console errors are allowed only if
// they contain one of the strings.
func (b *browser) check(url string, but ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if !strings.HasPrefix(r, url+"/") && !strings.HasPrefix(r, "data:") {
			b.t.Errorf("the page asked for %s", r)
		}
	}
	for _, c := range b.complaints {
		known := false
		for _, text := range but {
			known = known || strings.Contains(c, text)
		}
		if !known {
			b.t.Errorf("the browser complains: %s", c)
		}
	}
}

// do runs steps that must succeed within half a minute.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	noError(b.t, chromedp.Do(ctx, steps...))
}

// script evaluates an expression in the page. When the browser goes to another page meanwhile, it does so there.
func script[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	for err != nil && strings.Contains(err.Error(), "navigated") && ctx.Err() == nil {
		value, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	}
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// text is an element's text; "" without the element, or while the page is still arriving.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return script[string](b, fmt.Sprintf(`document.readyState === "complete"
		? (document.querySelector(%q)?.innerText ?? "").replace(/\s+/g, " ").trim() : ""`, selector))
}

// await waits until an element contains the text.
func (b *browser) await(selector, want string) {
	b.t.Helper()
	b.until(selector, want, func(got string) bool { return strings.Contains(got, want) })
}

// awaitOther waits until an element's text changes.
func (b *browser) awaitOther(selector, before string) {
	b.t.Helper()
	b.until(selector, "anything else", func(got string) bool { return got != before })
}

func (b *browser) until(selector, want string, good func(string) bool) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got := b.text(selector)
		if good(got) {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s reads %q, want %q; the page: %s", selector, got, want, b.text("body"))
		}
	}
}

// withoutScripts disables scripts from the next navigation on.
func withoutScripts(ctx context.Context, tab *chromedp.Target) error {
	_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
}
