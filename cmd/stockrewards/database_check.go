package main

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// plainPostgresFlag lets the connection to PostgreSQL be unencrypted.
type plainPostgresFlag struct {
	AllowPlainPostgres bool `help:"Allow an unencrypted connection to PostgreSQL beyond this machine, in a network that you trust as you trust the database."`
}

// errDatabaseURL says nothing of the URL itself: a part of a password may be anywhere.
var errDatabaseURL = errors.New("cannot read the URL of the database: it must be postgres://USER@HOST/NAME; " +
	"keep the password in PGPASSWORD or a passfile (in a URL its special characters must be percent-encoded)")

// checkPostgres refuses a URL that cannot be read, and one that lets the connection be
// unencrypted beyond this machine, unless that is allowed.
func (f plainPostgresFlag) checkPostgres(database string) error {
	u, err := url.Parse(database)
	if err != nil || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return errDatabaseURL
	}
	config, err := pgconn.ParseConfig(database)
	if err != nil {
		if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
			err = errors.New(e.Error()) // pgconn has taken the password out
		}
		return fmt.Errorf("cannot read the URL of the database: %w", err)
	}
	if f.AllowPlainPostgres {
		return nil
	}
	ways := []*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}
	for _, way := range append(ways, config.Fallbacks...) {
		if way.TLSConfig == nil && !onThisMachine(way.Host) {
			return fmt.Errorf("the connection to PostgreSQL at %s may be unencrypted: add sslmode=verify-full "+
				"(at least sslmode=require) to the URL, or say --allow-plain-postgres in a network that you trust "+
				"as the database", way.Host)
		}
	}
	return nil
}

// onThisMachine reports whether a host is a Unix socket or an address of loopback.
func onThisMachine(host string) bool {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// withoutPassword is how a database is shown. What is neither of the two kinds may be a
// mistyped URL with a password anywhere in it: only its beginning is shown.
func withoutPassword(database string) string {
	if strings.HasPrefix(database, "sqlite:") {
		return database
	}
	u, err := url.Parse(database)
	if err != nil || !isPostgres(database) || strings.Contains(u.Path+u.Fragment, "@") {
		return regexp.MustCompile(`^[a-z]{0,12}`).FindString(database) + "…"
	}
	query := u.Query()
	if query.Has("password") {
		query.Set("password", "xxxxx")
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

// credentials finds user info in what may be a URL, however it is mistyped.
func credentials() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b[a-z]+:/*[^\s:/@]*:.*@|password\s*=`)
}

// redactArguments takes arguments that may hold a password out of an error's text.
func redactArguments(err error, args []string) error {
	text := err.Error()
	for _, arg := range args {
		for _, part := range []string{arg, arg[strings.Index(arg, "=")+1:]} {
			if credentials().MatchString(part) {
				text = strings.ReplaceAll(text, part, withoutPassword(part))
			}
		}
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// warnOfPassword warns when an argument holds a password: the list of processes shows it.
func warnOfPassword(args []string) {
	for _, arg := range args {
		if credentials().MatchString(arg) {
			fsayf(os.Stderr, "stockrewards: warning: a password in an argument can be read in the list of processes; "+
				"keep it in PGPASSWORD, a passfile (PGPASSFILE) or STOCKREWARDS_DATABASE\n")
			return
		}
	}
}
