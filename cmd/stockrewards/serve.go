package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"stockrewards/internal/admin"
	"stockrewards/internal/api"
	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/catalog"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/intake"
	"stockrewards/internal/market"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
)

type serveCommand struct {
	databaseFlag
	brokerFlags
	fulfillmentFlags
	tlsFlags
	adminFlags
	fleetFlags
	Listen      string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where to listen (default: 127.0.0.1:8080)."`
	BehindProxy bool   `help:"A proxy in front terminates TLS: listening beyond loopback without --tls-cert is allowed."`
}

// fulfillmentFlags are the brakes and habits of buying.
type fulfillmentFlags struct {
	PoolingWindow      time.Duration  `default:"1s" help:"How long rewards are pooled into one order."`
	SmallPoolWait      *time.Duration `placeholder:"DURATION" help:"How long a pool under the broker's minimum of $1 waits for more before the house tops it up (default: 0s with the paper brokerage, else 1h)."`
	DailyNotionalLimit string         `placeholder:"USD" help:"The most that is ordered on a UTC day; then rewards wait (default: no limit)."`
	HouseDailyLimit    string         `placeholder:"USD" help:"The most that the house adds to small pools on a UTC day (default: no limit with the paper brokerage, else 100)."`
	MaxOrderNotional   string         `default:"1000000" placeholder:"USD" help:"The largest notional of one order; at least 1000000, the largest reward."`
}

const noLimit = money.USD(math.MaxInt64 / 2)

// config reads the limits.
func (f fulfillmentFlags) config(broker string) (fulfillment.Config, error) {
	// The paper brokerage takes orders as fast as they come: small ones keep the
	// transactions short that what clients send waits for.
	const paperMembers = 250
	c := fulfillment.Config{
		MaxMembers: paperMembers,
		Window:     f.PoolingWindow, DailyLimit: noLimit, HouseDailyLimit: noLimit,
		PollEvery: 100 * time.Millisecond, LeaseTTL: 30 * time.Second, Exclusive: true,
	}
	if broker == brokerAlpaca {
		c.SmallPoolWait, c.HouseDailyLimit, c.PollEvery = time.Hour, 100*money.Dollar, time.Second
		c.MaxMembers = rewards.MaxMembers
	}
	if f.SmallPoolWait != nil {
		c.SmallPoolWait = *f.SmallPoolWait
	}
	for _, flag := range []struct {
		name, text string
		value      *money.USD
	}{
		{"--daily-notional-limit", f.DailyNotionalLimit, &c.DailyLimit},
		{"--house-daily-limit", f.HouseDailyLimit, &c.HouseDailyLimit},
		{"--max-order-notional", f.MaxOrderNotional, &c.MaxNotional},
	} {
		if flag.text == "" {
			continue
		}
		amount, err := money.ParseUSD(flag.text)
		if err != nil || amount < 0 {
			return c, fmt.Errorf("%s %q: must be an amount of dollars", flag.name, flag.text)
		}
		*flag.value = min(amount, noLimit)
	}
	if c.MaxNotional < rewards.LeastMaxNotional {
		return c, fmt.Errorf("--max-order-notional: must be at least %s", rewards.LeastMaxNotional)
	}
	if c.Window < 0 || c.SmallPoolWait < 0 {
		return c, errors.New("--pooling-window and --small-pool-wait must not be negative")
	}
	return c, nil
}

// Run serves until a signal comes or the database fails.
func (c *serveCommand) Run(ctx context.Context) (err error) {
	out := newRequestLog(os.Stderr)
	defer func() { err = errors.Join(err, out.Flush()) }()
	collectLess()
	log := slog.New(newRequestHandler(out))
	s, err := c.start(ctx, log)
	if err != nil {
		return err
	}
	address := "nowhere"
	if s.listener != nil {
		address = s.listener.Addr().String()
	}
	log.InfoContext(ctx, "listening", slog.String("address", address), slog.String("broker", c.Broker),
		slog.String("role", c.Role), slog.String("version", version))
	return s.run(ctx)
}

// server is everything that serve runs.
type server struct {
	log      *slog.Logger
	unlock   func() error
	store    *store.Store
	broker   *alpaca.Client
	kind     string
	role     string
	fleet    *postgres.Engine // nil over SQLite
	recorded chan struct{}    // a reward was, for the others of the fleet
	close    func() error     // the broker's
	intake   *intake.Intake
	worker   *fulfillment.Worker
	market   *market.Market
	service  *rewards.Service
	listener net.Listener
	api      api.Options
	http     *http.Server

	metrics       *admin.Metrics
	admin         *admin.Admin
	adminListener net.Listener // nil: none
}

