// Package page is the page for people of `stockrewards dev`: what the service does,
// as it happens, and a form to give a reward. It promises that it answers only
// browsers of this machine, changes nothing at another site's request, asks no other
// host for anything and never shows the app's key. Read view.go for what it shows,
// give.go for the form; page.js asks for the live part once a second.
package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Books is what the page reads beside the use cases.
type Books interface {
	// CountRewards counts the app's rewards by status, each up to most.
	CountRewards(ctx context.Context, app rewards.AppID, most int) (map[rewards.Status]int, error)
	// SharesOf tells how many shares each reward has got; those with none are missing.
	SharesOf(ctx context.Context, app rewards.AppID, ids []rewards.RewardID) (map[rewards.RewardID]money.Shares, error)
	// Orders lists orders, newest first; a zero state lists all.
	Orders(ctx context.Context, state rewards.OrderState, p rewards.Page[rewards.Order]) ([]rewards.Order, error)
	// MemberCounts tells how many rewards each order carries.
	MemberCounts(ctx context.Context, ids []rewards.OrderID) (map[rewards.OrderID]int, error)
	// Alarms lists what an operator should look at.
	Alarms(ctx context.Context) ([]rewards.Alarm, error)
}

// Market tells the market's hours.
type Market interface {
	// Clock is the market's hours; it fails when the broker does not tell them.
	Clock(ctx context.Context) (rewards.MarketClock, error)
}

// Options says what the page is made of.
type Options struct {
	App     rewards.AppID    // whose rewards and users are shown
	Key     string           // the app's key: what the form gives must be allowed to it; never shown
	KeyFile string           // where the key is kept; shown
	Service *rewards.Service // reads and gives
	Books   Books
	Market  Market
	Next    http.Handler // answers everything but the page
	Control http.Handler // answers the paths under /control/; nil: Next does
	Log     *slog.Logger
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

type handler struct {
	Options
	templates *template.Template
	policy    string // the Content-Security-Policy
	origins   *http.CrossOriginProtection
}

// New makes the handler: GET, HEAD and POST of the path "/" are the page, the paths
// under /control/ go to o.Control with the page's protection, everything else goes to
// o.Next untouched.
func New(o Options) http.Handler {
	return &handler{
		Options:   o,
		templates: template.Must(template.New("").Funcs(template.FuncMap{"dollars": dollars}).Parse(pageHTML)),
		policy: "default-src 'none'; style-src " + hash(pageCSS) + "; script-src " + hash(pageJS) +
			"; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		origins: http.NewCrossOriginProtection(),
	}
}

// hash names a text in a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// maxTime bounds a request, far below the server's write time-out.
const maxTime = 10 * time.Second

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.Control != nil && strings.HasPrefix(r.URL.Path, "/control/") {
		h.control(w, r)
		return
	}
	post := r.Method == http.MethodPost
	if r.URL.Path != "/" || !post && r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Next.ServeHTTP(w, r)
		return
	}
	h.protect(w.Header())
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	r = r.WithContext(ctx)
	switch {
	case !local(r.Host):
		http.Error(w, "this page is for this machine only: open it as http://localhost:PORT/", http.StatusForbidden)
	case h.origins.Check(r) != nil:
		http.Error(w, "another site asked for this; nothing was done", http.StatusForbidden)
	case post:
		h.give(w, r)
	default:
		h.show(w, r)
	}
}

// control lets programs of this machine steer the brokerage, and no other site's page.
func (h *handler) control(w http.ResponseWriter, r *http.Request) {
	if !local(r.Host) || h.origins.Check(r) != nil {
		http.Error(w, "the brokerage is steered from this machine only; nothing was done", http.StatusForbidden)
		return
	}
	h.Control.ServeHTTP(w, r)
}

// protect sets what every answer says to the browser.
func (h *handler) protect(header http.Header) {
	header.Set("Content-Security-Policy", h.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// local tells whether a Host header names this machine without asking a name server.
// A foreign name that was made to point here (DNS rebinding) does not.
func local(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	ip, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && ip.IsLoopback()
}

// show answers with the page, or with its live part alone.
func (h *handler) show(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	name, load := "page", h.page
	if query.Get("part") == "live" {
		name, load = "live", h.live
	}
	v, err := load(r.Context(), query)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.render(w, r, http.StatusOK, name, v)
}

// fail answers that the page can't be shown; why is logged.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	h.Log.ErrorContext(r.Context(), "the page could not be shown", slog.Any("error", err))
	http.Error(w, "the books cannot be read now; try again", http.StatusServiceUnavailable)
}

// render writes a template's answer, whole or not at all.
func (h *handler) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	v.Host = r.Host
	var body bytes.Buffer
	if err := h.templates.ExecuteTemplate(&body, name, v); err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the reader may have gone
}
