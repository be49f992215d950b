package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	// errRolledBack means that the server answered a commit with a rollback.
	errRolledBack = errors.New("postgres: the transaction was rolled back")
	// errEnded means that a statement follows the commit.
	errEnded = errors.New("postgres: the transaction has ended")
	// errNotAll means that CommitAll rolled back. The transaction is run again.
	errNotAll = errors.New("postgres: not all rows were inserted")
)

// uniqueViolation is a SQLSTATE.
const uniqueViolation = "23505"

// CommitAll implements store.NetworkTx. The server itself decides: a row whose key is used, or a
// division by zero, ends the batch before its commit.
func (s *session) CommitAll(ctx context.Context, n int, with string, args ...any) (bool, error) {
	if s.ended {
		return false, errEnded
	}
	query := fmt.Sprintf("with %s select 1 / (count(*) = $%d)::int from stored",
		dialect(with), len(args)+1)
	err := s.end(ctx, query, append(args[:len(args):len(args)], int64(n))...)
	if state := sqlState(err); (state == divisionByZero || state == uniqueViolation) && !fenced(err) {
		return false, errNotAll
	}
	s.committed = err == nil
	return s.committed, err
}

// end sends a commit, with the statement before it in one exchange, and judges the outcome. Only
// the server's confirmation without a warning at the commit itself is a commit. The server skips what follows an
// error, so that after an error of any statement nothing is committed. Once the commit was sent
// and its answer is missing, the outcome is unknown. To an old primary no commit is sent.
func (s *session) end(ctx context.Context, query string, args ...any) error {
	batch, begun := s.batch()
	if query != "" {
		batch.Queue(query, args...)
	}
	batch.Queue("commit")
	s.ended = true
	conn := s.conn.PgConn()
	if s.isOld(conn) {
		return errors.Join(errBroken, errOldPrimary)
	}
	setCommitting(conn, true)
	tag, answered, err := execAll(s.conn.SendBatch(ctx, batch), batch.Len(), conn)
	if !conn.IsClosed() {
		setCommitting(conn, false)
	}
	switch {
	case err == nil && tag.String() != "COMMIT":
		return errRolledBack
	case err == nil:
		if warning, found := conn.CustomData()[warned]; found {
			return unknown(fmt.Errorf("postgres: commit: warning: %v", warning))
		}
		return nil
	case !certain(err, answered < min(begun, 1)):
		return unknown(err)
	case answered < begun:
		return notBegun(err)
	case answered == batch.Len()-1:
		return fmt.Errorf("postgres: cannot commit: %w", err)
	default:
		return err
	}
}

// execAll reads the results of a batch until an error. It returns the last one and how many were
// read before. It forgets warnings before the last result: the server also warns when it gives a
// transaction its id while few are left.
func execAll(
	results pgx.BatchResults, length int, conn *pgconn.PgConn,
) (tag pgconn.CommandTag, answered int, err error) {
	for ; answered < length; answered++ {
		if answered == length-1 {
			delete(conn.CustomData(), warned)
		}
		if tag, err = results.Exec(); err != nil {
			break
		}
	}
	// After the answer to the commit nothing else matters. A lost connection is noticed by idle.
	_ = results.Close()
	return tag, answered, err
}

// certain reports whether a batch with a commit that failed with err was not committed: the server
// refused a statement, it ended the connection instead of beginning, or it received nothing. PgBouncer
// also ends a connection whose server is gone, and then drops what that answered before.
func certain(err error, beginning bool) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.SeverityUnlocalized == "ERROR" || beginning && e.Code != protocolViolation
	}
	return pgconn.SafeToRetry(err)
}

// warned is the key of the server's last warning in a connection's data.
const warned = "warned"

// noteWarning stores a warning of the server. At a commit it means that the transaction was not
// replicated.
func noteWarning(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warned] = n.Message
	}
}
