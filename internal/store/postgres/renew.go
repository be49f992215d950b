package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errFiles means that the files of a connection cannot be used: the passfile, certificates and keys.
var errFiles = errors.New("postgres: cannot use the files that the connection needs")

// files are those that a URL names: the passfile, certificates and keys, and the service file that can name them.
type files struct {
	url      string
	password atomic.Pointer[string] // the last one that was read; nil: that of the start
}

// renew reads the files again for a new connection, because they are replaced while the process runs. c has the
// settings of the start. Host, port, user and database stay: when a service file has other ones now, nothing of it is
// used. The servers must be checked no less than at the start. A file that is missing for a moment must not lead to a
// connection without its protection, or without its password.
func (f *files) renew(c *pgconn.Config) error {
	now, err := pgconn.ParseConfig(f.url)
	switch {
	case noService(err), err == nil && !sameTarget(c, now): // as at the start
	case err != nil:
		return fmt.Errorf("%w: %w", errFiles, redact(err))
	case !slices.EqualFunc(serversOf(c), serversOf(now), asSafe):
		return fmt.Errorf("%w: the servers would be checked less than at the start", errFiles)
	default:
		c.TLSConfig, c.Fallbacks = now.TLSConfig, now.Fallbacks
		if now.Password != "" {
			f.password.Store(&now.Password)
		}
	}
	if password := f.password.Load(); password != nil {
		c.Password = *password
	}
	return nil
}

// noService reports whether the service is missing in its file, or the file is.
func noService(err error) bool {
	return err != nil && strings.Contains(err.Error(), "`: failed to read service (")
}

// sameTarget reports whether the settings lead to the same database of the same servers, as the same user.
func sameTarget(start, now *pgconn.Config) bool {
	return start.User == now.User && start.Database == now.Database &&
		slices.EqualFunc(serversOf(start), serversOf(now), func(a, b []*pgconn.FallbackConfig) bool {
			return a[0].Host == b[0].Host && a[0].Port == b[0].Port
		})
}

// ways lists the ways to connect of the settings, in the order in which they are tried.
func ways(c *pgconn.Config) []*pgconn.FallbackConfig {
	first := &pgconn.FallbackConfig{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}
	return append([]*pgconn.FallbackConfig{first}, c.Fallbacks...)
}

// asSafe reports whether no way to connect to a server checks less of it than each did at the start.
func asSafe(start, now []*pgconn.FallbackConfig) bool { return leastOf(start) <= leastOf(now) }

func leastOf(ways []*pgconn.FallbackConfig) safety {
	least := named
	for _, way := range ways {
		least = min(least, safetyOf(way.TLSConfig))
	}
	return least
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
