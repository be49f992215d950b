package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"
	"sync"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// A lot is what an order bought for an award: a member whose order changed a holding. The lots of a user are found in
// order_lots, which has a row for each of the newest orders, and in the blocks of segments (see LAYOUT.md).

// lotAt is the place of a lot, and when its order was settled.
type lotAt struct{ at, place int64 }

// addLots stores the lots of a booked order. Bookings exclude each other, so their numbers have no gaps.
func addLots(ctx context.Context, tx Tx, o rewards.Order, lots []segment.Lot) error {
	if len(lots) == 0 {
		return nil
	}
	entries := segment.NewLots(lots)
	mark := lotsMark(o, entries)
	return execLater(ctx, tx, `INSERT INTO order_lots (number, order_number, at, lots, mark, entries) VALUES (
		coalesce((SELECT max(number) FROM order_lots), (SELECT last FROM lot_segments ORDER BY number DESC LIMIT 1), 0)
		+ 1, ?1, ?2, ?3, ?4, ?5)`, o.Number, micros(o.SettledAt), int64(len(lots)), mark, []byte(entries))
}

// lotsMark identifies the lots of an order. After a fail-over that lost some, others may have their number, but not
// their mark.
func lotsMark(o rewards.Order, entries segment.Lots) int64 {
	head := binary.BigEndian.AppendUint64(slices.Clone(o.ID[:]), uint64(micros(o.SettledAt)))
	sum := sha256.Sum256(append(head, entries...))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// newLot is the lot of a member.
func newLot(user rewards.UserID, place int64) segment.Lot {
	return segment.Lot{User: segment.LotUser(userHash(user)), Place: place}
}

// lotIndex finds the lots of users. It has the rows of order_lots in memory that it has read: at most a segment, and
// what is booked until that is sealed. It is safe for concurrent use. A transaction that writes has its own: what it
// reads may be rolled back.
type lotIndex struct {
	size int64 // lots of a segment

	mu    sync.Mutex
	known []orderLots // oldest first; the slice never changes, another one takes its place
}

// orderLots is a row of order_lots.
type orderLots struct {
	number, order, at, lots, mark int64
	entries                       segment.Lots
}

func newLotIndex() *lotIndex { return &lotIndex{size: segment.Size} }

// read returns the rows that a transaction sees, oldest first. Rows are added and removed in the order of their
// numbers. So when the transaction sees the newest row that is in memory, with its mark, it also sees those before,
// except for those that are sealed. One that began earlier may also see rows that are sealed since.
func (x *lotIndex) read(ctx context.Context, tx Tx) ([]orderLots, error) {
	x.mu.Lock()
	known := x.known
	x.mu.Unlock()
	newest := orderLots{}
	if len(known) > 0 {
		newest = known[len(known)-1]
	}
	oldest, rows, err := readOrderLots(ctx, tx, newest.number)
	if err != nil {
		return nil, err
	}
	switch {
	case len(known) == 0:
	case len(rows) > 0 && rows[0].number == newest.number && rows[0].mark == newest.mark && known[0].number <= oldest:
		sealed := sort.Search(len(known), func(i int) bool { return known[i].number >= oldest })
		if sealed == 0 && len(rows) == 1 {
			return known, nil
		}
		rows = slices.Concat(known[sealed:], rows[1:])
	default: // it is sealed, or lost, or the transaction began before it, or before others were sealed
		if _, rows, err = readOrderLots(ctx, tx, 0); err != nil {
			return nil, err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known = rows
	return rows, nil
}

// readOrderLots reads the row with a number, without its entries, and those after it. oldest is the number of the
// oldest row.
func readOrderLots(ctx context.Context, tx Tx, from int64) (oldest int64, rows []orderLots, err error) {
	rows, err = fetchAll(ctx, tx, func(row Row) (o orderLots, err error) {
		var entries []byte
		err = row.Scan(&oldest, &o.number, &o.order, &o.at, &o.lots, &o.mark, toBytes{&entries})
		o.entries = entries
		return o, err
	}, `SELECT (SELECT min(number) FROM order_lots), number, order_number, at, lots, mark,
		CASE WHEN number = ?1 THEN substr(entries, 1, 0) ELSE entries END
		FROM order_lots WHERE number >= ?1 ORDER BY number`, from)
	return oldest, rows, err
}

// recent lists a user's lots of the newest orders.
func (x *lotIndex) recent(ctx context.Context, tx Tx, user int64) (list []lotAt, err error) {
	orders, err := x.read(ctx, tx)
	for i := range orders {
		for _, place := range orders[i].entries.Places(user) {
			list = append(list, lotAt{orders[i].at, place})
		}
	}
	return list, err
}

func placesOf(lots []lotAt) []int64 {
	places := make([]int64, len(lots))
	for i, l := range lots {
		places[i] = l.place
	}
	return places
}

// find lists the newest lots of users with a hash up to a time, newest first: at least a number of them, and all of
// their times. more reports whether there may be older ones. If there are fewer, it lists all, in any order, and
// perhaps some after the time, which the caller leaves out.
func (x *lotIndex) find(
	ctx context.Context, tx Tx, hash, until int64, atLeast int,
) (list []lotAt, more bool, err error) {
	user := segment.LotUser(hash)
	if list, err = x.recent(ctx, tx, user); err != nil {
		return nil, false, err
	}
	past, err := pastLots(ctx, tx, hash, until, atLeast)
	if err != nil {
		return nil, false, err
	}
	list = append(list, past...)
	for before := int64(math.MaxInt64); ; {
		sealed, err := sealedLots(ctx, tx, user, until, before, atLeast)
		if err != nil {
			return nil, false, err
		}
		if !sealed.more && len(list)+len(sealed.places) < atLeast {
			return distinctLots(list, sealed.places), false, nil
		}
		lots, err := settledTimes(ctx, tx, sealed.places)
		if err != nil {
			return nil, false, err
		}
		list = newestLots(append(list, lots...), until)
		enough := len(list) >= atLeast && (!sealed.more || list[atLeast-1].at > sealed.latest)
		if enough {
			oldest := list[atLeast-1].at
			end := slices.IndexFunc(list, func(l lotAt) bool { return l.at < oldest })
			if end >= 0 {
				list = list[:end]
			}
			return list, sealed.more || end >= 0 || len(past) >= atLeast, nil
		}
		if !sealed.more {
			return list, false, nil
		}
		before = sealed.before
	}
}

// newestLots sorts lots up to a time, each once.
func newestLots(list []lotAt, until int64) []lotAt {
	list = slices.DeleteFunc(list, func(l lotAt) bool { return l.at > until })
	slices.SortFunc(list, func(a, b lotAt) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.place, a.place))
	})
	return slices.Compact(list)
}