// start opens and wires everything; nothing runs yet.
func (c *serveCommand) start(ctx context.Context, log *slog.Logger) (s *server, err error) {
	if err := errors.Join(c.checkListen(), c.checkAdmin()); err != nil {
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
	if err != nil {
		return nil, err
	}
	s = &server{log: log, kind: c.Broker, role: c.Role, metrics: newMetrics()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	path, err := c.openBooks(ctx, s, &cfg)
	if err != nil {
		return s, err
	}
	if err := s.store.CheckSeal(ctx); err != nil {
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
	if err := s.wire(ctx, in, cfg); err != nil {
		return s, err
	}
	if err := s.watch(cfg, cert); err != nil {
		return s, err
	}
	s.firstPrices(ctx)
	if s.adminListener, err = c.listenAdmin(ctx); err != nil {
		return s, err
	}
	if s.role == roleWorker {
		return s, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return s, err
	}
	s.listener = api.Listener(encrypted(l, cert), s.api)
	return s, nil
}

// wire makes the rooms and connects them.
func (s *server) wire(ctx context.Context, in store.Installation, cfg fulfillment.Config) error {
	holder := make([]byte, 8)
	if _, err := rand.Read(holder); err != nil {
		return err
	}
	cfg.Holder, cfg.Prefix = hex.EncodeToString(holder), "sr-"+in.ID+"-"
	s.market = market.New(s.broker, s.store, time.Now, s.log)
	if err := s.market.Load(ctx); err != nil {
		return err
	}
	s.worker = fulfillment.New(s.store, s.broker, s.market, cfg, time.Now, s.log)
	s.intake = intake.New(s.store, s.nudge())
	s.service = rewards.NewService(s.store, s.intake, s.market, time.Now)
	s.api = api.Options{Service: s.service, CursorKey: in.CursorKey, Log: s.log, Observe: s.metrics.Request}
	s.http = api.NewServer(s.api)
	return nil
}

// checkListen refuses to speak plain HTTP beyond this machine by mistake.
func (c *serveCommand) checkListen() error {
	local, err := loopback(c.Listen)
	if err != nil {
		return fmt.Errorf("--listen %q: must be HOST:PORT", c.Listen)
	}
	if local || c.BehindProxy || c.TLSCert != "" {
		return nil
	}
	return fmt.Errorf("--listen %s: keys would travel unencrypted beyond this machine; "+
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

// run serves until ctx ends, then drains: requests under way are answered, what
// was accepted is committed, the step under way is finished.
func (s *server) run(ctx context.Context) error {
	background := context.WithoutCancel(ctx)
	intakeCtx, stopIntake := context.WithCancel(background)
	workCtx, stopWork := context.WithCancel(background)
	defer stopIntake()
	defer stopWork()
	stopAdmin := s.serveAdmin(background)
	failed := make(chan error, 2)
	var intakeDone, workDone sync.WaitGroup
	intakeDone.Go(func() { s.intake.Run(intakeCtx) })
	workDone.Go(func() { s.refreshPrices(workCtx) })
	if s.role != roleAPI {
		workDone.Go(func() {
			if err := s.pin(workCtx); err != nil {
				failed <- err
				return
			}
			s.worker.Run(workCtx)
		})
	}
	if s.fleet != nil {
		workDone.Go(func() { s.talk(workCtx) })
	}
	if s.listener != nil {
		go func() {
			if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	var err error
	select {
	case <-ctx.Done():
		s.log.InfoContext(background, "draining")
	case err = <-failed:
	case err = <-s.store.Failed():
		err = fmt.Errorf("stopping; the next start recovers: %w", err)
	}
	s.admin.Drain()
	err = errors.Join(err, s.drainRequests(background, err == nil))
	stopWork()
	workDone.Wait()
	stopIntake()
	intakeDone.Wait()
	stopAdmin()
	return errors.Join(err, s.release())
}

// drainRequests lets the requests under way end.
func (s *server) drainRequests(ctx context.Context, patient bool) error {
	grace := 20 * time.Second
	if !patient {
		grace = time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.http.Close()
	}
	return err
}

// release closes what was opened, in the opposite order.
func (s *server) release() error {
	var errs []error
	for _, l := range []net.Listener{s.listener, s.adminListener} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.close != nil {
		errs = append(errs, s.close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.unlock != nil {
		errs = append(errs, s.unlock())
	}
	return errors.Join(errs...)
}

// pin binds the books to the broker's account, as soon as the broker tells which
// it is; before, nothing is ordered. It fails when it is another one's.
func (s *server) pin(ctx context.Context) error {
	const retry = 5 * time.Second
	for ctx.Err() == nil {
		account, err := s.broker.Account(ctx)
		if err == nil {
			err = s.store.PinBroker(ctx, s.kind, account.ID)
			if rewards.CodeOf(err) != rewards.CodeUnavailable || err == nil {
				return err
			}
		}
		s.log.WarnContext(ctx, "the broker does not tell its account; nothing is ordered", slog.Any("error", err))
		if ctx.Err() == nil { // the worker clears it when it starts
			err = s.store.RaiseAlarm(ctx, "broker_account_unknown", "nothing is ordered: "+err.Error())
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "an alarm could not be stored", slog.Any("error", err))
		}
		wait(ctx, retry)
	}
	return nil
}

// firstPrices asks for prices before the first request comes, but does not wait
// long: what is stored answers too.
func (s *server) firstPrices(ctx context.Context) {
	const patience = 500 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.market.Clock(ctx)
	if err = errors.Join(err, s.market.Refresh(ctx)); err != nil {
		s.log.WarnContext(ctx, "no prices at the start", slog.Any("error", err))
	}
}

// refreshPrices asks for prices until ctx ends.
func (s *server) refreshPrices(ctx context.Context) {
	const every = time.Second
	for ctx.Err() == nil {
		if s.follows() {
			if err := s.market.Load(ctx); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "the leader's prices could not be read", slog.Any("error", err))
			}
			wait(ctx, every)
			continue
		}
		if _, err := s.market.Clock(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "the market's hours could not be read", slog.Any("error", err))
		}
		if err := s.market.Refresh(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "prices could not be refreshed", slog.Any("error", err))
		}
		wait(ctx, every)
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
