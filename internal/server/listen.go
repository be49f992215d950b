package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/guard"
)

// unreadFor is how long a client may read nothing of what was sent to it. The kernel keeps these bytes, also after
// the connection was closed.
const unreadFor = 30 * time.Second

// Listen opens a TCP listener. Its errors name the flag that sets the address.
func Listen(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{Control: guard.EndSilence(unreadFor)}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: another program uses this address (%w); "+
			"choose another one with %s", address, syscall.EADDRINUSE, flag)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with %s", address, err, flag)
	}
	return l, nil
}

// listen opens the listeners: the admin's first, so that it answers as soon as the API.
func (s *Server) listen(ctx context.Context) (err error) {
	if s.adminListener, err = s.listenAdmin(ctx); err != nil {
		return err
	}
	if s.adminListener != nil {
		s.onClose(s.adminListener.Close)
	}
	if s.cfg.Role == RoleWorker {
		return nil
	}
	l, err := Listen(ctx, "--listen", s.cfg.Listen)
	if err != nil {
		return err
	}
	l = guard.Limit(l, s.cfg.Connections, s.log)
	if s.certificate != nil {
		l = tls.NewListener(l, s.certificate.Config())
	}
	s.listener = api.Listener(l, s.options)
	s.onClose(s.listener.Close)
	return nil
}

// listenAdmin opens the admin listener; nil without AdminListen.
func (s *Server) listenAdmin(ctx context.Context) (net.Listener, error) {
	address := s.cfg.AdminListen
	if address == "" {
		return nil, nil //nolint:nilnil // it is optional
	}
	l, err := Listen(ctx, "--admin-listen", address)
	if errors.Is(err, syscall.EADDRINUSE) && s.cfg.AdminAnyPort {
		host, _, splitErr := net.SplitHostPort(address)
		if splitErr != nil {
			return nil, splitErr
		}
		l, err = Listen(ctx, "--admin-listen", net.JoinHostPort(host, "0"))
	}
	return l, err
}

// Address is where the API listens; "" for RoleWorker.
func (s *Server) Address() string { return addressOf(s.listener) }

// AdminAddress is where the admin listener is; "" without one.
func (s *Server) AdminAddress() string { return addressOf(s.adminListener) }

func addressOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}
