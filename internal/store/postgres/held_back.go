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

// holding is what keeps rows that were removed since a transaction. A vacuum does not free them.
type holding struct {
	kind   string // "process", "standby", "prepared" (a transaction) or "slot" (of replication)
	name   string
	oldest string // the oldest transaction that it may need
}

// holder is a holding, and what is known of it.
type holder struct {
	holding

	user    string
	program string // empty: unknown
	state   string // empty: unknown, as for a role without pg_read_all_stats
	owns    bool   // oldest is its transaction. While that runs, every new snapshot needs it too, however short it is
	age     time.Duration
}

// held is when each holding was first seen. Its zero value knows nothing. It is safe for concurrent use.
type held struct {
	mu    sync.Mutex
	first map[holding]time.Time
}

// addAges sets the ages that are unknown, less than 0, to the time since the holding was first seen. The server does
// not know when a standby or a replication slot began to hold, and does not show every role when a process began. It
// forgets what holds no more.
func (h *held) addAges(list []holder, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.first
	h.first = make(map[holding]time.Time, len(list))
	for i := range list {
		by := &list[i]
		first, found := known[by.holding]
		if !found {
			first = now
		}
		h.first[by.holding] = first
		if by.age < 0 {
			by.age = now.Sub(first)
		}
	}
}

// HeldBack implements store.Engine. It names what has kept vacuums from freeing removed rows for ten minutes. Whoever
// looks for waiting rewards walks over all of these rows.
func (e *Engine) HeldBack(ctx context.Context) (string, error) { return e.heldBack(ctx, longSnapshot) }

func (e *Engine) heldBack(ctx context.Context, long time.Duration) (string, error) {
	list, err := e.holders(ctx)
	if err != nil {
		return "", classify(errors.Join(errBroken, err))
	}
	e.held.addAges(list, time.Now())
	if len(list) == 0 {
		return "", nil
	}
	by := cause(list)
	if by.age < long {
		return "", nil
	}
	return fmt.Sprintf("for %s no removed row has been freed, because of %s; this slows down ordering until it stops",
		by.age.Round(time.Second), by), nil
}

// cause returns what vacuums wait for: of those with the oldest transaction, the one that owns it, or else the one
// that has needed it longest.
func cause(list []holder) holder {
	by := list[0]
	for _, other := range list[1:] {
		if other.oldest == by.oldest && other.owns == by.owns && other.age > by.age {
			by = other
		}
	}
	return by
}

// holders lists the first hundred holders: those with the oldest transaction first, and of these its owner. A vacuum
// does not count: it holds back no other.
func (e *Engine) holders(ctx context.Context) ([]holder, error) {
	rows, err := e.pool.Query(ctx, `select kind, name, oldest::text, owner, program, state,
			coalesce(own = oldest, false),
			coalesce((extract(epoch from clock_timestamp() - began) * 1000000)::bigint, -1)
		from (select *, case when seen is null or age(own) > age(seen) then own else seen end as oldest
			from (select case backend_type when 'walsender' then 'standby' else 'process' end as kind,
					pid::text as name, coalesce(usename, '') as owner, coalesce(application_name, '') as program,
					coalesce(state, '') as state, backend_xid as own, backend_xmin as seen, xact_start as began
				from pg_stat_activity a
				where pid <> pg_backend_pid() and coalesce(datname, current_database()) = current_database()
					and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)
				union all select 'prepared', gid, owner, '', '', transaction, null, prepared
					from pg_prepared_xacts where database = current_database()
				union all select 'slot', slot_name, '', '', case when active then 'in use' else 'not in use' end,
					null, xmin, null from pg_replication_slots) as listed) as holders
		where oldest is not null
		order by age(oldest) desc, coalesce(own = oldest, false) desc, began nulls first, kind, name limit 100`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (h holder, err error) {
		var micros int64
		err = row.Scan(&h.kind, &h.name, &h.oldest, &h.user, &h.program, &h.state, &h.owns, &micros)
		h.age = time.Duration(micros) * time.Microsecond
		return h, err
	})
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
