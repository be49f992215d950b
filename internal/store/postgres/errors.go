package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// unknown marks the failure of a commit that may have happened.
func unknown(err error) error { return errors.Join(store.ErrUnknownOutcome, err) }

// sqlState is the server's code of an error; empty for one that is not the server's.
func sqlState(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// deadlocked tells of errors after which the same transaction may well succeed.
func deadlocked(err error) bool {
	state := sqlState(err)
	return (state == "40001" || state == "40P01") && !errors.Is(err, store.ErrUnknownOutcome)
}

// classify turns what the database cannot do now into CodeUnavailable. Errors of
// the domain and of single rows (class 22 and 23) stay what they are.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if _, ours := errors.AsType[*rewards.Error](err); ours {
		return err
	}
	state := sqlState(err)
	switch class := state[:min(len(state), 2)]; {
	case errors.Is(err, store.ErrUnknownOutcome):
		return rewards.Unavailable("the outcome of the commit is not known", err)
	case state == "55P03", state == "57014", deadlocked(err):
		return busy(err)
	case class == "53":
		return rewards.Unavailable("the database has no room", err)
	case class == "08", class == "25", class == "57", class == "58", class == "XX":
		return rewards.Unavailable("the database cannot be used now", err)
	case errors.Is(err, errBroken):
		return rewards.Unavailable("the database cannot be reached", err)
	}
	return err
}

// errBroken marks an error that broke the connection.
var errBroken = errors.New("postgres: the connection is lost")
