// Package page is the web page of `stockrewards dev`: it shows rewards, orders and a
// portfolio as they change, and has a form to give a reward. It serves only browsers on
// this machine, ignores requests from other sites, loads nothing from other hosts and
// never shows the app's key. Read view.go for what it shows and give.go for the form;
// page.js refreshes the live part every second. panel.go is the panel of the brokerage.
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
	"sync"
	"time"

	"github.com/google/uuid"
	"stockrewards/internal/money"

	"stockrewards/internal/rewards"
)

// Store reads what the use cases of rewards.Service do not.
type Store interface {
	// CountRewards counts the app's rewards by status, each up to most.
	CountRewards(ctx context.Context, app rewards.AppID, most int) (map[rewards.Status]int, error)
	// SharesOf returns the shares of each reward; rewards without shares are missing.
	SharesOf(ctx context.Context, app rewards.AppID, ids []rewards.RewardID) (map[rewards.RewardID]money.Shares, error)
	// Orders lists orders, newest first; a zero state lists all.
	Orders(ctx context.Context, state rewards.OrderState, p rewards.Page[rewards.Order]) ([]rewards.Order, error)
	// MemberCounts returns the number of rewards in each order.
	MemberCounts(ctx context.Context, ids []rewards.OrderID) (map[rewards.OrderID]int, error)
	// Alarms lists the raised alarms.
	Alarms(ctx context.Context) ([]rewards.Alarm, error)
}

// Market knows the market's hours.
type Market interface {
	// Clock returns the market's hours; it fails when the broker does not report them.
	Clock(ctx context.Context) (rewards.MarketClock, error)
}

// Options configure the page.
type Options struct {
	App     rewards.AppID // whose rewards and users are shown
	Key     string        // the app's key, which the form uses; never shown
	KeyFile string        // where the key is stored; shown
	Service *rewards.Service
	Store   Store
	Market  Market
	Next    http.Handler // answers everything except the page
	Control http.Handler // answers the paths under /control/; nil: Next does
	Docs    http.Handler // answers GET, HEAD and POST of /docs; nil: Next does
	Log     *slog.Logger
}

//go:embed page.html
var pageHTML string

//go:embed detail.html
var detailHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

type handler struct {
	Options
	templates *template.Template
	policy    string // the Content-Security-Policy
	origins   *http.CrossOriginProtection

	panel   sync.Mutex // held while a button's request is carried out; it protects presses
	presses []press    // that were carried out, oldest first
}

// New returns the handler. GET, HEAD and POST of "/" are the page; /rewards/ID and /users/ID are those
// of a reward and of a user. Paths under /control/
// go to o.Control and /docs to o.Docs, with the page's protection. The rest goes to o.Next.
func New(o Options) http.Handler {
	return &handler{
		Options: o,
		templates: template.Must(template.Must(template.New("").
			Funcs(template.FuncMap{"dollars": dollars, "quoted": Quoted}).Parse(pageHTML)).Parse(detailHTML)),
		policy: "default-src 'none'; style-src " + hash(pageCSS) + "; script-src " + hash(pageJS) +
			"; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		origins: http.NewCrossOriginProtection(),
	}
}

// hash is how a Content-Security-Policy refers to an inline script or style.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// maxTime limits a request, well below the server's write timeout.
const maxTime = 10 * time.Second

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.Control != nil && strings.HasPrefix(r.URL.Path, "/control/") {
		h.guarded(h.Control, w, r)
		return
	}
	post := r.Method == http.MethodPost
	shown := post || r.Method == http.MethodGet || r.Method == http.MethodHead
	if h.Docs != nil && r.URL.Path == "/docs" && shown {
		h.protect(w.Header())
		h.guarded(h.Docs, w, r)
		return
	}
	detailed := !post && detailed(r.URL.Path)
	if r.URL.Path != "/" && !detailed || !shown {
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
		http.Error(w, "another site sent this request; nothing was done", http.StatusForbidden)
	case detailed:
		h.detail(w, r)
	case post:
		h.post(w, r)
	default:
		h.show(w, r)
	}
}

// post takes the form of a reward, of the brokerage's panel, or of a webhook endpoint's test.
func (h *handler) post(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	parsed := r.ParseForm() == nil
	switch {
	case parsed && h.Control != nil && r.PostForm.Has("control"):
		h.operate(w, r)
	case parsed && r.PostForm.Has("webhook"):
		h.sendTest(w, r)
	default:
		h.give(w, r)
	}
}

// guarded serves this machine's programs and pages, but no other site's page.
func (h *handler) guarded(next http.Handler, w http.ResponseWriter, r *http.Request) {
	if !local(r.Host) || h.origins.Check(r) != nil {
		http.Error(w, "this is for this machine only; nothing was done", http.StatusForbidden)
		return
	}
	next.ServeHTTP(w, r)
}

// protect sets the headers of every answer: for security, and an id.
func (h *handler) protect(header http.Header) {
	header.Set("Content-Security-Policy", h.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Request-Id", uuid.NewString()) // as every response has one
}

// local reports whether a Host header names this machine without a DNS lookup. A foreign
// name that resolves to it (DNS rebinding) does not.
func local(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	ip, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && ip.IsLoopback()
}

// show answers with the page, or only with its live part.
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

// fail answers that the page cannot be shown, and logs the cause.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits for it any more
	}
	h.Log.ErrorContext(r.Context(), "cannot show the page", slog.Any("error", err))
	http.Error(w, "cannot read the database; try again", http.StatusServiceUnavailable)
}

// render executes a template. A failed one sends nothing but the error.
func (h *handler) render(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	v.Host = r.Host
	var body bytes.Buffer
	if err := h.templates.ExecuteTemplate(&body, name, v); err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the browser may have disconnected
}
