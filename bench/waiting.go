package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// waitingReport is what a store does while many rewards wait to be bought.
type waitingReport struct {
	rewards  int
	first    float64       // requests per second of the first seconds
	last     float64       // of the last
	recorded int64         // peak memory after recording them, in bytes
	started  time.Duration // with a cold cache
	byStatus outcome       // pages of 100 on a lone connection
	byUser   outcome
	served   int64         // peak memory after the pages
	planned  time.Duration // from resuming to the first reward bought
	bought   int64         // peak memory a while later
}

const (
	fileStatusPages = "pages-by-status"
	fileUserPages   = "pages-by-user"
)

// measureWaiting pauses ordering, as a closed market does, and records rewards until many wait.
func (h *harness) measureWaiting(ctx context.Context, t grown, r *waitingReport) (err error) {
	if _, err := h.operate(ctx, "fulfillment", "pause", "--reason", "bench", "--database", t.books); err != nil {
		return err
	}
	if err := h.recordWaiting(ctx, t.target, r); err != nil {
		return err
	}
	if _, r.recorded, err = memory(t.serve.pid()); err != nil {
		return err
	}
	if err := h.restartCold(ctx, t); err != nil {
		return err
	}
	r.started = t.started
	if err := h.readPages(ctx, t.target, r); err != nil {
		return err
	}
	if _, r.served, err = memory(t.serve.pid()); err != nil {
		return err
	}
	if _, err := h.operate(ctx, "fulfillment", "resume", "--reason", "bench", "--database", t.books); err != nil {
		return err
	}
	began := time.Now()
	for m := (metrics{}); m.rewards("executed") == 0; {
		if m, err = readMetrics(ctx, t.admin); err != nil {
			return err
		}
		if err := wait(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	r.planned = time.Since(began)
	const aWhile = 10 * time.Second
	if err := wait(ctx, aWhile); err != nil {
		return err
	}
	_, r.bought, err = memory(t.serve.pid())
	return err
}

func (h *harness) recordWaiting(ctx context.Context, t *target, r *waitingReport) error {
	const million = 1_000_000
	l := load{
		url: t.url, key: t.key, mode: modeNew, file: filepath.Join(t.folder, fileUsers),
		connections: usualConnections, seconds: h.Seconds,
	}
	for want := int(h.Waiting * million); r.rewards < want; {
		o, err := l.run(ctx, h.script)
		if err == nil {
			err = o.clean()
		}
		if err != nil {
			return err
		}
		if r.last = o.rate(); r.rewards == 0 {
			r.first = r.last
		}
		r.rewards += o.Requests
		h.say("%s: %d rewards wait, %.0f/s, p99 %s\n", t.name, r.rewards, r.last, short(o.P99))
	}
	return nil
}

// readPages reads pages of what waits: of all users, from the newest on, and of a user.
func (h *harness) readPages(ctx context.Context, t *target, r *waitingReport) error {
	const pages = 100
	c := newClient(t.url, t.key, 1)
	var byStatus []string
	for path := "/v1/rewards?limit=100&status=recorded"; path != "" && len(byStatus) < pages; {
		page, err := c.send(ctx, http.MethodGet, path, "")
		if err != nil {
			return err
		}
		if page.status != http.StatusOK {
			return fmt.Errorf("%s: %d %s", path, page.status, page.body)
		}
		byStatus = append(byStatus, path)
		path = nextPage(page.header.Get("Link"))
	}
	users, err := os.ReadFile(filepath.Join(t.folder, fileUsers))
	if err != nil {
		return err
	}
	var byUser []string
	for _, id := range strings.Fields(string(users)) {
		byUser = append(byUser, "/v1/rewards?limit=100&status=recorded&userId="+id)
	}
	for _, kind := range []struct {
		file  string
		paths []string
		into  *outcome
	}{{fileStatusPages, byStatus, &r.byStatus}, {fileUserPages, byUser, &r.byUser}} {
		file := filepath.Join(t.folder, kind.file)
		if err := os.WriteFile(file, []byte(strings.Join(kind.paths, "\n")+"\n"), 0o600); err != nil {
			return err
		}
		l := load{url: t.url, key: t.key, mode: modeGet, file: file, connections: 1, seconds: h.Seconds}
		if *kind.into, err = l.run(ctx, h.script); err != nil {
			return err
		}
		if err := kind.into.clean(); err != nil {
			return fmt.Errorf("%s: %w", kind.file, err)
		}
	}
	return nil
}

// String returns the report's paragraph.
func (r waitingReport) String() string {
	return fmt.Sprintf("\n%d more rewards wait: recorded at %.0f/s at first, %.0f/s at last, peak memory %d MB. "+
		"Then with a cold cache: start %s; a page of 100 by status p50 %s, p99 %s; of a user p50 %s, p99 %s; "+
		"peak memory %d MB. After resuming: the first was bought after %s; peak memory %d MB ten seconds later.\n",
		r.rewards, r.first, r.last, r.recorded>>20, short(r.started), short(r.byStatus.P50), short(r.byStatus.P99),
		short(r.byUser.P50), short(r.byUser.P99), r.served>>20, short(r.planned), r.bought>>20)
}
