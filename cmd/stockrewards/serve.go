package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/catalog"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type serveCommand struct {
	databaseFlag
	brokerFlags
	fulfillmentFlags
	tlsFlags
	adminFlags
	fleetFlags
	memoryFlags
	proxyFlags
	clockFlags
	connectionFlags
	Listen     string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Listen at this address (default: 127.0.0.1:8080)."`
	LeastAward string `placeholder:"USD" help:"Refuse new awards of fewer dollars than this with 422 (default: any amount is taken)."`
}

// Run serves until a signal comes or the database fails.
func (c *serveCommand) Run(ctx context.Context) error {
	out := newLogWriter(os.Stderr, jsonLines)
	defer out.Close()
	if err := c.limitMemory(); err != nil {
		return err
	}
	log := slog.New(newLogHandler(out))
	s, err := c.start(ctx, log)
	if err != nil {
		return err
	}
	s.metrics.WatchLog(out.Dropped)
	address := "nowhere"
	if s.listener != nil {
		address = s.listener.Addr().String()
	}
	log.InfoContext(ctx, "listening", slog.String("address", address), slog.String("broker", c.Broker),
		slog.String("role", c.Role), slog.String("version", version))
	return s.run(ctx)
}

// start opens and wires everything; nothing runs yet.
func (c *serveCommand) start(ctx context.Context, log *slog.Logger) (s *server, err error) {
	proxy, err := c.proxy()
	if err := errors.Join(err, c.checkListen(), c.checkAdmin(), c.checkConnections()); err != nil {
		return nil, err
	}
	cert, err := c.loadCertificate(ctx, log)
	if err != nil {
		return nil, err
	}
	if err := c.checkCredentials(); err != nil {
		return nil, err
	}
	cfg, err := c.config(c.Broker)
	least, leastErr := c.leastAward()
	if err := errors.Join(err, leastErr); err != nil {
		return nil, err
	}
	s = &server{log: log, kind: c.Broker, role: c.Role, metrics: newMetrics(), proxy: proxy}
	s.guard = rewards.NewClockGuard(time.Now, c.AllowFutureIDs)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	path, err := c.openBooks(ctx, s, &cfg)
	if err != nil {
		return s, err
	}
	if err := s.store.CheckCutover(ctx); err != nil {
		return s, err
	}
	in, err := s.store.Installation(ctx)
	if err != nil {
		return s, err
	}
	if in.BrokerKind != "" && in.BrokerKind != c.Broker {
		return s, fmt.Errorf("this database belongs to the broker %q: start with --broker %[1]s", in.BrokerKind)
	}
	if err := seed(ctx, s.store); err != nil {
		return s, err
	}
	if s.broker, s.close, err = c.connect(ctx, path, log, s.metrics.BrokerCall); err != nil {
		return s, err
	}
	s.store.Guard(s.guard.Check)
	s.readDatabaseClock(ctx)
	if err := s.wire(ctx, in, cfg); err != nil {
		return s, err
	}
	s.service.SetMinAward(least)
	if err := s.watch(cfg, cert); err != nil {
		return s, err
	}
	s.firstPrices(ctx)
	s.adminHosts = c.AdminHost
	if s.adminListener, err = c.listenAdmin(ctx); err != nil {
		return s, err
	}
	if s.role == roleWorker {
		return s, nil
	}
	l, err := listen(ctx, "--listen", c.Listen)
	if err != nil {
		return s, err
	}
	s.listener = api.Listener(encrypted(c.limit(l, c.BehindProxy, log), cert), s.api)
	return s, nil
}

// leastAward reads the smallest amount of a new award; zero is any.
func (c *serveCommand) leastAward() (money.USD, error) {
	if c.LeastAward == "" {
		return 0, nil
	}
	least, err := money.ParseUSD(c.LeastAward)
	if err != nil || least < 0 || least > rewards.MaxAmountDollars*money.Dollar {
		return 0, usageErrorf("--least-award %q: must be an amount of dollars from 0 to %d",
			c.LeastAward, rewards.MaxAmountDollars)
	}
	return least, nil
}

// checkListen refuses to speak plain HTTP beyond this machine by mistake.
func (c *serveCommand) checkListen() error {
	local, err := loopback(c.Listen)
	if err != nil {
		return usageErrorf("--listen %q: must be HOST:PORT", c.Listen)
	}
	if local || c.BehindProxy || c.TLSCert != "" {
		return nil
	}
	return usageErrorf("--listen %s: keys would travel unencrypted beyond this machine; "+
		"give --tls-cert and --tls-key, or put a proxy that terminates TLS in front and say --behind-proxy", c.Listen)
}

// seed fills an empty catalog with the embedded list.
func seed(ctx context.Context, s *store.Store) error {
	entries, err := catalog.Entries()
	if err != nil {
		return err
	}
	assets := make([]rewards.Asset, len(entries))
	for i, e := range entries {
		assets[i] = rewards.Asset{Symbol: e.Symbol, Name: e.Name}
	}
	return s.SeedAssets(ctx, assets)
}
