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
	address, err := freeAddress()
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
	return t, h.startService(ctx, t, "sqlite:"+path, h.SqliteFile != "")
}

// startPostgres starts the service over its own PostgreSQL, with the durability of a real
// one, and a paper brokerage beside it.
func (h *harness) startPostgres(ctx context.Context) (*target, error) {
	t, err := h.newTarget(namePostgres)
	if err != nil {
		return nil, err
	}
	url := h.PostgresURL
	t.database = h.PostgresPID
	if url == "" {
		if url, err = h.startCluster(ctx, t); err != nil {
			return nil, err
		}
	}
	books := h.PaperFile
	if books == "" {
		books = filepath.Join(t.folder, "paper.db")
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	t.paper, err = spawn(t.folder, "paper", h.binary, "paper", "--database", "sqlite:"+books,
		"--listen", address, "--requests-per-minute", "0")
	if err != nil {
		return nil, err
	}
	h.ends.add(t.paper.stop)
	if err := t.paper.await(ctx, "http://"+address+"/control/clock"); err != nil {
		return nil, err
	}
	// Like the embedded brokerage: without a relevant limit or wait.
	const rate = "60000"
	return t, h.startService(ctx, t, url, h.PostgresURL != "", "--broker", "alpaca",
		"--alpaca-url", "http://"+address, "--alpaca-data-url", "http://"+address,
		"--alpaca-requests-per-minute", rate, "--small-pool-wait", "0s", "--house-daily-limit", "1000000000")
}

func (h *harness) startCluster(ctx context.Context, t *target) (url string, err error) {
	cluster, err := pgtest.NewIn(h.folder, "fsync=on", "synchronous_commit=on", "full_page_writes=on",
		"max_wal_size=8GB", "shared_buffers=256MB")
	if err != nil {
		return "", err
	}
	h.ends.add(cluster.Close)
	t.database = cluster.PID()
	return cluster.NewDatabase(ctx)
}

// startService starts serve and measures how long it takes until it is ready.
func (h *harness) startService(ctx context.Context, t *target, database string, filled bool, flags ...string) error {
	t.books = database
	if err := h.makeKey(ctx, t, database, filled); err != nil {
		return err
	}
	listen, err := freeAddress()
	if err != nil {
		return err
	}
	admin, err := freeAddress()
	if err != nil {
		return err
	}
	t.url, t.admin = "http://"+listen, "http://"+admin
	began := time.Now()
	t.serve, err = spawn(t.folder, "serve", h.binary, append([]string{
		"serve", "--database", database, "--listen", listen, "--admin-listen", admin,
	}, flags...)...)
	if err != nil {
		return err
	}
	h.ends.add(t.serve.stop)
	if err := t.serve.await(ctx, t.admin+"/readyz"); err != nil {
		return err
	}
	t.started = time.Since(began)
	return h.prepare(ctx, t, filled)
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
