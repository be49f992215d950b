package store

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"

	"stockrewards/internal/rewards"
)

// actionsOfApp finds the actions that clients of the app see: those of the types that the interface
// has, whose stock, or the stock that results, users of the app hold or held. A stock that was
// renamed later is found by what was applied.
const actionsOfApp = `SELECT ` + actionColumns + ` FROM actions a WHERE
	(EXISTS (SELECT 1 FROM app_assets x WHERE x.app_id = ?1 AND x.asset_id = a.asset_id)
		OR a.new_symbol <> '' AND EXISTS (SELECT 1 FROM app_assets x WHERE x.app_id = ?1 AND x.asset_id IN (
			SELECT s.id FROM assets s WHERE s.symbol = a.new_symbol
			UNION ALL SELECT w.target_id FROM switches w WHERE w.action_id = a.id)))
	AND a.state <> ` + passed + ` AND a.type IN ('` +
	string(rewards.ActionForwardSplit) + `', '` + string(rewards.ActionReverseSplit) + `', '` +
	string(rewards.ActionStockDividend) + `', '` + string(rewards.ActionCashDividend) + `', '` +
	string(rewards.ActionNameChange) + `', '` + string(rewards.ActionSpinOff) + `', '` +
	string(rewards.ActionStockMerger) + `', '` + string(rewards.ActionCashMerger) + `', '` +
	string(rewards.ActionMixedMerger) + `', '` + string(rewards.ActionWorthless) + `')`

// ActionsOfApp implements rewards.Store. It walks the actions by age: the stocks of most apps are
// in many of them.
func (s *Store) ActionsOfApp(
	ctx context.Context, app rewards.AppID, f rewards.ActionFilter, p rewards.ActionPage,
) ([]rewards.Action, error) {
	from := int64(math.MaxInt64)
	if p.Before.ID != "" {
		from = micros(p.Before.FirstSeen)
	}
	const (
		listed = actionsOfApp + ` AND (a.first_seen, a.id) < (?2, ?3)
			AND (?4 = '' OR a.symbol = ?4 OR a.new_symbol = ?4)`
		newestSeen  = ` ORDER BY a.first_seen DESC, a.id DESC LIMIT ?5 + 0`
		inEachState = ` AND a.state IN (?6, ?7)` // a status is one state or two
	)
	args := []any{app[:], from, p.Before.ID, f.Symbol, p.Limit}
	if len(f.States) == 0 {
		return readAllOf(ctx, s, app, scanAction, listed+newestSeen, args...)
	}
	return readAllOf(ctx, s, app, scanAction, listed+inEachState+newestSeen,
		append(args, int(f.States[0]), int(f.States[len(f.States)-1]))...)
}

// ActionOfApp implements rewards.Store.
func (s *Store) ActionOfApp(ctx context.Context, app rewards.AppID, id string) (rewards.Action, error) {
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) (rewards.Action, error) {
		return actionOfApp(ctx, tx, app, id)
	})
}

func actionOfApp(ctx context.Context, tx Tx, app rewards.AppID, id string) (rewards.Action, error) {
	a, found, err := fetchOne(ctx, tx, scanAction, actionsOfApp+` AND a.id = ?2`, app[:], id)
	if err == nil && !found {
		err = notFound("corporate action not found")
	}
	return a, err
}

// Effects implements rewards.Store.
func (s *Store) Effects(
	ctx context.Context, app rewards.AppID, id string, p rewards.EffectPage,
) ([]rewards.ActionEffect, error) {
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) ([]rewards.ActionEffect, error) {
		a, err := actionOfApp(ctx, tx, app, id)
		if err != nil || !a.State.HasEffects() {
			return nil, err
		}
		switches, err := switchesOf(ctx, tx, id)
		switches = slices.DeleteFunc(switches, rewards.Switch.IsUndo)
		if err != nil || len(switches) == 0 {
			return nil, err
		}
		w := switches[len(switches)-1]
		list, err := s.effectsOf(ctx, tx, w, app, p)
		if err != nil {
			return nil, err
		}
		return describeEffects(ctx, tx, w, app, list)
	})
}

// effectsOf reads a page of the effects of a switch on the app's users.
func (s *Store) effectsOf(
	ctx context.Context, tx Tx, w rewards.Switch, app rewards.AppID, p rewards.EffectPage,
) ([]rewards.Effect, error) {
	list, err := fetchAll(ctx, tx, scanEffect, `SELECT `+effectColumns+` FROM effects
		WHERE app_id = ?1 AND switch = ?2 AND (user_id, asset_id) > (?3, ?4) ORDER BY user_id, asset_id LIMIT ?5 + 0`,
		app[:], w.Number, p.After.User[:], int64(p.After.Asset), p.Limit)
	if err != nil || !w.SweptAt.IsZero() || len(list) >= p.Limit {
		return list, err
	}
	pending, err := s.pendingEffects(ctx, tx, w, app, p.After)
	list = append(list, pending...)
	if len(list) >= p.Limit { // then it does not matter whether more holdings would have to be read
		return list[:p.Limit], nil
	}
	return list, err
}

