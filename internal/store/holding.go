package store

import (
	"context"
	"errors"

	"stockrewards/internal/rewards"
)

// Holdings implements rewards.Store.
func (s *Store) Holdings(ctx context.Context, app rewards.AppID, user rewards.UserID) ([]rewards.Holding, error) {
	k := userKey{app, user}
	entered := s.held.enter(k)
	if entered != nil && entered.filled {
		return entered.holdings, nil
	}
	read, found, err := s.holdings.get(ctx, k)
	for read.changed && err == nil {
		read, found, err = s.holdings.get(ctx, k)
	}
	if errors.Is(err, errSweeping) {
		read.holdings, found, err = s.holdingsInSweep(ctx, k)
	}
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNoUser()
	}
	s.known.add(k)
	s.held.fill(k, entered, read.holdings)
	return read.holdings, nil
}

// ForgetHoldings implements rewards.Store.
func (s *Store) ForgetHoldings(app rewards.AppID, user rewards.UserID) {
	s.held.forget(userKey{app, user})
}

// readHoldings reads users' holdings in the units of now. A user without holdings has an empty
// list. Unknown users are missing.
func (s *Store) readHoldings(ctx context.Context, tx Tx, keys []userKey) (map[userKey]heldRead, error) {
	if _, columns := tx.(ColumnTx); columns {
		return s.shared.read(ctx, tx, keys)
	}
	found := make(map[userKey][]rewards.Holding, len(keys))
	lag, err := s.holdingsByRow(ctx, tx, keys, found)
	if err == nil && lag {
		err = s.convertHoldings(ctx, tx, found)
	}
	values := make(map[userKey]heldRead, len(found))
	for k, list := range found {
		values[k] = heldRead{holdings: list}
	}
	return values, err
}

// errSweeping means that holdings must be read together with the switch whose sweep has not
// reached them.
var errSweeping = errors.New("a sweep has not reached a holding")

// holdingsInSweep reads a user's holdings while a sweep goes on, over a network.
func (s *Store) holdingsInSweep(ctx context.Context, k userKey) (list []rewards.Holding, found bool, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		read, err := holdingsByColumn(ctx, tx, []userKey{k}, noChanges)
		if err != nil || !read.exists[0] {
			found = false
			return err
		}
		of := map[userKey][]rewards.Holding{k: read.lists[0]}
		if read.lag {
			err = s.convertHoldings(ctx, tx, of)
		}
		list, found = of[k], true
		return err
	})
	return list, found, err
}

// scanHolding reads a holding, and whether a sweep has not reached it.
func scanHolding(row Row) (h rewards.Holding, lag bool, err error) {
	var generation int64
	err = row.Scan((*int64)(&h.AssetID), (*int64)(&h.Quantity), (*int64)(&h.CostBasis), &h.Generation, &generation)
	return h, h.Generation != generation, err
}

// convertHoldings converts the holdings that a sweep has not reached.
func (s *Store) convertHoldings(ctx context.Context, tx Tx, found map[userKey][]rewards.Holding) error {
	w, open, err := openSwitch(ctx, tx)
	if err != nil || !open {
		return err
	}
	var goal int64 // generation of the target
	if _, err := fetchValues(ctx, tx, []any{&goal}, `SELECT generation FROM assets WHERE id = ?1`,
		int64(w.Target)); err != nil {
		return err
	}
	for k, list := range found {
		done, err := s.lots.undoneOf(ctx, tx, w, k, k)
		if err != nil {
			return err
		}
		if found[k], err = w.Convert(list, goal, done[k]); err != nil {
			return err
		}
	}
	return nil
}

// holdingsByRow reads one user after the other. It checks that the user exists only when
// there are no holdings.
func (s *Store) holdingsByRow(
	ctx context.Context, tx Tx, keys []userKey, found map[userKey][]rewards.Holding,
) (lag bool, err error) {
	for _, k := range keys {
		list, err := fetchAll(ctx, tx, func(row Row) (rewards.Holding, error) {
			h, behind, err := scanHolding(row)
			lag = lag || behind
			return h, err
		}, `SELECT h.asset_id, h.quantity, h.cost_basis, h.generation, a.generation FROM holdings h
			CROSS JOIN assets a WHERE h.app_id = ?1 AND h.user_id = ?2 AND a.id = h.asset_id`, k.app[:], k.user[:])
		exists := len(list) > 0
		if err == nil && !exists {
			exists, err = s.userExistsByRow(ctx, tx, k)
		}
		if err != nil {
			return lag, err
		}
		if exists {
			found[k] = list
		}
	}
	return lag, nil
}