// distinctLots adds places. While lots of an older store are moved, some are found twice.
func distinctLots(list []lotAt, places []int64) []lotAt {
	for _, place := range places {
		list = append(list, lotAt{place: place})
	}
	slices.SortFunc(list, func(a, b lotAt) int { return cmp.Compare(a.place, b.place) })
	return slices.CompactFunc(list, func(a, b lotAt) bool { return a.place == b.place })
}

// sealedPart is a user's lots of some sealed segments, the newest ones before another.
type sealedPart struct {
	places []int64
	more   bool
	before int64 // the segments before it are not read
	latest int64 // when the last of their orders was settled, at most
}

// sealedLots reads segments until it has found enough lots, or all.
func sealedLots(ctx context.Context, tx Tx, user, until, before int64, enough int) (part sealedPart, err error) {
	part.before = before
	err = tx.Query(ctx, func(row Row) error {
		var number, latest, first int64
		var entries []byte
		if err := row.Scan(&number, &latest, &first, toBytes{&entries}); err != nil {
			return err
		}
		if !segment.Lots(entries).Sound(first) {
			return errBlock("lots", number)
		}
		if number < part.before && len(part.places) >= enough {
			part.more, part.latest = true, latest
			return errEnough
		}
		part.before = number
		part.places = append(part.places, segment.Lots(entries).Places(user)...)
		return nil
	}, sealedBlocks, user, before, until)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return part, err
}

// sealedBlocks are the blocks that may have lots of the user ?1, of segments before ?2 that have some until ?3. They
// are the last block that begins with a user before, and those that begin with the user.
const sealedBlocks = `SELECT s.number, s.latest, b.first_user, b.entries FROM lot_segments s CROSS JOIN lot_blocks b
		WHERE s.number < ?2 AND s.earliest <= ?3 AND b.segment = s.number AND b.first_user <= ?1
		AND b.first_user >= coalesce((SELECT max(p.first_user) FROM lot_blocks p
			WHERE p.segment = s.number AND p.first_user < ?1), ?1)
		ORDER BY s.number DESC`

// settledTimes finds when the orders of places were settled.
func settledTimes(ctx context.Context, tx Tx, places []int64) ([]lotAt, error) {
	if len(places) == 0 {
		return nil, nil
	}
	orders := make(map[int64]int64)
	for _, place := range places {
		orders[place/placesOfOrder] = 0
	}
	numbers := make([]int64, 0, len(orders))
	for number := range orders {
		numbers = append(numbers, number)
	}
	err := tx.Query(ctx, func(row Row) error {
		var number, at int64
		err := row.Scan(&number, &at)
		orders[number] = at
		return err
	}, `SELECT o.number, o.settled_at FROM `+listed(tx)+` AS l CROSS JOIN orders o
		WHERE o.number = l.value AND o.number > 0`, listArg(tx, numbers))
	list := make([]lotAt, len(places))
	for i, place := range places {
		list[i] = lotAt{orders[place/placesOfOrder], place}
	}
	return list, err
}

// pastLots is find for the lots that an earlier version stored.
func pastLots(ctx context.Context, tx Tx, hash, until int64, atLeast int) ([]lotAt, error) {
	return fetchAll(ctx, tx, func(row Row) (l lotAt, err error) {
		err = row.Scan(&l.at, &l.place)
		return l, err
	}, `SELECT at, place FROM past_lots WHERE user_hash = ?1 AND at <= ?2
		AND at >= coalesce((SELECT p.at FROM past_lots p WHERE p.user_hash = ?1 AND p.at <= ?2
			ORDER BY p.at DESC LIMIT 1 OFFSET ?3), 0)`, hash, until, atLeast-1)
}
