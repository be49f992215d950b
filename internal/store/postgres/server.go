package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// oldestServer is the oldest version that this engine is tested with.
const oldestServer = 150_000

// checkServer refuses a server that is too old, or whose settings lose commits or change the form of values.
func (e *Engine) checkServer(ctx context.Context) error {
	var version int
	var fsync, encoding, binary, literals string
	err := e.pool.QueryRow(ctx, `select current_setting('server_version_num')::int, current_setting('fsync'),
		current_setting('server_encoding'), current_setting('bytea_output'),
		current_setting('standard_conforming_strings')`).Scan(&version, &fsync, &encoding, &binary, &literals)
	switch {
	case err != nil:
		return fmt.Errorf("postgres: cannot connect: %w", redact(err))
	case version < oldestServer:
		return fmt.Errorf("postgres: the server has version %d; 15 or newer is required", version/10_000)
	case fsync != "on":
		return errors.New("postgres: fsync is off: a power failure would lose what was acknowledged; turn it on")
	case encoding != "UTF8":
		return fmt.Errorf("postgres: the database has the encoding %s; UTF8 is required", encoding)
	case binary != "hex": // behind PgBouncer, which keeps the settings of the database
		return errors.New("postgres: bytea_output is " + binary +
			"; set it to hex for the database (ALTER DATABASE … SET)")
	case literals != "on":
		return errors.New("postgres: standard_conforming_strings is " + literals +
			"; set it to on for the database (ALTER DATABASE … SET)")
	}
	return nil
}

// Clock returns the server's time.
func (e *Engine) Clock(ctx context.Context) (now time.Time, err error) {
	if err := e.pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&now); err != nil {
		return now, classify(errors.Join(errBroken, err))
	}
	return now, nil
}

// Weakness returns why the server may lose commits that it acknowledged, or "".
func (e *Engine) Weakness(ctx context.Context) (string, error) {
	var commit, fullPages string
	err := e.pool.QueryRow(ctx, `select current_setting('synchronous_commit'), current_setting('full_page_writes')`).
		Scan(&commit, &fullPages)
	switch {
	case err != nil:
		return "", classify(errors.Join(errBroken, err))
	case commit != "on" && commit != "remote_apply":
		return "synchronous_commit is " + commit + ": the last commits can be lost in a crash or a fail-over", nil
	case fullPages != "on":
		return "full_page_writes is off: on most file systems a crash of the machine can tear pages", nil
	}
	return "", nil
}
