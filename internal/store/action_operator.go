package store

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// IgnoreAction decides that an action has no effect. It accepts the asset's last price and the
// current difference between the broker's position and ours. Repeating it changes nothing. It
// fails with CodeNotFound, and with CodeConflict when the action was applied or is over. So it does while a decision
// to apply it waits, unless revoke takes that back.
func (o *Operator) IgnoreAction(ctx context.Context, id string, revoke bool) (r Ignored, err error) {
	err = o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		before, err := actionByID(ctx, tx, id)
		if r = (Ignored{Action: before}); err != nil || before.State == rewards.ActionIgnored {
			return nil, err
		}
		if err := before.NotApproved(); err != nil && !revoke {
			return nil, err
		}
		if r.Action, err = before.Ignore(o.by.Reason, o.now()); err != nil {
			return nil, err
		}
		p, _, err := payoutOf(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if !p.SharedAt.IsZero() { // some users may have awards of it
			const message = "cannot ignore the action: its cash is shared"
			return nil, &rewards.Error{Code: rewards.CodeConflict, Message: message}
		}
		if err := decide(ctx, tx, before, r.Action); err != nil {
			return nil, err
		}
		if err := r.acceptUnits(ctx, tx); err != nil {
			return nil, err
		}
		change := rewards.ActionChange{Before: before, After: r.Action}
		return []rewards.Change{decided(before, r.Action)}, o.addActionEvents(ctx, tx, change)
	})
	return r, err
}

func decided(before, after rewards.Action) rewards.Change {
	return rewards.Change{Object: after.Object(), Before: before.Decided(), After: after.Decided()}
}

func decide(ctx context.Context, tx Tx, before, after rewards.Action) error {
	if err := updateAction(ctx, tx, before, after); err != nil {
		return err
	}
	return holdAsset(ctx, tx, after.AssetID)
}

// Ignored is an action that an operator ignored, and what was accepted with it.
type Ignored struct {
	Action  rewards.Action
	Price   money.Price  // the last one; 0: unknown
	Differs money.Shares // the broker's position minus ours
	Hold    rewards.ActionHold
	Doubt   rewards.Doubt
}

// acceptUnits accepts the last price and the broker's position.
func (r *Ignored) acceptUnits(ctx context.Context, tx Tx) error {
	id := int64(r.Action.AssetID)
	for _, statement := range []string{
		`UPDATE prices SET accepted = price WHERE asset_id = ?1 AND price > 0`,
		`UPDATE positions SET accepted = differs WHERE asset_id = ?1`,
	} {
		if _, err := tx.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	_, err := fetchValues(ctx, tx, []any{
		toTime{&r.Hold.From},
		toTime{&r.Doubt.Since},
		(*int64)(&r.Doubt.Price), (*int64)(&r.Price),
		(*int64)(&r.Differs),
	}, `SELECT a.hold_from, a.doubt_since, a.doubt_price, coalesce(p.price, 0), coalesce(q.differs, 0) FROM assets a
		LEFT JOIN prices p ON p.asset_id = a.id LEFT JOIN positions q ON q.asset_id = a.id WHERE a.id = ?1`, id)
	return err
}

// ApproveAction decides that an action is applied without further evidence, as soon as no order of
// its stock is open. Repeating it changes nothing. It fails with CodeNotFound, and with CodeConflict when the action
// was applied, has no rule, or was overtaken. So it does when it was ignored, unless revoke takes that back.
func (o *Operator) ApproveAction(ctx context.Context, id string, revoke bool) (a rewards.Action, err error) {
	err = o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		before, err := actionByID(ctx, tx, id)
		if a = before; err != nil || before.Approved() {
			return nil, err
		}
		if err := before.NotIgnored(); err != nil && !revoke {
			return nil, err
		}
		if a, err = before.Approve(o.by.Reason, o.now()); err != nil {
			return nil, err
		}
		if err := checkTurn(ctx, tx, a); err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, `UPDATE positions SET accepted = 0 WHERE asset_id = ?1`, int64(a.AssetID))
		if err != nil {
			return nil, err
		}
		if err := decide(ctx, tx, before, a); err != nil {
			return nil, err
		}
		change := rewards.ActionChange{Before: before, After: a}
		return []rewards.Change{decided(before, a)}, o.addActionEvents(ctx, tx, change)
	})
	return a, err
}

// checkTurn fails with CodeConflict when a later action was applied already, and the order matters.
func checkTurn(ctx context.Context, tx Tx, a rewards.Action) error {
	list, err := fetchAll(ctx, tx, scanAction, `SELECT `+actionColumns+` FROM actions
		WHERE asset_id = ?1 AND state IN (`+applied+`, `+swept+`) AND ex_date > ?2`, int64(a.AssetID), string(a.ExDate))
	if err != nil {
		return err
	}
	if by, overtaken := a.Overtaken(list); overtaken {
		return conflict("cannot apply the action: " + by.Overtook())
	}
	return nil
}

