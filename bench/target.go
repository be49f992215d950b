package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"stockrewards/internal/store/postgres/pgtest"
)

const (
	nameCeiling  = "ceiling"
	nameSQLite   = "sqlite"
	namePostgres = "postgres"
)

// target is a running server under measurement.
type target struct {
	name     string
	folder   string // of its files and of the input of load.lua
	url      string
	admin    string // URL of the admin listener; empty for the bare server
	key      string
	hoarder  string // key of an app with large lists, for the flood
	books    string // URL of its database
	flags    []string
	serve    *process
	paper    *process // the brokerage, when it is a separate process
	database int      // process id of the database server; 0 when unknown
	started  time.Duration
}

func (h *harness) newTarget(name string) (*target, error) {
	folder, err := mkdir(h.folder, name)
	return &target{name: name, folder: folder}, err
}

func mkdir(parent, name string) (string, error) {
	const ownerOnly = 0o700
	folder := filepath.Join(parent, name)
	return folder, os.Mkdir(folder, ownerOnly)
}

func (h *harness) startCeiling(ctx context.Context) (*target, error) {
	t, err := h.newTarget(nameCeiling)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	address, err := pgtest.FreeAddress()
	if err != nil {
		return nil, err
	}
	t.url, t.key = "http://"+address, "none"
	if t.serve, err = spawn(t.folder, "ceiling", program, "ceiling", "--listen", address); err != nil {
		return nil, err
	}
	h.ends.add(t.serve.stop)
	return t, errors.Join(writeCeiling(t.folder, h.Users), t.serve.await(ctx, t.url+"/portfolio"))
}

func (h *harness) startSQLite(ctx context.Context) (*target, error) {
	t, err := h.newTarget(nameSQLite)
	if err != nil {
		return nil, err
	}
	path := h.SqliteFile
	if path == "" {
		path = filepath.Join(t.folder, "rewards.db")
	}
	t.books = "sqlite:" + path
	return t, h.startService(ctx, t, h.SqliteFile != "")
}

// startPostgres starts the service over its own PostgreSQL, with the durability of a real
// one, and a paper brokerage beside it.
func (h *harness) startPostgres(ctx context.Context) (*target, error) {
	t, err := h.newTarget(namePostgres)
	if err != nil {
		return nil, err
	}
	if t.books, t.database = h.PostgresURL, h.PostgresPID; t.books == "" {
		if _, err := h.startCluster(ctx, t); err != nil {
			return nil, err
		}
	}
	books := h.PaperFile
	if books == "" {
		books = filepath.Join(t.folder, "paper.db")
	}
	if err := h.startPaper(ctx, t, books); err != nil {
		return nil, err
	}
	return t, h.startService(ctx, t, h.PostgresURL != "")
}

// startPaper starts a paper brokerage for the target.
func (h *harness) startPaper(ctx context.Context, t *target, books string) error {
	address, err := pgtest.FreeAddress()
	if err != nil {
		return err
	}
	t.paper, err = spawn(t.folder, "paper", h.binary, "paper", "--database", "sqlite:"+books,
		"--listen", address, "--requests-per-minute", "0")
	if err != nil {
		return err
	}
	h.ends.add(t.paper.stop)
	// Like the embedded brokerage: without a relevant limit or wait.
	const rate = "60000"
	t.flags = []string{
		"--broker", "alpaca", "--alpaca-url", "http://" + address, "--alpaca-data-url", "http://" + address,
		"--alpaca-requests-per-minute", rate, "--small-pool-wait", "0s", "--house-daily-limit", "1000000000",
	}
	return t.paper.await(ctx, "http://"+address+"/control/clock")
}

// clusterSettings are those of a real PostgreSQL server.
func clusterSettings() []string {
	return []string{
		"fsync=on", "synchronous_commit=on", "full_page_writes=on", "max_wal_size=8GB", "shared_buffers=256MB",
	}
}

// startCluster starts a PostgreSQL server with a database for the target.
func (h *harness) startCluster(ctx context.Context, t *target) (cluster *pgtest.Cluster, err error) {
	if cluster, err = pgtest.NewIn(h.folder, clusterSettings()...); err != nil {
		return nil, err
	}
	h.ends.add(cluster.Close)
	t.database = cluster.PID()
	t.books, err = cluster.NewDatabase(ctx)
	return cluster, err
}

// startService starts serve for the first time.
func (h *harness) startService(ctx context.Context, t *target, filled bool) error {
	if err := h.makeKey(ctx, t, filled); err != nil {
		return err
	}
	if h.only.MatchString(partEvents) {
		t.flags = append(t.flags, webhookFlags(t.folder)...)
	}
	h.ends.add(t.stop)
	if err := h.launch(ctx, t); err != nil {
		return err
	}
	return h.prepare(ctx, t, filled)
}

// launch starts serve and measures how long it takes until it is ready.
func (h *harness) launch(ctx context.Context, t *target) error {
	listen, err := pgtest.FreeAddress()
	if err != nil {
		return err
	}
	admin, err := pgtest.FreeAddress()
	if err != nil {
		return err
	}
	t.url, t.admin = "http://"+listen, "http://"+admin
	began := time.Now()
	t.serve, err = spawn(t.folder, "serve", h.binary, append([]string{
		"serve", "--database", t.books, "--listen", listen, "--admin-listen", admin,
	}, t.flags...)...)
	if err != nil {
		return err
	}
	err = t.serve.await(ctx, t.admin+"/readyz")
	t.started = time.Since(began)
	return err
}

// stop stops serve when it runs.
func (t *target) stop() error {
	p := t.serve
	t.serve = nil
	return p.stop()
}

// prepare finds or creates the data that is requested.
func (h *harness) prepare(ctx context.Context, t *target, filled bool) error {
	began := time.Now()
	c := newClient(t.url, t.key, atOnce)
	var s sample
	var err error
	if filled && !h.OwnUsers {
		s, err = findSample(ctx, c, h.Users, h.Holders)
	} else {
		s, err = makeSample(ctx, c, h.Users, h.Holders)
	}
	if err == nil {
		err = s.write(t.folder)
	}
	if err == nil {
		_, err = t.settle(ctx)
	}
	h.say("%s: ready after %s, %d users, %d rewards to request, prepared in %s\n", t.name, short(t.started),
		len(s.users), len(s.rewards), short(time.Since(began)))
	return err
}

// settle waits until all recorded rewards are final.
func (t *target) settle(ctx context.Context) (metrics, error) {
	const most, every = 10 * time.Minute, 50 * time.Millisecond
	for deadline := time.Now().Add(most); ; {
		m, err := readMetrics(ctx, t.admin)
		if err := errors.Join(err, t.serve.check(), t.paper.check()); err != nil {
			return m, err
		}
		if m.idle() {
			return m, nil
		}
		if time.Now().After(deadline) {
			return m, t.serve.failed(fmt.Errorf("%s: %d rewards are not bought after %s", t.name, m.backlog(), most))
		}
		if err := wait(ctx, every); err != nil {
			return m, err
		}
	}
}