// pendingEffects computes the effects on the app's users that the sweep of w has not reached. It
// fails with rewards.CodeUnavailable when it would have to read too many holdings for all of them;
// the list then has the first ones.
func (s *Store) pendingEffects(
	ctx context.Context, tx Tx, w rewards.Switch, app rewards.AppID, after rewards.EffectPlace,
) (list []rewards.Effect, err error) {
	var sweptApp, sweptUser []byte
	if _, err := fetchValues(ctx, tx, []any{toBytes{&sweptApp}, toBytes{&sweptUser}},
		`SELECT swept_app, swept_user FROM switches WHERE number = ?1`, w.Number); err != nil {
		return nil, err
	}
	reached, from := holder{}, holder{app, after.User}
	copy(reached.app[:], sweptApp)
	copy(reached.user[:], sweptUser)
	var some []holder
	switch {
	case from.after(reached):
		some = append(some, from) // a page may end between two stocks of a user
	case reached.app != app: // the sweep has passed the app
		return nil, nil
	default:
		from = reached
	}
	part, err := holdersAfter(ctx, tx, w.AssetID, from)
	if err != nil {
		return nil, err
	}
	for _, h := range part.holders {
		if h.app == app {
			some = append(some, h)
		}
	}
	b := &sweepBatch{Switch: w, lots: s.lots}
	if err := b.read(ctx, tx, some); err != nil {
		return nil, err
	}
	if err := b.convert(); err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(b.effects, func(e rewards.Effect) bool { return compareEffects(e, after) <= 0 })
	slices.SortFunc(list, func(a, b rewards.Effect) int {
		return compareEffects(a, rewards.EffectPlace{User: b.UserID, Asset: b.AssetID})
	})
	if !part.last && part.to.app == app {
		err = rewards.Unavailable("the corporate action is being applied: its effects are complete in a moment", nil)
	}
	return list, err
}

func compareEffects(e rewards.Effect, place rewards.EffectPlace) int {
	return cmp.Or(bytes.Compare(e.UserID[:], place.User[:]), cmp.Compare(e.AssetID, place.Asset))
}

// describeEffects adds the symbols, and whether the broker's cash was shared.
func describeEffects(
	ctx context.Context, tx Tx, w rewards.Switch, app rewards.AppID, list []rewards.Effect,
) ([]rewards.ActionEffect, error) {
	symbols, err := symbolsOf(ctx, tx, w)
	if err != nil {
		return nil, err
	}
	p, paid, err := payoutOf(ctx, tx, w.ActionID)
	paid = paid && !p.SharedAt.IsZero()
	if err == nil && paid && p.Switch != w.Number && len(list) > 0 {
		err = cashBefore(ctx, tx, p, w, app, list)
	}
	described := make([]rewards.ActionEffect, len(list))
	for i, e := range list {
		described[i] = rewards.ActionEffect{
			Effect: e, Symbol: symbols[e.AssetID], Shared: paid && e.AssetID == w.AssetID,
		}
	}
	return described, err
}

// cashBefore sets the cash that was shared before the action was undone and applied again: it is paid once.
func cashBefore(
	ctx context.Context, tx Tx, p rewards.Payout, w rewards.Switch, app rewards.AppID, list []rewards.Effect,
) error {
	first, last := list[0].UserID, list[len(list)-1].UserID
	return fetchEach(ctx, tx, scanEffect, func(shared rewards.Effect) error {
		for i := range list {
			if list[i].UserID == shared.UserID && list[i].AssetID == shared.AssetID {
				list[i].Cash, list[i].RewardID = shared.Cash, shared.RewardID
			}
		}
		return nil
	}, `SELECT `+effectColumns+` FROM effects WHERE switch = ?1 AND app_id = ?2 AND user_id >= ?3 AND user_id <= ?4
		AND asset_id = ?5`, p.Switch, app[:], first[:], last[:], int64(w.AssetID))
}

// symbolsOf returns the symbols of the stocks that a switch changes.
func symbolsOf(ctx context.Context, tx Tx, w rewards.Switch) (map[rewards.AssetID]string, error) {
	symbols := make(map[rewards.AssetID]string)
	return symbols, tx.Query(ctx, func(row Row) error {
		var id rewards.AssetID
		var symbol string
		err := row.Scan((*int64)(&id), &symbol)
		symbols[id] = symbol
		return err
	}, `SELECT id, symbol FROM assets WHERE id IN (?1, ?2)`, int64(w.AssetID), int64(w.Target))
}
