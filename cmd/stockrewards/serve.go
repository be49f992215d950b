package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/server"
)

type serveCommand struct {
	databaseFlag
	Role           string `group:"Database" enum:"all,api,worker" default:"all" help:"Choose what this process of a PostgreSQL fleet does: api answers clients, worker buys stock (one at a time), all does both (default: all)."`
	AllowFutureIDs bool   `group:"Database" name:"allow-future-ids" help:"Record rewards although the newest id in the database is more than two minutes ahead of the clocks; new ids continue from it."`
	brokerFlags
	fulfillmentFlags `group:"Buying stock"`
	Listen           string `group:"API" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Serve the API at this address (default: 127.0.0.1:8080)."`
	LeastAward       string `group:"API" placeholder:"USD" help:"Refuse new awards below this amount of dollars with 422 (default: no minimum)."`
	webhookFlags     `group:"Webhooks"`
	tlsFlags         `group:"API"`
	proxyFlags       `group:"API"`
	connectionFlags  `group:"API"`
	adminFlags       `group:"Operation"`
	StopDelay        time.Duration `group:"Operation" default:"0s" placeholder:"DURATION" help:"After a signal to stop go on answering requests for this long, at most 1m, while /readyz answers 503: a load balancer then leaves this process out (default: 0s)."`
	memoryFlags      `group:"Operation"`
}

// Run serves until a signal arrives or the database fails.
func (c *serveCommand) Run(ctx context.Context) error {
	out := server.NewLogWriter(os.Stderr, server.JSONLog)
	defer out.Close()
	if err := c.limitMemory(); err != nil {
		return err
	}
	cfg, err := c.config()
	if err != nil {
		return err
	}
	cfg.Log, cfg.RequestLog, cfg.LogDropped = slog.New(server.JSONLog(out)), out.Batched(), out.Dropped
	s, err := server.New(ctx, cfg)
	if interrupted(ctx, err) {
		cfg.Log.InfoContext(ctx, stoppedEarly)
		return nil
	}
	if err != nil {
		return err
	}
	tuneMemory()
	go keepMemoryTuned(ctx)
	address := s.Address()
	if address == "" {
		address = "nowhere"
	}
	cfg.Log.InfoContext(ctx, "listening", slog.String("address", address), slog.String("broker", c.Broker),
		slog.String("role", c.Role), slog.String("version", version))
	return s.Run(ctx)
}

func (c *serveCommand) config() (cfg server.Config, err error) {
	if err := errors.Join(c.checkListen(), c.checkAdmin(), c.checkTLS(), c.checkConnections()); err != nil {
		return cfg, err
	}
	if c.StopDelay < 0 || c.StopDelay > time.Minute {
		return cfg, usageErrorf("--stop-delay %s: must be from 0s to 1m", c.StopDelay)
	}
	cfg = server.Config{
		Version: version, Revision: revision(), Role: server.Role(c.Role), AllowFutureIDs: c.AllowFutureIDs,
		Listen: c.Listen, TLSCert: c.TLSCert, TLSKey: c.TLSKey, AdminListen: c.AdminListen, AdminHosts: c.AdminHost,
		Connections: c.limits(c.BehindProxy), StopDelay: c.StopDelay,
	}
	if cfg.Proxy, err = c.proxy(); err != nil {
		return cfg, err
	}
	if cfg.Broker, err = c.broker(); err != nil {
		return cfg, err
	}
	if cfg.Fulfillment, err = c.fulfillmentFlags.config(c.Broker); err != nil {
		return cfg, err
	}
	if cfg.LeastAward, err = c.leastAward(); err != nil {
		return cfg, err
	}
	if cfg.Webhooks, err = c.webhooks(); err != nil {
		return cfg, err
	}
	if cfg.Database, err = c.database(); err != nil {
		return cfg, err
	}
	return cfg, c.checkFleet(cfg.Database)
}

// checkFleet checks what only one of the two engines can do.
func (c *serveCommand) checkFleet(d server.Database) error {
	switch {
	case d.Postgres != "" && c.Broker == server.BrokerPaper:
		return usageErrorf("--broker paper keeps its books beside an SQLite file, but a fleet needs one " +
			"brokerage: run `stockrewards paper`, and serve with --broker alpaca, --alpaca-url and " +
			"--alpaca-data-url set to its address")
	case d.Postgres == "" && server.Role(c.Role) != server.RoleAll:
		return usageErrorf("--role %s: over SQLite the only role is all", c.Role)
	}
	return nil
}

// leastAward parses the smallest amount of a new award; zero is no minimum.
func (c *serveCommand) leastAward() (money.USD, error) {
	if c.LeastAward == "" {
		return 0, nil
	}
	least, err := money.ParseUSD(c.LeastAward)
	if err != nil || least < 0 || least > rewards.MaxAmountDollars*money.Dollar {
		must := fmt.Sprintf("an amount of dollars from 0 to %d, with at most 6 decimals", rewards.MaxAmountDollars)
		return 0, numberError("--least-award", c.LeastAward, err, must)
	}
	return least, nil
}

// checkListen refuses to serve plain HTTP beyond this machine by mistake.
func (c *serveCommand) checkListen() error {
	local, err := loopback(c.Listen)
	if err != nil {
		return usageErrorf("--listen %q: must be HOST:PORT", c.Listen)
	}
	if local || c.BehindProxy || c.TLSCert != "" {
		return nil
	}
	return usageErrorf("--listen %s: keys would travel unencrypted beyond this machine; "+
		"give --tls-cert and --tls-key, or put a proxy that terminates TLS in front and use --behind-proxy", c.Listen)
}
