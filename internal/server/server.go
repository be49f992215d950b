// Package server assembles the service and runs it: New opens the store and the broker
// and wires the parts in straight code, Run serves until its context ends and then
// drains. It decides nothing about rewards. Read server.go for the wiring, run.go for
// start and drain, and fleet.go for processes that share a database.
package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"stockrewards/internal/admin"
	"stockrewards/internal/admission"
	"stockrewards/internal/api"
	"stockrewards/internal/catalog"
	"stockrewards/internal/certificate"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/guard"
	"stockrewards/internal/intake"
	"stockrewards/internal/market"
	"stockrewards/internal/money"
	"stockrewards/internal/reference"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/webhook"
)

// NoLimit is a limit in dollars that no order reaches.
const NoLimit = money.USD(math.MaxInt64 / 2)

// Config is what a Server is made of. New does not check it.
type Config struct {
	Version, Revision string // of the program and its source
	Log               *slog.Logger
	RequestLog        io.Writer    // gets a JSON line per answered request; nil: no such lines
	LogDropped        func() int64 // lines that the logs dropped, for the metrics; nil: unknown

	Database       Database
	Broker         Broker
	Role           Role // RoleAll over SQLite
	AllowFutureIDs bool // record although the newest id is ahead of the clocks

	// Fulfillment holds the limits and intervals of buying. New sets Holder, Prefix, Exclusive, LeaseTTL and
	// BookBeside.
	Fulfillment fulfillment.Config
	LeastAward  money.USD // the smallest new award; 0: any
	Webhooks    Webhooks

	Listen          string // address of the API; unused by RoleWorker
	TLSCert, TLSKey string // PEM files; "" without TLS
	Proxy           api.Proxy
	Connections     guard.Limits  // of the API
	StopDelay       time.Duration // how long requests are still answered after a signal to stop

	AdminListen  string   // address of /livez, /readyz and /metrics; "": none
	AdminAnyPort bool     // take any port when that of AdminListen is in use
	AdminHosts   []string // accepted Host names beside addresses and localhost
}

// Server is the service in one process. New completes the exported fields.
type Server struct {
	Store   *store.Store
	Service *rewards.Service
	Market  *market.Market
	Broker  Connection

	cfg         Config
	log         *slog.Logger
	clocks      *rewards.ClockGuard
	unread      int              // readings of the database's clock that failed, since the last one
	fleet       *postgres.Engine // nil over SQLite
	recorded    chan struct{}    // holds a value when the fleet should hear of a new reward
	intake      *intake.Intake
	worker      *fulfillment.Worker
	options     api.Options
	http        *http.Server
	metrics     *admin.Metrics
	admin       *admin.Admin
	reference   *reference.Reference
	certificate *certificate.Pair   // nil without TLS
	keyring     *webhook.Keyring    // nil: webhooks have no key
	webhooks    *webhook.Dispatcher // nil in a process that sends none
	unsent      unsent              // 0 in a process that has a key file, or need not send

	listener      net.Listener // nil for RoleWorker
	adminListener net.Listener // nil without AdminListen
	closers       []func() error
}

