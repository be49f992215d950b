package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"stockrewards/internal/admin"
	"stockrewards/internal/api"
	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/guard"
	"stockrewards/internal/money"
)

// newMetrics creates the metrics of every endpoint and broker operation.
func newMetrics(cfg Config) *admin.Metrics {
	var endpoints []admin.Endpoint
	for _, e := range api.Endpoints() {
		endpoints = append(endpoints, admin.Endpoint(e))
	}
	m := admin.NewMetrics(endpoints, alpaca.Operations(), admin.Build{
		Version: cfg.Version, Revision: cfg.Revision, Go: runtime.Version(),
	})
	if cfg.LogDropped != nil {
		m.WatchLog(cfg.LogDropped)
	}
	return m
}

// newAdmin creates what answers /livez, /readyz and /metrics.
func (s *Server) newAdmin() (*admin.Admin, error) {
	limits := s.cfg.Fulfillment
	o := admin.Options{
		Metrics: s.metrics, Store: s.Store, Market: s.Market, Intake: s.intake, Worker: s.worker,
		DailyLimit: limitOf(limits.DailyLimit), HouseLimit: limitOf(limits.HouseDailyLimit), Now: time.Now, Log: s.log,
		Reference: s.reference, Gate: s.options.Gate,
	}
	switch {
	case s.webhooks != nil:
		o.Webhooks = s.webhooks
	case s.unsent > 0:
		o.Webhooks = s.unsent
	}
	if s.certificate != nil {
		o.Certificate = s.certificate
	}
	if s.fleet != nil {
		o.Server = s.fleet
	}
	return admin.New(o)
}

func limitOf(u money.USD) admin.Limit { return admin.Limit{Exists: u != NoLimit, Amount: u} }

// serveAdmin serves the admin listener, if there is one, until stop is called.
func (s *Server) serveAdmin(ctx context.Context) (stop func()) {
	if s.adminListener == nil {
		return func() {}
	}
	const connections = 256
	server := s.admin.NewServer()
	server.Handler = guard.Browsers(server.Handler, s.cfg.AdminHosts, false)
	listener := guard.Limit(s.adminListener, guard.Limits{Connections: connections}, s.log)
	s.log.InfoContext(ctx, "admin listening", slog.String("address", s.AdminAddress()))
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.ErrorContext(ctx, "cannot serve the admin listener", slog.Any("error", err))
		}
	}()
	return func() { _ = server.Close() } // no answer of it is worth waiting for
}
