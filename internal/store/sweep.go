package store

import (
	"bytes"
	"context"
	"errors"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const (
	sweepHolders = 1_000 // holders in a transaction
	sweepRows    = 4_000 // holdings that are read for them
)

// holder is a user with a holding, and their place in the order of a sweep.
type holder = userKey

// Sweep brings the next holdings of an open switch up to date, some thousand in one transaction,
// with a row of effects for each. It reports whether the sweep has ended. A killed sweep goes on
// where it was. It fails with ErrStale and ErrLostLease.
func (s *Store) Sweep(ctx context.Context, l rewards.Lease, number int64) (done bool, err error) {
	var part sweepPart
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) (err error) {
		part, err = nextHolders(ctx, tx, number)
		return err
	})
	if err != nil {
		return false, err
	}
	change := &holdingChange{cache: s.held}
	err = s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		w, found, err := openSwitch(ctx, tx)
		if err != nil || !found || w.Number != number {
			return staleIf(true, err)
		}
		if err := s.sweepHolders(ctx, tx, w, part); err != nil {
			return err
		}
		return change.begin(ctx, tx, part.holders)
	})
	if err == nil {
		if part.last {
			s.catalogs.Add(1)
		}
		change.committed()
	}
	return part.last, err
}

// sweepPart is what one transaction of a sweep brings up to date.
type sweepPart struct {
	from, to holder // exclusive, inclusive
	holders  []holder
	last     bool // nobody comes after
}

// nextHolders finds the next holders of a switch's stock.
func nextHolders(ctx context.Context, tx Tx, number int64) (p sweepPart, err error) {
	var asset int64
	var app, user []byte
	found, err := fetchValues(ctx, tx, []any{&asset, toBytes{&app}, toBytes{&user}},
		`SELECT asset_id, swept_app, swept_user FROM switches WHERE number = ?1 AND swept_at = 0`, number)
	if err != nil || !found {
		return p, staleIf(true, err)
	}
	var from holder
	copy(from.app[:], app)
	copy(from.user[:], user)
	return holdersAfter(ctx, tx, rewards.AssetID(asset), from)
}

// holdersAfter finds the next holders of a stock. It reads a bounded number of holdings of any
// stock.
func holdersAfter(ctx context.Context, tx Tx, asset rewards.AssetID, from holder) (p sweepPart, err error) {
	rows, last := 0, holder{}
	p.from, p.to = from, from
	err = tx.Query(ctx, func(row Row) error {
		var h holder
		var held rewards.AssetID
		if err := row.Scan(toID(&h.app), toID(&h.user), (*int64)(&held)); err != nil {
			return err
		}
		rows++
		if h != last && rows > 1 {
			p.to = last
		}
		if last = h; held == asset {
			p.holders = append(p.holders, h)
		}
		if len(p.holders) > sweepHolders {
			return errEnough
		}
		return nil
	}, `SELECT app_id, user_id, asset_id FROM holdings WHERE (app_id, user_id) > (?1, ?2)
		ORDER BY app_id, user_id, asset_id LIMIT ?3 + 0`, p.from.app[:], p.from.user[:], sweepRows)
	switch {
	case errors.Is(err, errEnough):
		p.holders = p.holders[:sweepHolders]
		p.to = p.holders[sweepHolders-1]
		return p, nil
	case err != nil:
		return p, err
	case rows < sweepRows:
		p.last, p.to = true, last
	case p.to == p.from: // a user with more holdings than were read
		p.holders, p.to = []holder{last}, last
	}
	for i, h := range p.holders { // the last user may have more holdings than were read
		if h.after(p.to) {
			p.holders = p.holders[:i]
			break
		}
	}
	return p, nil
}

func (k userKey) after(other userKey) bool {
	if by := bytes.Compare(k.app[:], other.app[:]); by != 0 {
		return by > 0
	}
	return bytes.Compare(k.user[:], other.user[:]) > 0
}

// sweepHolders changes the holdings of a part and books the progress.
func (s *Store) sweepHolders(ctx context.Context, tx Tx, w rewards.Switch, p sweepPart) error {
	n, err := tx.Exec(ctx, `UPDATE switches SET swept_app = ?2, swept_user = ?3
		WHERE number = ?1 AND swept_app = ?4 AND swept_user = ?5`,
		w.Number, p.to.app[:], p.to.user[:], stored(p.from.app[:]), stored(p.from.user[:]))
	if err != nil || n == 0 {
		return staleIf(n == 0, err)
	}
	b := &sweepBatch{Switch: w, lots: newLotIndex()}
	if err := b.read(ctx, tx, p.holders); err != nil {
		return err
	}
	if err := b.convert(); err != nil {
		return err
	}
	if err := b.write(ctx, tx); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE switches SET users_before = users_before + ?2, users_after = users_after + ?3,
		users_given = users_given + ?4 WHERE number = ?1`, w.Number, int64(b.sums.Before), int64(b.sums.After),
		int64(b.sums.Given))
	if err != nil || !p.last {
		return err
	}
	return s.endSweep(ctx, tx, w.Number)
}

// stored is how the beginning of a sweep is stored: nothing.
func stored(id []byte) []byte {
	if bytes.Count(id, []byte{0}) == len(id) {
		return []byte{}
	}
	return id
}

// endSweep books what the users' holdings leave to the house.
func (s *Store) endSweep(ctx context.Context, tx Tx, number int64) error {
	w, err := switchOf(ctx, tx, number)
	if err != nil {
		return err
	}
	house := w.Position - w.Booked - (w.Swept.After - w.Swept.Before)
	if err := addHouse(ctx, tx, w.AssetID, house); err != nil {
		return err
	}
	if w.Target != 0 {
		if err := addHouse(ctx, tx, w.Target, w.TargetPosition-w.TargetBooked-w.Swept.Given); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE switches SET swept_at = ?2 WHERE number = ?1`, number, micros(latest(s.now(), w.At)))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE actions SET state = CASE state WHEN `+applied+` THEN `+swept+`
		WHEN `+undoing+` THEN `+undone+` ELSE state END WHERE id = ?1`, w.ActionID)
	return err
}

// addHouse adds to the house's shares, which may become negative.
func addHouse(ctx context.Context, tx Tx, asset rewards.AssetID, by money.Shares) error {
	if by == 0 {
		return nil
	}
	return execLater(ctx, tx, `INSERT INTO house_holdings (asset_id, quantity) VALUES (?1, ?2)
		ON CONFLICT (asset_id) DO UPDATE SET quantity = house_holdings.quantity + excluded.quantity,
		short_since = CASE WHEN house_holdings.quantity + excluded.quantity >= 0 THEN 0
			ELSE house_holdings.short_since END`, int64(asset), int64(by))
}