// EnterAction adds an action that the broker did not announce. It fails with CodeNotFound when the
// catalog lacks the stock, and with CodeConflict when the id is used.
func (o *Operator) EnterAction(ctx context.Context, a rewards.Action) (rewards.Action, error) {
	err := o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		asset, err := assetBySymbol(ctx, tx, a.Symbol)
		if err != nil {
			return nil, err
		}
		a.AssetID = asset.ID
		if _, err := actionByID(ctx, tx, a.ID); err == nil {
			return nil, conflict("an action with the id " + a.ID + " exists")
		} else if rewards.CodeOf(err) != rewards.CodeNotFound {
			return nil, err
		}
		if err := insertAction(ctx, tx, a); err != nil {
			return nil, err
		}
		if err := holdAsset(ctx, tx, a.AssetID); err != nil {
			return nil, err
		}
		change := rewards.Change{Object: a.Object(), After: a.Decided()}
		return []rewards.Change{change}, o.addActionEvents(ctx, tx, rewards.ActionChange{After: a})
	})
	return a, err
}

// UndoAction takes an applied action back: a sweep of the running service then brings the holdings
// up to date, and the stock is held until the broker's position agrees. It fails with CodeNotFound, and with
// CodeConflict when the action is not applied, when another one changed or gave one of its stocks after it, or while an
// order of the stock is open or a sweep goes on.
func (o *Operator) UndoAction(ctx context.Context, id string) (a rewards.Action, err error) {
	change := &holdingChange{cache: o.held}
	err = o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		before, err := actionByID(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if a, err = before.Undo(o.by.Reason); err != nil {
			return nil, err
		}
		w, err := undoOf(ctx, tx, before)
		if err != nil {
			return nil, err
		}
		if err := decide(ctx, tx, before, a); err != nil {
			return nil, err
		}
		err = o.beginSwitch(ctx, tx, a, w)
		if err == rewards.ErrStale { //nolint:errorlint // checkSwitch returns it as it is
			err = conflict("cannot undo the action now: an order of the stock is open, or a sweep goes on")
		}
		if err == nil {
			err = o.followUndo(ctx, tx, a, w)
		}
		if err == nil {
			err = change.beginAll(ctx, tx)
		}
		if err == nil {
			err = o.addActionEvents(ctx, tx, rewards.ActionChange{Before: before, After: a})
		}
		return []rewards.Change{decided(before, a)}, err
	})
	if err == nil {
		change.committed()
	}
	return a, err
}

// followUndo gives the stock of an undone action its symbol back when the broker's identifier is not known, by which
// a sync would correct it. The positions of its stocks are in doubt until those of the broker agree.
func (o *Operator) followUndo(ctx context.Context, tx Tx, a rewards.Action, w rewards.Switch) error {
	asset, err := oneAsset(ctx, tx, `SELECT `+assetColumns+` FROM assets WHERE id = ?1`, int64(a.AssetID))
	if err != nil {
		return err
	}
	if a.Renames() && asset.BrokerID == "" && asset.Symbol == a.NewSymbol {
		asset.Symbol = a.Symbol
		if err := rename(ctx, tx, asset.ID, rewards.Renaming{Symbol: a.Symbol}); err != nil {
			return err
		}
	}
	if err := o.doubt(ctx, tx, a, w, asset); err != nil || w.Target == 0 {
		return err
	}
	target, err := oneAsset(ctx, tx, `SELECT `+assetColumns+` FROM assets WHERE id = ?1`, int64(w.Target))
	if err != nil {
		return err
	}
	return o.doubt(ctx, tx, a, w, target)
}

// doubt adds the held action for a stock of the undo w, unless the stock has such a one that holds it as well.
func (o *Operator) doubt(ctx context.Context, tx Tx, a rewards.Action, w rewards.Switch, stock rewards.Asset) error {
	doubt, needed := rewards.Observation{Now: o.now(), SeenAt: o.now()}.UndoneAction(a, w, stock)
	if !needed {
		return nil
	}
	var one int
	doubted, err := fetchValues(ctx, tx, []any{&one}, `SELECT 1 FROM actions WHERE asset_id = ?1 AND state = ?2
		AND type = ?3 AND hold_from >= ?4 LIMIT 1`, int64(stock.ID), int(rewards.ActionHeld),
		string(rewards.ActionPosition), micros(doubt.HoldFrom))
	if err != nil || doubted {
		return err
	}
	if err := insertAction(ctx, tx, doubt); err != nil {
		return err
	}
	return holdAsset(ctx, tx, stock.ID)
}

// undoOf returns the switch that takes an action back.
func undoOf(ctx context.Context, tx Tx, a rewards.Action) (w rewards.Switch, err error) {
	last, found, err := lastSwitchOf(ctx, tx, a.ID)
	if err != nil || !found {
		return w, err
	}
	by, covered, err := coveredBy(ctx, tx, last)
	if err != nil {
		return w, err
	}
	switch {
	case covered && by.IsUndo():
		return w, conflict("the action " + by.ActionID + " was undone after it: apply that one again first")
	case covered:
		return w, conflict("the action " + by.ActionID + " was applied after it: undo that one first")
	}
	w = last.Undo()
	more, err := recounted(ctx, tx, last, w)
	if err != nil {
		return w, err
	}
	for _, stock := range []struct {
		id            rewards.AssetID
		before, after *money.Shares
		by            money.Shares
	}{
		{w.AssetID, &w.Booked, &w.Position, last.Booked - last.Position + more},
		{w.Target, &w.TargetBooked, &w.TargetPosition, last.TargetBooked - last.TargetPosition},
	} {
		if _, err := fetchValues(ctx, tx, []any{(*int64)(stock.before)},
			`SELECT booked FROM positions WHERE asset_id = ?1`, int64(stock.id)); err != nil {
			return w, err
		}
		*stock.after = max(0, *stock.before+stock.by)
	}
	return w, nil
}