// New opens everything that cfg names and wires it. Nothing runs before Run; a Server
// that never runs must be closed.
func New(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{
		cfg: cfg, log: cfg.Log, metrics: newMetrics(cfg), recorded: make(chan struct{}, 1),
		reference: reference.New(api.Document()), clocks: rewards.NewClockGuard(time.Now, cfg.AllowFutureIDs),
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) (err error) {
	if s.cfg.TLSCert != "" {
		s.certificate, err = certificate.Load(ctx, s.cfg.TLSCert, s.cfg.TLSKey, time.Now, s.log)
		if err != nil {
			return err
		}
	}
	if err := s.openStore(ctx); err != nil {
		return err
	}
	in, err := s.prepareStore(ctx)
	if err != nil {
		return err
	}
	s.cfg.Broker.Pinned = in.BrokerAccount
	if s.Broker, err = s.cfg.Broker.Connect(ctx, s.cfg.Database, s.log, s.metrics.BrokerCall); err != nil {
		return err
	}
	s.onClose(s.Broker.Close)
	s.Store.Guard(s.clocks.Check)
	if s.fleet != nil {
		s.Store.ShareClock(s.clocks.Database, s.clocks.CheckLeader)
	}
	if err := s.openKeyring(ctx); err != nil {
		return err
	}
	s.readDatabaseClock(ctx)
	if err := s.wire(ctx, in); err != nil {
		return err
	}
	s.awaitFirstPrices(ctx)
	return s.listen(ctx)
}

// prepareStore checks that the store may be served with this broker, fills the catalog of a new
// one, and reads what finds rewards into memory.
func (s *Server) prepareStore(ctx context.Context) (in store.Installation, err error) {
	if err := s.Store.CheckCutover(ctx); err != nil {
		return in, err
	}
	if in, err = s.Store.Installation(ctx); err != nil {
		return in, err
	}
	if in.BrokerKind != "" && in.BrokerKind != s.cfg.Broker.Kind {
		return in, fmt.Errorf("this database belongs to the broker %q: start with --broker %[1]s", in.BrokerKind)
	}
	entries, err := catalog.Entries()
	if err != nil {
		return in, err
	}
	assets := make([]rewards.Asset, len(entries))
	for i, e := range entries {
		assets[i] = rewards.Asset{Symbol: e.Symbol, Name: e.Name}
	}
	return in, errors.Join(s.Store.SeedAssets(ctx, assets), s.Store.LoadIndex(ctx))
}

// wire creates the parts and connects them.
func (s *Server) wire(ctx context.Context, in store.Installation) (err error) {
	holder := make([]byte, 8)
	if _, err := rand.Read(holder); err != nil {
		return err
	}
	cfg := s.cfg.Fulfillment
	cfg.Holder, cfg.Prefix = hex.EncodeToString(holder), "sr-"+in.ID+"-"
	cfg.Exclusive, cfg.LeaseTTL = s.fleet == nil, s.leaseTTL()
	cfg.BookBeside = s.fleet != nil // over PostgreSQL
	s.cfg.Fulfillment.Holder = cfg.Holder
	s.Market = market.New(guardedBroker{s.Broker.Client, s.clocks}, s.Store, time.Now, s.log)
	if err := s.Market.Load(ctx); err != nil {
		return err
	}
	s.worker = fulfillment.New(s.Store, s.Broker, s.Market, cfg, time.Now, s.log)
	s.worker.Observe(observer{s})
	s.intake = intake.New(s.Store, s.nudge)
	gate := admission.New()
	s.intake.Observe(func(c intake.Commit) {
		if c.Err == nil && !c.OfChanges { // more changes at once only take longer
			gate.Committed(c.Took)
		}
		s.metrics.Commit(c.Requests, c.Created, c.Took, c.Err)
	})
	s.Service = rewards.NewService(s.Store, s.intake, s.Market, time.Now)
	s.Service.SetMinAward(s.cfg.LeastAward)
	s.wireWebhooks()
	s.options = api.Options{
		Service: s.Service, CursorKey: in.CursorKey, Log: s.log, RequestLog: s.cfg.RequestLog,
		Observe: s.metrics.Request, Proxy: s.cfg.Proxy, KeyThrottle: &admission.KeyThrottle{}, Gate: gate,
		Reference: s.reference,
	}
	s.http = api.NewServer(s.options)
	s.admin, err = s.newAdmin()
	return err
}

// Handler answers the API.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Front replaces the handler of the API's listener; it can pass requests on to Handler.
// Call it before Run.
func (s *Server) Front(h http.Handler) { api.Front(s.http, h) }

// onClose adds what Close calls; the last added is called first.
func (s *Server) onClose(f func() error) { s.closers = append(s.closers, f) }

// Close releases what New opened. Run does it too.
func (s *Server) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		if err := s.closers[i](); !errors.Is(err, net.ErrClosed) { // Run closes listeners itself
			errs = append(errs, err)
		}
	}
	s.closers = nil
	return errors.Join(errs...)
}
