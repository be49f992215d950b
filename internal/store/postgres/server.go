package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// oldestServer is the oldest version that this engine is tested with.
const oldestServer = 150_000

// errOnlyRead refuses a server at the start.
var errOnlyRead = errors.New("postgres: the server can only be read: " +
	"it is a standby, or default_transaction_read_only is on")

// checkServer refuses a server that is too old, or whose settings lose commits or change the form of values.
func (e *Engine) checkServer(ctx context.Context) error {
	var version int
	var fsync, encoding, client, binary, literals, only string
	var timeout int64 // in milliseconds
	err := e.pool.QueryRow(ctx, `select current_setting('server_version_num')::int, current_setting('fsync'),
		current_setting('server_encoding'), current_setting('client_encoding'), current_setting('bytea_output'),
		current_setting('standard_conforming_strings'), current_setting('transaction_read_only'),
		(select setting::bigint from pg_settings where name = 'statement_timeout')`).
		Scan(&version, &fsync, &encoding, &client, &binary, &literals, &only, &timeout)
	switch {
	case unknownParameter(err):
		return errors.New("postgres: this address is PgBouncer's: start with --pgbouncer, in session mode too")
	case err != nil:
		return cannotConnect(err)
	case only != "off" && !e.options.KeepSchema: // target_session_attrs allows it; commands can read there
		return errOnlyRead
	case version < oldestServer:
		return fmt.Errorf("postgres: the server has version %d; 15 or newer is required", version/10_000)
	case fsync != "on":
		return errors.New("postgres: fsync is off: a power failure would lose what was acknowledged; turn it on")
	case encoding != "UTF8":
		return fmt.Errorf("postgres: the database has the encoding %s; UTF8 is required", encoding)
	case client != "UTF8": // another one would store and find strings in other bytes
		return errors.New("postgres: client_encoding is " + client + "; PgBouncer must pass on UTF8")
	case binary != "hex": // behind PgBouncer, which keeps the settings of the database
		return errors.New("postgres: bytea_output is " + binary +
			"; set it to hex for the database (ALTER DATABASE … SET)")
	case literals != "on":
		return errors.New("postgres: standard_conforming_strings is " + literals +
			"; set it to on for the database (ALTER DATABASE … SET)")
	case e.options.Pooled && timeout > 0 && timeout < statementTimeout.Milliseconds(): // of what has no transaction
		return fmt.Errorf("postgres: statement_timeout is %d ms; behind PgBouncer set it to 0 for the role "+
			"(ALTER ROLE … SET): the service limits its own statements", timeout)
	case !e.options.Pooled && timeout != statementTimeout.Milliseconds():
		return errors.New("postgres: the connection has lost its settings, as by PgBouncer's " +
			"ignore_startup_parameters: start with --pgbouncer, in session mode too")
	}
	e.timeline = e.findTimeline(ctx)
	return nil
}

// cannotConnect is the error of a connection that failed. A standby beside a primary that refuses is not the cause.
func cannotConnect(err error) error {
	hosts := failures(err)
	cause := otherCause(hosts)
	switch {
	case cause < 0:
		return fmt.Errorf("%w: %w", errOnlyRead, err)
	case cause > 0:
		hosts[0], hosts[cause] = hosts[cause], hosts[0]
		err = errors.Join(slices.Concat(hosts...)...)
	}
	return fmt.Errorf("postgres: cannot connect: %w", redact(err))
}

// onlyReads reports whether a connection failed because each host can only be read.
func onlyReads(err error) bool { return otherCause(failures(err)) < 0 }

// otherCause returns the first host that failed for another reason than that it can only be read, or -1. One way to
// connect that ends so is enough: without TLS a server refuses the ways with it.
func otherCause(hosts [][]error) int {
	return slices.IndexFunc(hosts, func(ways []error) bool {
		return !slices.ContainsFunc(ways, func(err error) bool { return errors.Is(err, pgconn.ErrReadOnlyConnection) })
	})
}

// failures returns the errors of a connection that failed, by address. The message of each begins with its address.
func failures(err error) (hosts [][]error) {
	e, ok := errors.AsType[*pgconn.ConnectError](err)
	if !ok {
		return [][]error{{err}}
	}
	joined, ok := e.Unwrap().(interface{ Unwrap() []error })
	if !ok {
		return [][]error{{err}}
	}
	at := make(map[string]int)
	for _, err := range joined.Unwrap() {
		address, _, _ := strings.Cut(err.Error(), " (")
		if _, known := at[address]; !known {
			at[address] = len(hosts)
			hosts = append(hosts, nil)
		}
		hosts[at[address]] = append(hosts[at[address]], err)
	}
	return hosts
}

