package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// Activity implements rewards.Store. Each of its sources is read by a key, newest first; one
// transaction reads them all.
func (s *Store) Activity(
	ctx context.Context, app rewards.AppID, user rewards.UserID, p rewards.ActivityPage,
) ([]rewards.UserActivity, error) {
	k := userKey{app, user}
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) ([]rewards.UserActivity, error) {
		exists, err := s.userExistsByRow(ctx, tx, k)
		if err == nil && !exists {
			err = errNoUser()
		}
		if err != nil {
			return nil, err
		}
		awards, err := s.activityOfAwards(ctx, tx, k, p)
		if err != nil {
			return nil, err
		}
		effects, err := activityOfEffects(ctx, tx, k, p)
		if err != nil {
			return nil, err
		}
		reversals, err := activityOfReversals(ctx, tx, k, p)
		if err != nil {
			return nil, err
		}
		pending, err := s.activityInSweep(ctx, tx, k, p)
		return p.Merge(awards, effects, reversals, pending), err
	})
}

// activityOfAwards reads the parts of awards that were bought for a user: the lots, and what is not moved
// to them yet. Parts without shares and cost changed no holding; they are not in it.
func (s *Store) activityOfAwards(
	ctx context.Context, tx Tx, k userKey, p rewards.ActivityPage,
) (list []rewards.UserActivity, err error) {
	at, key := p.Bound(rewards.ActivityOfAward)
	reward, order := key.Award()
	list, err = fetchAll(ctx, tx, scanAwardActivity, `SELECT p.at, p.reward_id, p.order_id, p.shares, p.cost,
		o.filled_avg_price, s.symbol FROM (SELECT at, reward_id, order_id, shares, cost FROM past_allocations
			WHERE app_id = ?1 AND user_id = ?2 AND (at, reward_id, order_id) < (?3, ?4, ?5) AND (shares > 0 OR cost > 0)
			ORDER BY at DESC, reward_id DESC, order_id DESC LIMIT ?6 + 0) AS p
		CROSS JOIN orders o CROSS JOIN assets s WHERE o.id = p.order_id AND s.id = o.asset_id`,
		k.app[:], k.user[:], at, reward[:], order[:], p.Limit)
	// The lots of one time are read together. A part of them may have been on the page before, or be another user's
	// with the same hash.
	until, more := at, true
	for found := 0; err == nil && more && found < p.Limit; {
		var lots []lotAt
		if lots, more, err = s.lots.find(ctx, tx, userHash(k.user), until, p.Limit); err != nil || len(lots) == 0 {
			break
		}
		var part []rewards.UserActivity
		part, err = fetchAll(ctx, tx, scanAwardActivity, `SELECT o.settled_at, m.reward_id, o.id, m.shares,
			m.completes * m.reward_amount, o.filled_avg_price, s.symbol
			FROM `+listed(tx)+` AS l`+memberAt(tx, `l.value`)+`CROSS JOIN orders o CROSS JOIN assets s
			WHERE m.app_id = ?2 AND m.user_id = ?3 AND o.number = l.value / 1024 AND o.number > 0
			AND (o.settled_at, m.reward_id, o.id) < (?4, ?5, ?6) AND o.settled_at <= ?7 AND s.id = o.asset_id`,
			listArg(tx, placesOf(lots)), k.app[:], k.user[:], at, reward[:], order[:], until)
		list, found, until = append(list, part...), found+len(part), lots[len(lots)-1].at-1
	}
	return list, err
}

func scanAwardActivity(row Row) (a rewards.UserActivity, err error) {
	var order rewards.OrderID
	err = row.Scan(toTime{&a.Place.At}, toID(&a.RewardID), toID(&order), (*int64)(&a.Quantity),
		(*int64)(&a.CostBasis), (*int64)(&a.Price), &a.Symbol)
	a.Place.Kind, a.Place.Key = rewards.ActivityOfAward, rewards.AwardKey(a.RewardID, order)
	a.Type = rewards.ActivityAward
	return a, err
}

