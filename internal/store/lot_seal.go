package store

import (
	"context"
	"slices"

	"stockrewards/internal/store/segment"
)

// mostSealed is how many orders a segment of lots has at most, so that few rows wait when orders are small.
const mostSealed = 4096

// blocksPerSegment is the distance between the places of the first blocks of two segments.
const blocksPerSegment = 1 << 20

// lotSegment is a full segment of lots.
type lotSegment struct {
	number           int64
	last, mark       int64 // of its last booking
	lots             int64
	earliest, latest int64 // as in lot_segments
	blocks           []segment.Lots
}

// sealLots stores the lots of the oldest orders in blocks, when they fill a segment, in short transactions. The last
// one removes them from order_lots. It reports whether they did. What a segment has follows from order_lots. So a
// process may seal it again from the beginning, after a restart or beside another process: it passes over what is
// stored.
func (s *Store) sealLots(ctx context.Context) (sealed bool, err error) {
	full, err := read(ctx, s, s.lots.fullSegment)
	if err != nil || full.lots == 0 {
		return false, err
	}
	for i, part := range slices.Collect(slices.Chunk(full.blocks, blocksPerWrite)) {
		err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
			return full.storeBlocks(ctx, tx, i*blocksPerWrite, part)
		})
		if err != nil {
			return false, err
		}
	}
	return true, s.engine.Write(ctx, full.seal)
}

// fullSegment returns the oldest orders, if their lots fill a segment. Otherwise it has no lots.
func (x *lotIndex) fullSegment(ctx context.Context, tx Tx) (g lotSegment, err error) {
	orders, err := x.read(ctx, tx)
	if err != nil {
		return g, err
	}
	lots := int64(0)
	for i := range orders {
		if lots += orders[i].lots; lots >= x.size || i+1 == mostSealed {
			g.lots = lots
			_, err := fetchValues(ctx, tx, []any{&g.number, &g.latest}, `SELECT number + 1, latest FROM lot_segments
				ORDER BY number DESC LIMIT 1`)
			g.add(orders[:i+1])
			return g, err
		}
	}
	return g, nil
}

// add adds all orders of the segment.
func (g *lotSegment) add(orders []orderLots) {
	newest := &orders[len(orders)-1]
	g.last, g.mark, g.earliest = newest.number, newest.mark, newest.at
	var list []segment.Lot
	for i := range orders {
		o := &orders[i]
		list = append(list, o.entries.All()...)
		g.earliest, g.latest = min(g.earliest, o.at), max(g.latest, o.at)
	}
	g.blocks = segment.NewLots(list).Blocks()
}

// waits reports whether order_lots has the orders of the segment. Otherwise another process has sealed it, or a
// fail-over has lost some.
func (g *lotSegment) waits(ctx context.Context, tx Tx) (bool, error) {
	var one int
	return fetchValues(ctx, tx, []any{&one},
		`SELECT 1 FROM order_lots WHERE number = ?1 AND mark = ?2`, g.last, g.mark)
}

// storeBlocks stores blocks from a position on, if the segment waits.
func (g *lotSegment) storeBlocks(ctx context.Context, tx Tx, position int, blocks []segment.Lots) error {
	waits, err := g.waits(ctx, tx)
	if err != nil || !waits {
		return err
	}
	rows := make([][]any, len(blocks))
	for i, b := range blocks {
		rows[i] = []any{g.number*blocksPerSegment + int64(position+i), g.number, b.At(0).User, []byte(b)}
	}
	const stored = ` ON CONFLICT (place) DO NOTHING`
	_, err = execRows(ctx, tx, `INSERT INTO lot_blocks (place, segment, first_user, entries)
		VALUES (?1, ?2, ?3, ?4)`+stored, `INSERT INTO lot_blocks (place, segment, first_user, entries)
		SELECT * FROM unnest(?1::bigint[], ?2::bigint[], ?3::bigint[], ?4::bytea[])`+stored, rows)
	return err
}

// seal makes the segment the newest one, if it waits, and removes its orders from order_lots.
func (g *lotSegment) seal(ctx context.Context, tx Tx) error {
	waits, err := g.waits(ctx, tx)
	if err != nil || !waits {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO lot_segments (number, last, lots, earliest, latest) VALUES (?1, ?2, ?3, ?4, ?5)`,
		g.number, g.last, g.lots, g.earliest, g.latest)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM order_lots WHERE number <= ?1`, g.last)
	return err
}