// unknownParameter reports whether the server refuses a setting of the connection, as PgBouncer does.
func unknownParameter(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == protocolViolation && strings.Contains(e.Message, "startup parameter")
}

// findTimeline returns timelineExpression, or that of an empty text where the server lacks it.
func (e *Engine) findTimeline(ctx context.Context) string {
	var shown string
	if e.pool.QueryRow(ctx, `select `+timelineExpression).Scan(&shown) != nil {
		return `''`
	}
	return timelineExpression
}

// Timeline is the SQL expression of what changes when another server takes over; an empty text where that is not known.
func (e *Engine) Timeline() string { return e.timeline }

// Clock returns the server's time.
func (e *Engine) Clock(ctx context.Context) (now time.Time, err error) {
	var micros int64 // a date would have the form of the database's DateStyle
	err = e.pool.QueryRow(ctx, `select (extract(epoch from clock_timestamp()) * 1000000)::bigint`).Scan(&micros)
	if err != nil {
		return now, classify(errors.Join(errBroken, err))
	}
	return time.UnixMicro(micros), nil
}

// Weakness returns why the server may lose commits that it acknowledged, or "".
func (e *Engine) Weakness(ctx context.Context) (string, error) {
	var fsync, commit, fullPages, standbys string
	err := e.pool.QueryRow(ctx, `select current_setting('fsync'), current_setting('synchronous_commit'),
		current_setting('full_page_writes'), current_setting('synchronous_standby_names')`).
		Scan(&fsync, &commit, &fullPages, &standbys)
	switch {
	case err != nil:
		return "", classify(errors.Join(errBroken, err))
	case fsync != "on":
		return "fsync is off: the last commits, and the whole database, can be lost in a crash of the machine", nil
	case commit != "on" && commit != "remote_apply":
		return "synchronous_commit is " + commit + ": the last commits can be lost in a crash or a fail-over", nil
	case fullPages != "on":
		return "full_page_writes is off: on most file systems a crash of the machine can tear pages", nil
	case standbys == "" && e.hosts() > 1:
		return "the URL names several hosts, but synchronous_standby_names is empty: " +
			"a fail-over can lose the last commits", nil
	}
	return "", nil
}

// CheckAccess fails with CodeUnavailable when this role may not read or record what clients need, or may not put it
// into segments, or when row-level security hides rows from it.
func (e *Engine) CheckAccess(ctx context.Context) error {
	return e.checkAccess(ctx, "SELECT,INSERT,UPDATE,DELETE")
}

// checkAccess checks some rights, separated by commas.
func (e *Engine) checkAccess(ctx context.Context, rights string) error {
	var missing string
	err := e.pool.QueryRow(ctx, `select coalesce(string_agg(c.relname, ', ' order by c.relname), '')
		from pg_class c join (values ('apps', 'SELECT'), ('keys', 'SELECT'), ('settings', 'SELECT,UPDATE'),
			('users', 'SELECT,INSERT'), ('assets', 'SELECT'), ('prices', 'SELECT'), ('holdings', 'SELECT'),
			('rewards', 'SELECT,INSERT'), ('open_rewards', 'SELECT,INSERT'), ('segments', 'SELECT,INSERT,UPDATE'),
			('reward_batches', 'SELECT,INSERT,DELETE'), ('key_blocks', 'SELECT,INSERT'),
			('user_blocks', 'SELECT,INSERT'), ('lot_blocks', 'SELECT'), ('orders', 'SELECT'),
			('member_blocks', 'SELECT'), ('switches', 'SELECT'), ('budgets', 'SELECT')) as need (name, rights)
			on c.oid = to_regclass(need.name)
		where row_security_active(c.oid) or exists (select from unnest(string_to_array(need.rights, ',')) as r (one)
			where r.one = any (string_to_array($1, ',')) and not has_table_privilege(c.oid, r.one))`,
		rights).Scan(&missing)
	switch {
	case err != nil:
		return classify(errors.Join(errBroken, err))
	case missing != "":
		return refused(fmt.Errorf("postgres: the role lacks rights on %s, or row-level security hides rows from it "+
			"(docs/security.md has the rights)", missing))
	}
	return nil
}

// hosts is how many servers the URL names.
func (e *Engine) hosts() int { return len(serversOf(&e.pool.Config().ConnConfig.Config)) }
