package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// undoneOf reads what the switch that w undoes did to the users from one to another. For the users of
// whose awards some was taken back since, it computes what they have after the undo.
func (x *lotIndex) undoneOf(
	ctx context.Context, tx Tx, w rewards.Switch, first, last holder,
) (map[holder]rewards.Done, error) {
	done := make(map[holder]rewards.Done)
	if w.Undoes == 0 {
		return done, nil
	}
	err := fetchEach(ctx, tx, scanEffect, func(e rewards.Effect) error {
		k := holder{e.AppID, e.UserID}
		of := done[k]
		of.Effects = append(of.Effects, e)
		done[k] = of
		return nil
	}, `SELECT `+effectColumns+` FROM effects WHERE switch = ?1 AND (app_id, user_id) >= (?2, ?3)
		AND (app_id, user_id) <= (?4, ?5)`, w.Undoes, first.app[:], first.user[:], last.app[:], last.user[:])
	if err != nil {
		return nil, err
	}
	reversed, err := fetchAll(ctx, tx, scanUserKey, `SELECT DISTINCT app_id, user_id FROM reversals
		WHERE completed_at > 0 AND after_switch >= ?1 AND (app_id, user_id) >= (?2, ?3)
		AND (app_id, user_id) <= (?4, ?5)`,
		w.Undoes, first.app[:], first.user[:], last.app[:], last.user[:])
	if err != nil {
		return nil, err
	}
	for _, k := range reversed {
		of, changed := done[k]
		if !changed {
			continue
		}
		if of.Exact, err = x.afterUndo(ctx, tx, w, k); err != nil {
			return nil, err
		}
		done[k] = of
	}
	return done, nil
}

func scanUserKey(row Row) (k userKey, err error) {
	err = row.Scan(toID(&k.app), toID(&k.user))
	return k, err
}

// afterUndo computes what a user has of the stocks of an undo after it.
func (x *lotIndex) afterUndo(ctx context.Context, tx Tx, w rewards.Switch, k userKey) ([]rewards.Holding, error) {
	all, err := x.ofUser(ctx, tx, k, w.Number)
	if err != nil {
		return nil, err
	}
	source, target := rewards.Holding{AssetID: w.AssetID}, rewards.Holding{AssetID: w.Target}
	for _, lots := range all {
		for _, sum := range []*rewards.Holding{&source, &target} {
			lot := lots.Of(sum.AssetID)
			sum.Quantity += lot.Shares
			sum.CostBasis += lot.Basis
		}
	}
	return []rewards.Holding{source, target}, nil
}