// activityOfEffects reads what corporate actions did to a user's holdings, apart from what a sweep
// has not reached. Cash dividends change none. It walks the actions of the user's stocks.
func activityOfEffects(
	ctx context.Context, tx Tx, k userKey, p rewards.ActivityPage,
) ([]rewards.UserActivity, error) {
	at, key := p.Bound(rewards.ActivityOfAction)
	number, asset := key.Action()
	return fetchAll(ctx, tx, func(row Row) (rewards.UserActivity, error) {
		var w rewards.Switch
		var e rewards.Effect
		var kind rewards.ActionType
		var symbol string
		err := row.Scan(&w.Number, &w.ActionID, toTime{&w.At}, &w.Undoes, &w.Keep.Old, &w.Keep.New, (*string)(&kind),
			(*int64)(&e.AssetID), &symbol, (*int64)(&e.Before), (*int64)(&e.After), (*int64)(&e.BasisBefore),
			(*int64)(&e.BasisAfter))
		return e.Activity(w, kind, symbol), err
	}, `SELECT w.number, w.action_id, w.at, w.undoes, w.keep_old, w.keep_new, x.type, e.asset_id, s.symbol, e.before,
		e.after, e.basis_before, e.basis_after FROM holdings h CROSS JOIN switches w CROSS JOIN actions x
		CROSS JOIN effects e CROSS JOIN assets s WHERE h.app_id = ?1 AND h.user_id = ?2
		AND w.asset_id = h.asset_id AND x.id = w.action_id
		AND x.type <> '`+string(rewards.ActionCashDividend)+`' AND e.switch = w.number AND e.app_id = ?1
		AND e.user_id = ?2 AND (w.at, w.number, e.asset_id) < (?3, ?4, ?5) AND s.id = e.asset_id
		ORDER BY w.at DESC, w.number DESC, e.asset_id DESC LIMIT ?6 + 0`,
		k.app[:], k.user[:], at, number, int64(asset), p.Limit)
}

// activityOfReversals reads what reversals took of a user's holdings.
func activityOfReversals(
	ctx context.Context, tx Tx, k userKey, p rewards.ActivityPage,
) ([]rewards.UserActivity, error) {
	at, key := p.Bound(rewards.ActivityOfReversal)
	reversal, asset := key.Reversal()
	return fetchAll(ctx, tx, func(row Row) (a rewards.UserActivity, err error) {
		var asset rewards.AssetID
		err = row.Scan(toTime{&a.Place.At}, toID(&a.ReversalID), toID(&a.RewardID), (*int64)(&asset),
			(*int64)(&a.Quantity), (*int64)(&a.CostBasis), &a.Symbol)
		a.Place.Kind, a.Place.Key = rewards.ActivityOfReversal, rewards.ReversalKey(a.ReversalID, asset)
		a.Type = rewards.ActivityReversal
		return a, err
	}, `SELECT v.completed_at, v.id, v.reward_id, t.asset_id, -t.quantity, -t.basis, s.symbol
		FROM reversals v CROSS JOIN takings t CROSS JOIN assets s
		WHERE v.app_id = ?1 AND v.user_id = ?2 AND v.completed_at > 0 AND v.completed_at <= ?3
		AND (v.completed_at, v.id, t.asset_id) < (?3, ?4, ?5)
		AND t.app_id = v.app_id AND t.reversal_id = v.id AND s.id = t.asset_id
		ORDER BY v.completed_at DESC, v.id DESC, t.asset_id DESC LIMIT ?6 + 0`,
		k.app[:], k.user[:], at, reversal[:], int64(asset), p.Limit)
}

// activityInSweep computes what the open switch does to a user's holdings, unless its sweep has
// reached them.
func (s *Store) activityInSweep(
	ctx context.Context, tx Tx, k userKey, p rewards.ActivityPage,
) (list []rewards.UserActivity, err error) {
	w, open, err := openSwitch(ctx, tx)
	if err != nil || !open {
		return nil, err
	}
	var kind rewards.ActionType
	_, err = fetchValues(ctx, tx, []any{(*string)(&kind)}, `SELECT type FROM actions WHERE id = ?1`, w.ActionID)
	if err != nil || kind == rewards.ActionCashDividend {
		return nil, err
	}
	b := &sweepBatch{Switch: w, lots: s.lots}
	if err := b.read(ctx, tx, []holder{k}); err != nil {
		return nil, err
	}
	if err := b.convert(); err != nil {
		return nil, err
	}
	symbols, err := symbolsOf(ctx, tx, w)
	for _, e := range b.effects {
		a := e.Activity(w, kind, symbols[e.AssetID])
		if p.Before.Kind == 0 || a.Place.Compare(p.Before) < 0 {
			list = append(list, a)
		}
	}
	return list, err
}
