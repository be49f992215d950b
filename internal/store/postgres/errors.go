package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// unknown marks the error of a commit that may have happened.
func unknown(err error) error { return errors.Join(store.ErrUnknownOutcome, err) }

// sqlState is the server's code of an error, or "" for other errors.
func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// deadlocked reports whether a retry of the transaction may succeed.
func deadlocked(err error) bool {
	state := sqlState(err)
	return (state == "40001" || state == "40P01") && !errors.Is(err, store.ErrUnknownOutcome)
}

// damaged reports whether a part of the database cannot be read, as after damage of the disk.
func damaged(err error) bool { return strings.HasPrefix(sqlState(err), "XX") }

// classify wraps errors of the database in CodeUnavailable, and that of a number out of range in ErrOverflow. Errors of
// the domain and of single rows (other ones of the classes 22 and 23) stay as they are.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if _, ours := errors.AsType[*rewards.Error](err); ours {
		return err
	}
	state := sqlState(err)
	switch class := state[:min(len(state), 2)]; {
	case errors.Is(err, store.ErrNewerSchema), errors.Is(err, store.ErrOlderSchema):
		return rewards.Unavailable("the service is stopping: the database has another version", err)
	case errors.Is(err, store.ErrUnknownOutcome):
		return rewards.Unavailable("the outcome of the commit is unknown", err)
	case state == readOnly, onlyReads(err):
		return rewards.Unavailable("the database can only be read", err)
	case state == lockNotAvailable, state == canceled, deadlocked(err):
		return busy(err)
	case state == tooManyConnections:
		return rewards.Unavailable("the database has no free connection", err)
	case class == "53":
		return rewards.Unavailable("the database has no room", err)
	case state == limitReached:
		return rewards.Unavailable("the database accepts no more writes", withHint(err))
	case state == insufficientPrivilege, state == "42P01", state == "42703":
		return refused(err)
	case state == noUniqueIndex:
		return rewards.Unavailable("the database is incomplete", withHint(err))
	case loginTrouble(err) != "":
		return rewards.Unavailable(loginTrouble(err), err)
	case class == "08", class == "25", class == "55", class == "57", class == "58", class == "72", damaged(err):
		return rewards.Unavailable("the database cannot be used now", err)
	case errors.Is(err, errBroken), errors.Is(err, errNotBegun) && state == "": // no server has judged it
		return rewards.Unavailable("the database cannot be reached", err)
	case state == outOfRange:
		return fmt.Errorf("%w: %w", store.ErrOverflow, err)
	}
	return err
}

// loginTrouble is why no connection can be made although the server answers; "" for other errors.
func loginTrouble(err error) string {
	_, invalid := errors.AsType[*tls.CertificateVerificationError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, expired := errors.AsType[x509.CertificateInvalidError](err)
	alert, sent := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, errFiles):
		return "the files that a connection to the database needs cannot be used"
	case invalid, unknown, expired:
		return "the certificate of the database is not trusted"
	case strings.HasPrefix(sqlState(err), "28"), sent && alert.Op == "remote error":
		return "the database refuses the user, the password or the certificate of this service"
	}
	return ""
}

func refused(err error) error {
	return rewards.Unavailable("the database refuses this service: rights or tables are missing", err)
}

// ended is classify for a read, which is interrupted when its request ends.
func ended(ctx context.Context, err error) error {
	_, ours := errors.AsType[*rewards.Error](err)
	if err == nil || ours || ctx.Err() == nil {
		return classify(err)
	}
	return rewards.Unavailable("the request ended before it was answered", errors.Join(ctx.Err(), err))
}

// canceled is the SQLSTATE of a statement that timed out.
const canceled = "57014"

// tooManyConnections is the SQLSTATE of a server, role or database that accepts no more connections.
const tooManyConnections = "53300"

// limitReached is the SQLSTATE of a server whose transaction ids are used up. No request causes it: what clients send
// fits into an index.
const limitReached = "54000"

// noUniqueIndex is the SQLSTATE of an "on conflict" without its unique index.
const noUniqueIndex = "42P10"

// protocolViolation is the SQLSTATE of PgBouncer's own errors, such as that of a server whose connection was lost.
const protocolViolation = "08P01"

// outOfRange is the SQLSTATE of a number that does not fit into its type.
const outOfRange = "22003"

// errNotBegun marks an error before the transaction began.
var errNotBegun = errors.New("postgres: the transaction did not begin")

// notBegun marks an error of the statements that begin a transaction.
func notBegun(err error) error {
	return errors.Join(errNotBegun, errBroken, fmt.Errorf("postgres: cannot begin: %w", err))
}

// lostBefore reports whether the connection was lost before the transaction began. A timeout of
// the wait for the turn is not a lost connection.
func lostBefore(err error) bool {
	state := sqlState(err)
	if !errors.Is(err, errNotBegun) || state == canceled {
		return false
	}
	class := state[:min(len(state), 2)]
	return class == "" || class == "57" || class == "08" || class == "25"
}

// errOldPrimary means that another server has taken over since the transaction began.
var errOldPrimary = errors.New("postgres: another server has taken over")

// readOnly is the SQLSTATE of a write on a server that accepts none: it is fenced, or a standby.
const readOnly = "25006"

// elsewhere reports whether the transaction can be run again, on another connection. Nothing of it was committed.
func elsewhere(err error) bool {
	refused := errors.Is(err, errOldPrimary) || sqlState(err) == readOnly
	return lostBefore(err) || refused && !errors.Is(err, store.ErrUnknownOutcome)
}

// errBroken marks an error that broke the connection.
var errBroken = errors.New("postgres: the connection is lost")
