package admin_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/admin"
	"stockrewards/internal/rewards"
	shared "stockrewards/test/world"
)

// world is everything that Admin reads, as a test sets it.
type world struct {
	mu       sync.Mutex
	overview rewards.Overview
	unread   error
	unwrite  error
	reads    int
	writes   int
	hang     chan struct{} // while not nil, the store blocks until it is closed
	writable bool          // its writes do not block
	heldBack string
	unknown  error // of looking for what holds the database back
	looks    int   // for that
	unusable int
	locked   int // webhook endpoints
	damaged  []string
	depth    int
	intake   time.Duration
	worker   time.Duration
	leaders  int // changes of the leader

	metrics *admin.Metrics
	admin   *admin.Admin
}

func (w *world) Overview(ctx context.Context) (rewards.Overview, error) {
	if err := w.wait(ctx); err != nil {
		return rewards.Overview{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	return w.overview, w.unread
}

func (w *world) CheckWrites(ctx context.Context) error {
	if !w.writable {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	return w.unwrite
}

func (w *world) HeldBack(ctx context.Context) (string, error) {
	if err := w.wait(ctx); err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	return w.heldBack, w.unknown
}

// weakServer is a database server whose commits may be lost, and which has few transaction ids left.
type weakServer struct{}

func (weakServer) Weakness(context.Context) (string, error) { return "fsync is off", nil }
func (weakServer) TransactionIDsLow(context.Context) (string, error) {
	return "600 million are left", nil
}
func (weakServer) CheckAccess(context.Context) error { return nil }

func (w *world) wait(ctx context.Context) error {
	w.mu.Lock()
	hang := w.hang
	w.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (w *world) DamagedFilters() []string       { return w.damaged }
func (w *world) PriceAge() (time.Duration, int) { return 3 * time.Second, w.unusable }
func (w *world) Depth() int                     { return w.depth }

func (w *world) NotAfter(context.Context) time.Time { return time.Unix(4_000_000_000, 0) }

func (w *world) Followers() int { return 3 }
func (w *world) Count() rewards.WebhookCounts {
	return rewards.WebhookCounts{Enabled: 5, Failing: 2, Disabled: 1, Locked: w.locked, Oldest: time.Now().Add(-time.Hour)}
}

type intake struct{ *world }

func (i intake) Busy() time.Duration { return i.intake }

type worker struct{ *world }

func (w worker) Busy() time.Duration { return w.worker }
func (w worker) Leads() bool         { return true }
func (w worker) LeaderChanges() int  { return w.leaders }

func newMetrics() *admin.Metrics {
	return admin.NewMetrics([]admin.Endpoint{{Method: "GET", Route: "/v1/assets"}, {Method: "POST", Route: "/v1/rewards"}},
		[]string{"clock", "submit"}, admin.Build{Version: "1", Revision: "abc", Go: "go1"})
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOver(t, nil)
}

func newWorldOver(t *testing.T, server admin.DatabaseServer) *world {
	t.Helper()
	w := &world{metrics: newMetrics()}
	w.metrics.WatchLog(func() int64 { return 7 })
	var err error
	w.admin, err = admin.New(admin.Options{
		Metrics: w.metrics, Store: w, Market: w, Intake: intake{w}, Worker: worker{w}, Certificate: w, Gate: w, Webhooks: w,
		Server:     server,
		HouseLimit: admin.Limit{Exists: true, Amount: 100_000_000}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	check(t, err)
	return w
}

func (w *world) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	return w.request(t, t.Context(), path)
}

//nolint:revive // the test comes first
func (w *world) request(t *testing.T, ctx context.Context, path string) (status int, body string) {
	t.Helper()
	r := httptest.NewRecorder()
	w.admin.Handler().ServeHTTP(r, httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody))
	text, err := io.ReadAll(r.Body)
	check(t, err)
	return r.Code, string(text)
}

var check = shared.Check
