package store

import (
	"context"
	"errors"
	"math"

	"stockrewards/internal/rewards"
)

const eventColumns = `app_id, last, types, subject, positions, at`

func scanEventRow(row Row) (r rewards.EventRow, err error) {
	var positions []byte
	err = row.Scan(toID(&r.AppID), &r.Last, (*int)(&r.Types), toBytes{&r.Subject}, toBytes{&positions}, toTime{&r.At})
	if err == nil {
		r.Positions, err = rewards.ParsePositions(positions)
	}
	return r, err
}

// How much of the log is read. Where few events are of the types, one call looks at some thousand rows, so that it
// holds a connection for milliseconds only.
const (
	rowsAtOnce = 32   // read whole. Most have several events
	pagesWhole = 8    // times rowsAtOnce, before the rows of other types are left out
	rowsLooked = 4096 // at most, at rows of other types too
)

// EventsAfter implements rewards.Store.
func (s *Store) EventsAfter(
	ctx context.Context, app rewards.AppID, after int64, types rewards.EventTypes, limit int,
) (page rewards.EventPage, err error) {
	err = s.engine.ReadOf(ctx, app, func(ctx context.Context, tx Tx) error {
		page = rewards.EventPage{Next: after}
		until, err := readableUntil(ctx, tx, after)
		for n := 0; err == nil && n < pagesWhole && (n == 0 || page.More) && len(page.Events) < limit; n++ {
			err = addPage(ctx, tx, app, types, limit, until, &page)
		}
		if err == nil && page.More && len(page.Events) < limit {
			err = addSparse(ctx, tx, app, types, limit, until, &page)
		}
		if err == nil && len(page.Events) == 0 && !page.More && until < math.MaxInt64 {
			err = rewards.Unavailable("the events of an earlier version are being listed", nil)
		}
		return err
	})
	return page, err
}

// readableUntil returns the last sequence that may be read after another one. While the orders of before
// the log are being added, newer events must wait: whoever reads them would miss what is added.
func readableUntil(ctx context.Context, tx Tx, after int64) (int64, error) {
	if after >= rewards.PastSequences {
		return math.MaxInt64, nil
	}
	past, err := readPast(ctx, tx)
	if err != nil || past.done() {
		return math.MaxInt64, err
	}
	return rewards.PastSequences, nil
}

// addPage adds the events of the next rows to a page.
func addPage(
	ctx context.Context, tx Tx, app rewards.AppID, types rewards.EventTypes, limit int, until int64,
	page *rewards.EventPage,
) error {
	from, order := rowsOf(types)
	rows, err := fetchAll(ctx, tx, scanEventRow, `SELECT `+eventColumns+from+order+` LIMIT ?4 + 0`,
		app[:], page.Next, until, rowsAtOnce)
	if err != nil {
		return err
	}
	return addRows(ctx, tx, rows, types, limit, page)
}

// addSparse adds the events of the next rows that have some of the types, and passes over the others.
func addSparse(
	ctx context.Context, tx Tx, app rewards.AppID, types rewards.EventTypes, limit int, until int64,
	page *rewards.EventPage,
) error {
	from, order := rowsOf(types)
	var last, n int64
	_, err := fetchValues(ctx, tx, []any{&last, &n}, `SELECT coalesce(max(last), ?2), count(*) FROM (SELECT last`+
		from+order+` LIMIT ?4 + 0) AS looked`, app[:], page.Next, until, rowsLooked)
	if err != nil {
		return err
	}
	rows, err := fetchAll(ctx, tx, scanEventRow, `SELECT `+eventColumns+from+` AND types & ?5 <> 0`+order+
		` LIMIT ?4 + 0`, app[:], page.Next, last, rowsAtOnce, int64(types))
	if err != nil {
		return err
	}
	if err := addRows(ctx, tx, rows, types, limit, page); err != nil || page.More {
		return err
	}
	page.Next, page.More = last, n == rowsLooked
	return nil
}

// rowsOf returns the clauses that list the rows of an app with events after a sequence until another one. Rows with
// nothing but executed awards have the most events; an index leaves them out.
func rowsOf(types rewards.EventTypes) (from, order string) {
	const of = ` FROM events WHERE app_id = ?1`
	if types&rewards.EventRewardExecuted == 0 {
		return of + ` AND last + 0 > ?2 AND last + 0 <= ?3 AND types <> 1`, ` ORDER BY last + 0`
	}
	return of + ` AND last > ?2 AND last <= ?3`, ` ORDER BY last`
}

// addRows adds the events of rows to a page. More reports whether there may be others after them.
func addRows(
	ctx context.Context, tx Tx, rows []rewards.EventRow, types rewards.EventTypes, limit int, page *rewards.EventPage,
) error {
	list, next, whole := pickEvents(rows, page.Next, types, limit-len(page.Events))
	events, err := readEvents(ctx, tx, list)
	for _, e := range events {
		if e.Type&types != 0 {
			page.Events = append(page.Events, e)
		}
	}
	page.Next, page.More = next, len(rows) == rowsAtOnce || !whole
	return err
}

// eventPlace is one event of a row.
type eventPlace struct {
	row      *rewards.EventRow
	position int
}

// pickEvents lists at most limit events of rows that come after a sequence and may be of the types. next is
// the last sequence that was considered, and whole reports that no event of the rows is left.
func pickEvents(
	rows []rewards.EventRow, after int64, types rewards.EventTypes, limit int,
) (list []eventPlace, next int64, whole bool) {
	next = after
	for i := range rows {
		r := &rows[i]
		switch positions := r.After(after); {
		case r.Types&types == 0:
		case len(r.Positions) == 0:
			if len(list) == limit {
				return list, next, false
			}
			list = append(list, eventPlace{r, 0})
		default:
			for _, position := range positions {
				if len(list) == limit {
					return list, next, false
				}
				list = append(list, eventPlace{r, position})
				next = r.Sequence(position)
			}
		}
		next = r.Last
	}
	return list, next, true
}

