package main

import (
	"errors"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

type plainPostgresFlag struct {
	AllowPlainPostgres bool `help:"Allow an unencrypted connection to PostgreSQL beyond this machine, in a network that you trust like the database itself."`
}

// errDatabaseURL does not show the URL: any part of it may belong to a password.
var errDatabaseURL = errors.New("cannot read the URL of the database: it must be postgres://USER@HOST/NAME; " +
	"keep the password in PGPASSWORD or a passfile (in a URL its special characters must be percent-encoded)")

// checkPostgres refuses an invalid URL, and one that permits an unencrypted connection
// beyond this machine, unless that is allowed.
func (f plainPostgresFlag) checkPostgres(database string) error {
	u, err := url.Parse(database)
	if err != nil || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return usageErrorf("%w", errDatabaseURL)
	}
	config, err := pgconn.ParseConfig(database)
	if err != nil {
		if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
			err = errors.New(e.Error()) // without the password
		}
		return usageErrorf("cannot read the URL of the database: %w", err)
	}
	if f.AllowPlainPostgres {
		return nil
	}
	ways := []*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}
	for _, way := range append(ways, config.Fallbacks...) {
		if way.TLSConfig == nil && !onThisMachine(way.Host) {
			return usageErrorf("the connection to PostgreSQL at %s may be unencrypted: add sslmode=verify-full "+
				"(at least sslmode=require) to the URL, or use --allow-plain-postgres in a network that you trust "+
				"like the database itself", way.Host)
		}
	}
	return nil
}

// onThisMachine reports whether a host is a Unix socket or a loopback address.
func onThisMachine(host string) bool {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// withoutPassword hides the password of a database URL. Of a string that is not a database,
// only the beginning is shown: it may be a mistyped URL with a password anywhere in it.
func withoutPassword(database string) string {
	if strings.HasPrefix(database, "sqlite:") {
		return database
	}
	u, err := url.Parse(database)
	if err != nil || !isPostgres(database) || strings.Contains(u.Path+u.Fragment, "@") {
		return regexp.MustCompile(`^[a-z]{0,12}`).FindString(database) + "…"
	}
	query := u.Query()
	for _, secret := range []string{"password", "sslpassword"} {
		if query.Has(secret) {
			query.Set(secret, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	return u.Redacted()
}

// credentials matches user info in what may be a mistyped URL.
func credentials() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b[a-z]+:/*[^\s:/@]*:.*@|password\s*=`)
}

// redactArguments hides, in an error's message, arguments that may contain a password.
func redactArguments(err error, args []string) error {
	message := err.Error()
	for _, arg := range args {
		for _, part := range []string{arg, arg[strings.Index(arg, "=")+1:]} {
			if credentials().MatchString(part) {
				message = strings.ReplaceAll(message, part, withoutPassword(part))
			}
		}
	}
	if message == err.Error() {
		return err
	}
	return errors.New(message)
}

// warnOfPassword warns of a password in an argument: other users can see it.
func warnOfPassword(args []string) {
	for _, arg := range args {
		if credentials().MatchString(arg) {
			fsayf(os.Stderr, "stockrewards: warning: the list of processes shows a password in an argument; "+
				"keep it in PGPASSWORD, a passfile (PGPASSFILE) or STOCKREWARDS_DATABASE\n")
			return
		}
	}
}
