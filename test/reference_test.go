package test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pictures is a folder for pictures of the reference, for people to look at.
var pictures = flag.String("pictures", "", "write pictures of the reference to this folder")

// In a real browser the reference switches languages by keyboard, fits a phone, keeps to dark
// colors, prints all of its text, loads nothing else, and breaks no rule of its policy.
func TestReferenceInABrowser(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	defer stop()
	b := newBrowser(t)
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(s.url+"/"), chromedp.Click(chromedp.CSS(`footer a[href="/docs"]`)))
	b.await("h1", "API 1") // the page before has the same name
	shown := `[...document.querySelectorAll("#createReward ~ .samples > .sample")].filter(e => e.offsetParent).map(e => e.className).join()`
	if got := script[string](b, shown); got != "sample sh" {
		t.Errorf("the page shows %q", got)
	}
	b.do(chromedp.Focus(chromedp.CSS("#show-sh")), chromedp.KeyEvent(kb.ArrowRight))
	if got := script[string](b, shown); got != "sample ts" {
		t.Errorf("after a right arrow the page shows %q", got)
	}
	b.picture("desktop", "#createReward")
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile), chromedp.Func(media("", "dark")))
	if wide := script[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("on a phone the page is %d wide: %s", wide, script[string](b,
			`[...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > 391 && !e.closest("pre, .scroll")).slice(0, 5).map(e => e.outerHTML.slice(0, 200)).join("\n")`))
	}
	if light := script[float64](b, `Math.max(...getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number))`); light > 60 {
		t.Errorf("in the dark the page has the background %v", light)
	}
	b.picture("phone-top", "h1")
	b.picture("phone", "#createReward")
	b.do(chromedp.EmulateViewport(800, 1100), chromedp.Func(media("print", "light")))
	if painted := script[bool](b, `(() => {
			const example = document.querySelector("#createReward ~ details.example pre");
			example.scrollIntoView();
			const at = example.getBoundingClientRect();
			return example.contains(document.elementFromPoint(at.x + 20, at.y + 20));
		})()`); !painted {
		t.Error("a printed example is hidden")
	}
	b.picture("print", "#createReward ~ details.example")
	b.print()
	b.check(s.url)
}

// A form of dev's reference sends an operation with the key, which the page does not have.
func TestTryItInABrowser(t *testing.T) {
	t.Parallel()
	s, stop := newDev(t)
	defer stop()
	b := newBrowser(t)
	b.do(chromedp.Func(withoutScripts), chromedp.Navigate(s.url+"/docs#createReward"),
		chromedp.Click(chromedp.CSS("#createReward ~ details.try > summary")),
		chromedp.Click(chromedp.CSS("#createReward ~ details.try button")))
	b.await("#answer", "201 Created")
	b.await("#body", `"status": "recorded"`)
	b.do(chromedp.Click(chromedp.CSS("details.try button")))
	b.await("#answer", "200 OK")
	b.await("#body", `"idempotentReplay": true`)
	b.picture("try", "h1")
	if html := script[string](b, `document.documentElement.outerHTML`); strings.Contains(html, s.key) {
		t.Error("the page has the key")
	}
	if got := s.must(200, "GET", "/docs", ""); strings.Contains(string(got.body), s.key) {
		t.Error("the reference has the key")
	}
	b.check(s.url)
}

// Every listener has the reference; only that of dev has forms.
func TestReferenceOfEveryListener(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	admin := s.startWatched()
	api := string(s.must(200, "GET", "/docs", "").body)
	watched := &service{t: t, url: admin}
	if got := string(watched.must(200, "GET", "/docs", "").body); got != api || !regexp.MustCompile(`<h2 id="guides">`).MatchString(got) {
		t.Errorf("the admin listener has %d bytes, the API %d", len(got), len(api))
	}
	if strings.Contains(api, "<form") {
		t.Error("serve has forms")
	}
}

// media makes pages see a medium, such as print, and the colors that the reader prefers.
func media(medium, colors string) func(context.Context, *chromedp.Target) error {
	return func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colors}},
		})
		return err
	}
}

// picture writes what the tab shows from an element on, if the test was asked for pictures.
func (b *browser) picture(name, selector string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	script[int](b, `document.querySelector("`+selector+`").scrollIntoView(), 1`)
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	image, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	noError(b.t, err)
	noError(b.t, os.WriteFile(filepath.Join(*pictures, name+".png"), image, 0o600))
}

// print prints the page as a PDF, which must have several pages.
func (b *browser) print() {
	b.t.Helper()
	var data []byte
	b.do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		got, err := cdp.Call(ctx, tab, cdppage.PrintToPDF, cdppage.PrintToPDFParams{})
		data = got.Data
		return err
	}))
	if len(data) < 100_000 {
		b.t.Errorf("the printed page has %d bytes", len(data))
	}
	if *pictures != "" {
		noError(b.t, os.WriteFile(filepath.Join(*pictures, "print.pdf"), data, 0o600))
	}
}