// errNoSubject means that the store contradicts itself: an event is about something that it lacks.
var errNoSubject = errors.New("store: cannot read an event: its subject is missing")

// readEvents reads the subjects of events.
func readEvents(ctx context.Context, tx Tx, list []eventPlace) ([]rewards.Event, error) {
	events := make([]rewards.Event, len(list))
	var ofOrders []eventPlace
	var places []int // of ofOrders in list
	var err error
	for i, p := range list {
		switch {
		case len(p.row.Positions) > 0:
			ofOrders, places = append(ofOrders, p), append(places, i)
		case p.row.OfAction():
			var a rewards.Action
			a, err = actionByID(ctx, tx, string(p.row.Subject))
			events[i] = p.row.ActionEvent(a)
		case p.row.Types == rewards.EventReversalCompleted:
			events[i], err = readReversalEvent(ctx, tx, p.row)
		default:
			events[i], err = readRewardEvent(ctx, tx, p.row)
		}
		if err != nil {
			return nil, err
		}
	}
	n := 0
	err = eachMember(ctx, tx, ofOrders, func(r rewards.Reward) error {
		p := ofOrders[n]
		events[places[n]] = p.row.RewardEvent(p.position, r)
		n++
		return nil
	})
	if err == nil && n < len(ofOrders) {
		err = errNoSubject
	}
	return events, err
}

func readRewardEvent(ctx context.Context, tx Tx, row *rewards.EventRow) (rewards.Event, error) {
	r, found, err := fetchOne(ctx, tx, scanReward, `SELECT `+rewardColumns+` FROM rewards
		WHERE app_id = ?1 AND id = ?2`, row.AppID[:], row.Subject)
	if err == nil && !found {
		err = errNoSubject
	}
	return row.RewardEvent(0, r), err
}

func readReversalEvent(ctx context.Context, tx Tx, row *rewards.EventRow) (rewards.Event, error) {
	r, found, err := fetchOne(ctx, tx, scanReversal, `SELECT `+reversalColumns+` FROM reversals
		WHERE app_id = ?1 AND id = ?2`, row.AppID[:], row.Subject)
	if err == nil && !found {
		err = errNoSubject
	}
	return row.ReversalEvent(r), err
}

// eachMember calls each with the rewards at places in orders, in their order.
func eachMember(ctx context.Context, tx Tx, list []eventPlace, each func(rewards.Reward) error) error {
	if inBlocks(tx) && len(list) > 0 {
		orders, positions := make([][]byte, len(list)), make([]int64, len(list))
		for i, p := range list {
			orders[i], positions[i] = p.row.Subject, int64(p.position)
		}
		return fetchEach(ctx, tx, scanReward, each, `SELECT `+rewardColumns+`
			FROM unnest(?1::bytea[], ?2::bigint[]) WITH ORDINALITY AS place (of_order, at_position, n)
			CROSS JOIN LATERAL (`+memberOf(tx, `place.of_order`, `place.at_position`)+` OFFSET 0) AS member
			CROSS JOIN LATERAL (SELECT * FROM rewards r WHERE r.app_id = member.of_app AND r.id = member.of_id
				OFFSET 0) AS rewards ORDER BY n`, orders, positions)
	}
	for _, p := range list {
		err := fetchEach(ctx, tx, scanReward, each, `SELECT `+rewardColumns+`
			FROM (`+memberOf(tx, `?1`, `?2`)+`) AS member CROSS JOIN rewards WHERE app_id = of_app AND id = of_id`,
			p.row.Subject, int64(p.position))
		if err != nil {
			return err
		}
	}
	return nil
}

// memberOf selects the reward at a position in an order.
func memberOf(tx Tx, order, position string) string {
	return `SELECT m.app_id AS of_app, m.reward_id AS of_id FROM orders o` +
		memberAt(tx, `o.number * 1024 + `+position) + `WHERE o.id = ` + order + ` AND o.number > 0
			UNION ALL SELECT m.app_id, m.reward_id FROM past_members m
				WHERE m.order_id = ` + order + ` AND m.position = ` + position
}

// Event implements rewards.Store.
func (s *Store) Event(ctx context.Context, app rewards.AppID, id rewards.EventID) (rewards.Event, error) {
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) (e rewards.Event, err error) {
		sequence, ok := rewards.SequenceOf(id)
		if !ok {
			return e, notFound("event not found")
		}
		r, found, err := fetchOne(ctx, tx, scanEventRow, `SELECT `+eventColumns+` FROM events
			WHERE app_id = ?1 AND last >= ?2 ORDER BY last LIMIT 1`, app[:], sequence)
		if err != nil {
			return e, err
		}
		if found {
			list, next, _ := pickEvents([]rewards.EventRow{r}, sequence-1, rewards.AllEvents, 1)
			if next == sequence {
				events, err := readEvents(ctx, tx, list)
				if err != nil || events[0].HasID(id) {
					return append(events, e)[0], err
				}
			}
		}
		return e, notFound("event not found")
	})
}

// NewestEvent implements rewards.Store.
func (s *Store) NewestEvent(ctx context.Context) (sequence int64, err error) {
	return readShared(ctx, s, func(ctx context.Context, tx Tx) (sequence int64, err error) {
		_, err = fetchValues(ctx, only(tx), []any{&sequence}, `SELECT last FROM event_counter WHERE "only" = 1`)
		return sequence, err
	})
}
