package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/guard"
	"stockrewards/internal/money"
	"stockrewards/internal/server"
)

type paperCommand struct {
	Database          string   `required:"" placeholder:"sqlite:PATH" help:"Store the brokerage's books in this file, such as sqlite:paper.db."`
	Listen            string   `default:"127.0.0.1:8090" placeholder:"HOST:PORT" help:"Serve Alpaca's API at this address (default: 127.0.0.1:8090)."`
	Hours             string   `enum:"always,us" default:"always" help:"Choose when the market is open: always, or us for the hours of the US market (default: always)."`
	Clock             string   `placeholder:"TIME" help:"Set the clock at the start, such as 2026-11-27T09:00:00-05:00; real returns to real time (default: unchanged)."`
	Pace              *int64   `placeholder:"N" help:"Advance the clock by N seconds per real second; 0 stops it (default: 1)."`
	Fault             []string `sep:"none" placeholder:"FAULT" help:"Inject a fault, such as 'lost-answer on=submit chance=5%'; repeatable."`
	FaultSeed         uint64   `placeholder:"N" help:"Seed the chances of faults with this number, to reproduce a run."`
	RequestsPerMinute int      `default:"200" placeholder:"N" help:"Limit the requests per minute, as Alpaca does; trading and market data count separately; 0: no limit (default: 200)."`
	Cash              string   `placeholder:"USD" help:"Open the account with this many dollars (default: a trillion)."`
	Seed              uint64   `placeholder:"N" help:"Seed the prices of new books with this number, to reproduce a run."`
}

// The environment variables with the credentials that clients must send. Without them, any
// credentials are accepted.
const (
	envPaperKeyID     = "STOCKREWARDS_PAPER_KEY_ID"
	envPaperSecretKey = "STOCKREWARDS_PAPER_SECRET_KEY"
)

func (c *paperCommand) Help() string {
	return "It trades with paper money, for processes that are started with\n" +
		"  stockrewards serve --broker alpaca --alpaca-url http://HOST:PORT --alpaca-data-url http://HOST:PORT\n\n" +
		"It accepts any credentials, unless " + envPaperKeyID + " and " + envPaperSecretKey +
		" are set. The clock and the faults can also be set while it runs, under /control: " +
		"see docs/paper-brokerage.md."
}

func (c *paperCommand) Run(ctx context.Context) error {
	out := server.NewLogWriter(os.Stderr, server.JSONLog)
	defer out.Close()
	log := slog.New(server.JSONLog(out))
	o, err := c.options(log)
	if err != nil {
		return err
	}
	path, err := sqlitePath("--database", c.Database, "sqlite:PATH")
	if err != nil {
		return err
	}
	if _, err := loopback(c.Listen); err != nil {
		return usageErrorf("--listen %q: must be HOST:PORT", c.Listen)
	}
	if err := server.MakeFolder(path); err != nil {
		return err
	}
	err = c.open(ctx, path, o)
	if interrupted(ctx, err) {
		log.InfoContext(ctx, stoppedEarly)
		return nil
	}
	return err
}

// open opens the books, prepares the clock and the faults, and serves until ctx ends.
func (c *paperCommand) open(ctx context.Context, path string, o paper.Options) error {
	b, err := paper.Open(ctx, path, o)
	if err != nil {
		return err
	}
	err = c.setClock(ctx, b)
	if err == nil {
		err = c.addFaults(b)
	}
	if err == nil {
		err = c.serve(ctx, b, o.Logger)
	}
	return errors.Join(err, b.Close())
}

// options parses the flags and reads the environment.
func (c *paperCommand) options(log *slog.Logger) (paper.Options, error) {
	o, err := server.PaperOptions(log)
	if err != nil {
		return o, err
	}
	o.Hours = paperHours(c.Hours)
	o.Control, o.Seed, o.FaultSeed, o.RequestsPerMinute = true, c.Seed, c.FaultSeed, c.RequestsPerMinute
	o.KeyID, o.SecretKey = os.Getenv(envPaperKeyID), os.Getenv(envPaperSecretKey)
	if (o.KeyID == "") != (o.SecretKey == "") {
		return o, usageErrorf("%s and %s belong together: set both or neither", envPaperKeyID, envPaperSecretKey)
	}
	if c.RequestsPerMinute < 0 {
		return o, usageErrorf("--requests-per-minute must not be negative")
	}
	if c.Cash != "" {
		if o.Cash, err = money.ParseUSD(c.Cash); err != nil || o.Cash <= 0 {
			return o, numberError("--cash", c.Cash, err, "an amount of dollars greater than 0, with at most 6 decimals")
		}
	}
	return o, nil
}

func (c *paperCommand) addFaults(b *paper.Brokerage) error {
	for _, line := range c.Fault {
		f, err := paper.ParseFault(line)
		if err == nil {
			_, err = b.AddFault(f)
		}
		if err != nil {
			return usageErrorf("--fault: %w", err)
		}
	}
	return nil
}

func (c *paperCommand) setClock(ctx context.Context, b *paper.Brokerage) error {
	now, test := b.Now()
	pace := int64(1)
	switch {
	case c.Clock == "real" && c.Pace == nil:
		return b.UseRealTime(ctx)
	case c.Clock == "" && c.Pace == nil:
		return nil
	case c.Pace != nil:
		pace = *c.Pace
	case test != nil:
		pace = test.Pace
	}
	if c.Clock != "" {
		at, err := time.Parse(time.RFC3339Nano, c.Clock)
		if err != nil {
			return usageErrorf("--clock %q: must be a time such as 2026-11-27T09:00:00-05:00, or real", c.Clock)
		}
		now = at
	}
	return b.SetClock(ctx, now, pace)
}

func (c *paperCommand) serve(ctx context.Context, b *paper.Brokerage, log *slog.Logger) error {
	listener, err := server.Listen(ctx, "--listen", c.Listen)
	if err != nil {
		return err
	}
	const (
		headerTimeout = 10 * time.Second
		idleTimeout   = 2 * time.Minute
		grace         = 5 * time.Second
		maxHeader     = 64 << 10
	)
	local, err := loopback(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if !local {
		log.WarnContext(ctx, "everyone who reaches this address can trade, set the clock and inject faults; "+
			"listen on 127.0.0.1, or in a network that you trust", slog.String("address", listener.Addr().String()))
	}
	answers := http.Server{
		Handler:           guard.Browsers(b.Handler(), nil, !local),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	now, test := b.Now()
	log.InfoContext(ctx, "listening", slog.String("address", listener.Addr().String()),
		slog.String("hours", c.Hours), slog.Time("clock", now), slog.Bool("test_clock", test != nil),
		slog.Int("faults", len(b.Faults())), slog.String("version", version))
	failed := make(chan error, 1)
	go func() { failed <- answers.Serve(guard.Limit(listener, connectionFlags{}.limits(true), log)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if answers.Shutdown(stop) != nil {
		return answers.Close() // a fault holds answers back
	}
	return nil
}
