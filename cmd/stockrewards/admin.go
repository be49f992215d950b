package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"time"

	"stockrewards/internal/admin"
	"stockrewards/internal/api"
	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/certificate"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/guard"
	"stockrewards/internal/intake"
	"stockrewards/internal/money"
)

// adminFlags have the process tell how it is.
type adminFlags struct {
	AdminListen string   `placeholder:"HOST:PORT" help:"Answer /livez, /readyz and /metrics at this address (default: nowhere)."`
	AdminPublic bool     `help:"Allow --admin-listen beyond this machine. It has no keys: whoever reaches it can read it."`
	AdminHost   []string `placeholder:"NAME" help:"Accept this host name at --admin-listen, beside its addresses and localhost; can be repeated."`
	adminAny    bool     // take any port when that one is taken
}

// checkAdmin refuses to show the insides beyond this machine by mistake.
func (f adminFlags) checkAdmin() error {
	if f.AdminListen == "" {
		return nil
	}
	local, err := loopback(f.AdminListen)
	if err != nil {
		return usageErrorf("--admin-listen %q: must be HOST:PORT", f.AdminListen)
	}
	if local || f.AdminPublic {
		return nil
	}
	return usageErrorf("--admin-listen %s: it has no keys and no TLS, and would be reached beyond this machine; "+
		"in a network that only your own machines reach say --admin-public", f.AdminListen)
}

// loopback tells whether an address is reached from this machine only.
func loopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), err
}

// listenAdmin opens the listener; nil when there is to be none.
func (f adminFlags) listenAdmin(ctx context.Context) (net.Listener, error) {
	if f.AdminListen == "" {
		return nil, nil //nolint:nilnil // none is a choice
	}
	l, err := listen(ctx, "--admin-listen", f.AdminListen)
	if errors.Is(err, syscall.EADDRINUSE) && f.adminAny {
		host, _, _ := net.SplitHostPort(f.AdminListen) // it was read before
		l, err = listen(ctx, "--admin-listen", net.JoinHostPort(host, "0"))
	}
	return l, err
}

// newMetrics makes the metrics of everything that there is.
func newMetrics() *admin.Metrics {
	var endpoints []admin.Endpoint
	for _, e := range api.Endpoints() {
		endpoints = append(endpoints, admin.Endpoint(e))
	}
	return admin.NewMetrics(endpoints, alpaca.Operations(), admin.Build{
		Version: version, Revision: strings.Trim(revision(), " ()"), Go: runtime.Version(),
	})
}

// watch has the rooms tell what they do, and makes what answers about it.
func (s *server) watch(cfg fulfillment.Config, cert *certificate.Pair) (err error) {
	s.worker.Observe(s.metrics)
	s.intake.Observe(func(c intake.Commit) { s.metrics.Commit(c.Requests, c.Created, c.Took, c.Err) })
	o := admin.Options{
		Metrics: s.metrics, Store: s.store, Market: s.market, Intake: s.intake, Worker: s.worker,
		DailyLimit: limitOf(cfg.DailyLimit), HouseLimit: limitOf(cfg.HouseDailyLimit), Now: time.Now, Log: s.log,
	}
	if cert != nil {
		o.Certificate = cert
	}
	if s.fleet != nil {
		o.Server = s.fleet
	}
	s.admin, err = admin.New(o)
	return err
}

func limitOf(u money.USD) admin.Limit { return admin.Limit{Exists: u != noLimit, Amount: u} }

// serveAdmin answers on the admin listener, if there is one, until the function that
// it returns is called.
func (s *server) serveAdmin(ctx context.Context) (stop func()) {
	if s.adminListener == nil {
		return func() {}
	}
	server := s.admin.Server()
	server.Handler = guard.Browsers(server.Handler, s.adminHosts, false)
	listener := guard.Limit(s.adminListener, guard.Limits{Connections: adminConnections}, s.log)
	s.log.InfoContext(ctx, "admin listening", slog.String("address", s.adminListener.Addr().String()))
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.ErrorContext(ctx, "the admin listener has failed", slog.Any("error", err))
		}
	}()
	return func() { _ = server.Close() } // nothing of it needs an end
}
