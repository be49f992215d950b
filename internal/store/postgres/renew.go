package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errFiles means that the files of a connection cannot be used: the passfile, certificates and keys.
var errFiles = errors.New("postgres: cannot use the files that the connection needs")

// renew reads the files that the URL names again, for a new connection: they are replaced while the process runs. They
// must lead to the same servers and check no less of them than at the start, where c is from. A file that is missing
// for a moment must not lead to a connection without its protection.
func renew(url string, c *pgconn.Config) error {
	now, err := pgconn.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("%w: %w", errFiles, redact(err))
	}
	if !slices.EqualFunc(ways(c), ways(now), asSafe) {
		return fmt.Errorf("%w: they lead to other servers than at the start, or check less of them", errFiles)
	}
	c.Password, c.TLSConfig, c.Fallbacks = now.Password, now.TLSConfig, now.Fallbacks
	return nil
}

// ways lists the ways to connect of the settings, in the order in which they are tried.
func ways(c *pgconn.Config) []*pgconn.FallbackConfig {
	first := &pgconn.FallbackConfig{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}
	return append([]*pgconn.FallbackConfig{first}, c.Fallbacks...)
}

// asSafe reports whether a way to connect leads to the same server as at the start, and checks no less of it.
func asSafe(start, now *pgconn.FallbackConfig) bool {
	return start.Host == now.Host && start.Port == now.Port && safetyOf(start.TLSConfig) <= safetyOf(now.TLSConfig)
}

// safety is how much a connection checks of its server.
type safety int

const (
	plainText safety = iota
	encrypted
	trusted // the certificate's authority is
	named   // and the certificate has the server's name
)

func safetyOf(c *tls.Config) safety {
	switch {
	case c == nil:
		return plainText
	case !c.InsecureSkipVerify:
		return named
	case c.VerifyPeerCertificate != nil:
		return trusted
	}
	return encrypted
}

// connect makes a connection outside the pool.
func (e *Engine) connect(ctx context.Context) (*pgx.Conn, error) {
	config := e.pool.Config()
	if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, config.ConnConfig)
}
