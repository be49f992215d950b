package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// longSnapshot is how long something may keep removed rows before HeldBack reports it.
const longSnapshot = 10 * time.Minute

// holder is what sees the oldest state of the database. A vacuum frees nothing that was removed since.
type holder struct {
	kind    string // "process", "standby", "prepared" (a transaction) or "slot" (of replication)
	name    string
	user    string
	program string // empty: unknown
	state   string // empty: unknown, as for a role without pg_read_all_stats
	oldest  string // the oldest transaction that it may need
}

// held is the last answer about what holds a vacuum back. Its zero value knows nothing. It is safe for concurrent use.
type held struct {
	mu    sync.Mutex
	by    holder
	since time.Time
}

// age is how long ago a holder was first seen. The server does not know when a standby or a replication slot began to
// hold, and does not show every role when a process began.
func (h *held) age(by holder, now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	same := h.by
	same.state, same.program = by.state, by.program // they change meanwhile
	if same != by {
		h.since = now
	}
	h.by = by
	return now.Sub(h.since)
}

// HeldBack implements store.Engine. It names what has kept vacuums from freeing removed rows for ten minutes. Whoever
// looks for waiting rewards walks over all of these rows.
func (e *Engine) HeldBack(ctx context.Context) (string, error) { return e.heldBack(ctx, longSnapshot) }

func (e *Engine) heldBack(ctx context.Context, long time.Duration) (string, error) {
	by, age, err := e.oldestHolder(ctx)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", nil
	case err != nil:
		return "", classify(errors.Join(errBroken, err))
	}
	if seen := e.held.age(by, time.Now()); age < 0 {
		age = seen
	}
	if age < long {
		return "", nil
	}
	return fmt.Sprintf("for %s no removed row has been freed, because of %s; this slows down ordering until it stops",
		age.Round(time.Second), by), nil
}

// oldestHolder returns what sees the oldest state of the database, and for how long it has, or less than 0 if that is
// unknown. It fails with pgx.ErrNoRows. A vacuum does not count: it holds back no other.
func (e *Engine) oldestHolder(ctx context.Context) (by holder, age time.Duration, err error) {
	var micros int64
	err = e.pool.QueryRow(ctx, `select kind, name, owner, program, state, oldest::text,
			coalesce((extract(epoch from clock_timestamp() - began) * 1000000)::bigint, -1)
		from (select case backend_type when 'walsender' then 'standby' else 'process' end as kind, pid::text as name,
				coalesce(usename, '') as owner, coalesce(application_name, '') as program, coalesce(state, '') as state,
				case when backend_xmin is null or age(backend_xid) > age(backend_xmin)
					then backend_xid else backend_xmin end as oldest, xact_start as began
			from pg_stat_activity a
			where pid <> pg_backend_pid() and coalesce(datname, current_database()) = current_database()
				and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)
			union all select 'prepared', gid, owner, '', '', transaction, prepared
				from pg_prepared_xacts where database = current_database()
			union all select 'slot', slot_name, '', '', case when active then 'in use' else 'not in use' end, xmin, null
				from pg_replication_slots) as holders
		where oldest is not null order by age(oldest) desc limit 1`).
		Scan(&by.kind, &by.name, &by.user, &by.program, &by.state, &by.oldest, &micros)
	return by, time.Duration(micros) * time.Microsecond, err
}

// String says what the holder is, and how an operator ends it.
func (h holder) String() string {
	details := "user " + h.user
	for _, detail := range []string{h.program, h.state} {
		if detail != "" {
			details += ", " + detail
		}
	}
	switch h.kind {
	case "prepared":
		return fmt.Sprintf("the prepared transaction '%s' (%s): commit prepared or rollback prepared", h.name, details)
	case "slot":
		return fmt.Sprintf("the replication slot %s (%s): end the long query at its standby, "+
			"or pg_drop_replication_slot if nothing needs it", h.name, h.state)
	case "standby":
		return fmt.Sprintf("the standby of process %s (%s): end the long query there, "+
			"or set its hot_standby_feedback to off", h.name, details)
	default:
		return fmt.Sprintf("process %s (%s): select pg_terminate_backend(%s)", h.name, details, h.name)
	}
}
