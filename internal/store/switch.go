package store

import (
	"cmp"
	"context"
	"math"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const switchColumns = `number, action_id, asset_id, generation, undoes, keep_old, keep_new, target_id, give_old,
	give_new, basis_part, basis_ends, at, swept_at, booked, position, target_booked, target_position,
	users_before, users_after, users_given, entitled_at`

func scanSwitch(row Row) (w rewards.Switch, err error) {
	var part string
	err = row.Scan(&w.Number, &w.ActionID, (*int64)(&w.AssetID), &w.Generation, &w.Undoes, &w.Keep.Old, &w.Keep.New,
		(*int64)(&w.Target), &w.Give.Old, &w.Give.New, &part, toFlag{&w.Ends}, toTime{&w.At}, toTime{&w.SweptAt},
		(*int64)(&w.Booked), (*int64)(&w.Position), (*int64)(&w.TargetBooked), (*int64)(&w.TargetPosition),
		(*int64)(&w.Swept.Before), (*int64)(&w.Swept.After), (*int64)(&w.Swept.Given),
		toTime{&w.EntitledAt})
	if err == nil {
		w.Part, err = rewards.ParseFraction(part)
	}
	return w, err
}

// OpenSwitch returns the switch whose sweep goes on, if there is one.
func (s *Store) OpenSwitch(ctx context.Context) (w rewards.Switch, found bool, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		w, found, err = openSwitch(ctx, tx)
		return err
	})
	return w, found, err
}

func openSwitch(ctx context.Context, tx Tx) (rewards.Switch, bool, error) {
	return fetchOne(ctx, tx, scanSwitch, `SELECT `+switchColumns+` FROM switches WHERE swept_at = 0`)
}

// switchesOf lists the switches of an action, oldest first.
func switchesOf(ctx context.Context, tx Tx, action string) ([]rewards.Switch, error) {
	return fetchAll(ctx, tx, scanSwitch, `SELECT `+switchColumns+` FROM switches WHERE action_id = ?1 ORDER BY number`,
		action)
}

// lastSwitchOf returns the newest switch of an action.
func lastSwitchOf(ctx context.Context, tx Tx, action string) (rewards.Switch, bool, error) {
	return fetchOne(ctx, tx, scanSwitch, `SELECT `+switchColumns+` FROM switches WHERE action_id = ?1
		ORDER BY number DESC LIMIT 1`, action)
}

// switchOf reads a switch by its number.
func switchOf(ctx context.Context, tx Tx, number int64) (rewards.Switch, error) {
	w, _, err := fetchOne(ctx, tx, scanSwitch, `SELECT `+switchColumns+` FROM switches WHERE number = ?1`, number)
	return w, err
}

// coveredBy returns the last later switch of the stocks of w that is in effect: see rewards.Switch.Covered.
func coveredBy(ctx context.Context, tx Tx, w rewards.Switch) (by rewards.Switch, covered bool, err error) {
	later, err := fetchAll(ctx, tx, scanSwitch, `SELECT `+switchColumns+` FROM switches
		WHERE number > ?1 AND (asset_id IN (?2, ?3) OR target_id <> 0 AND target_id IN (?2, ?3)) ORDER BY number`,
		w.Number, int64(w.AssetID), int64(w.Target))
	if err != nil {
		return by, false, err
	}
	by, covered = w.Covered(later)
	return by, covered, nil
}

// LastUndo returns the undo of an action if it can be taken back: the action was undone last, and no other one of its
// stocks was applied since. Otherwise it returns the zero value, and the other action if that was undone too.
func (s *Store) LastUndo(
	ctx context.Context, action string,
) (undo rewards.Switch, after rewards.Action, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		last, found, err := lastSwitchOf(ctx, tx, action)
		if err != nil || !found || !last.IsUndo() {
			return err
		}
		by, covered, err := coveredBy(ctx, tx, last)
		switch {
		case err != nil:
		case !covered:
			var reverted rewards.Switch
			reverted, err = switchOf(ctx, tx, last.Undoes)
			if err == nil {
				undo, undo.Reverted = last, reverted.Conversion
				undo.Recounted, err = recounted(ctx, tx, last, last.Redo(reverted.Conversion))
			}
		case by.IsUndo():
			after, err = actionByID(ctx, tx, by.ActionID)
		}
		return err
	})
	return undo, after, err
}

// Switches lists the switches of an action, oldest first: of its applying and of its undo.
func (s *Store) Switches(ctx context.Context, action string) (list []rewards.Switch, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		list, err = switchesOf(ctx, tx, action)
		return err
	})
	return list, err
}

// Entitled reports whether it is recorded who is entitled to the cash of an action at its boundary, or its cash is
// being shared.
func (s *Store) Entitled(ctx context.Context, a rewards.Action) (entitled bool, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		last, found, err := lastSwitchOf(ctx, tx, a.ID)
		if entitled = found && a.EntitledBy(last); err != nil || !found || entitled {
			return err
		}
		_, entitled, err = payoutOf(ctx, tx, a.ID)
		return err
	})
	return entitled, err
}

// ChangedSince reports whether an order of an asset that is booked was filled at the broker's time
// from or later, or shares of it were taken back since.
func (s *Store) ChangedSince(ctx context.Context, asset rewards.AssetID, from time.Time) (bool, error) {
	var one int
	return read(ctx, s, func(ctx context.Context, tx Tx) (bool, error) {
		changed, err := fetchValues(ctx, tx, []any{&one}, `SELECT 1`+takenSince+` AND `+taken+` > 0 LIMIT 1`,
			micros(from), int64(asset), int64(math.MaxInt64))
		if err != nil || changed {
			return changed, err
		}
		return fetchValues(ctx, tx, []any{&one}, `SELECT 1 FROM orders o WHERE o.id >= ?1 AND o.asset_id = ?2
			AND o.state = `+settled+` AND `+filledSince(`?4`)+` LIMIT 1`,
			lateSince(from), int64(asset), micros(from), plannedSince(from))
	})
}

// takenSince are the reversals v since a moment (?1), before a switch (?3); taken is what one took of
// an asset (?2).
const (
	takenSince = ` FROM reversals v WHERE v.completed_at >= ?1 AND v.completed_at > 0 AND v.after_switch < ?3`
	taken      = `coalesce((SELECT t.quantity FROM takings t WHERE t.app_id = v.app_id AND t.reversal_id = v.id
		AND t.asset_id = ?2), 0)`
)

// sweeping reports whether a sweep changes holdings of the asset.
func sweeping(ctx context.Context, tx Tx, asset rewards.AssetID) (bool, error) {
	w, found, err := openSwitch(ctx, tx)
	return found && (w.AssetID == asset || w.Target == asset), err
}

// ApplyAction applies an action to all holdings in one transaction: from then on every reader sees
// the new units. Sweep then brings the stored holdings up to date. It fails with ErrStale when the
// action, its stocks' booked shares or their orders changed in the meantime, or while another
// sweep goes on, and with ErrLostLease.
func (s *Store) ApplyAction(
	ctx context.Context, l rewards.Lease, c rewards.ActionChange, w rewards.Switch, r rewards.Renaming,
) error {
	change := &holdingChange{cache: s.held}
	err := s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		if err := updateAction(ctx, tx, c.Before, c.After); err != nil {
			return err
		}
		if err := s.beginSwitch(ctx, tx, c.After, w); err != nil {
			return err
		}
		if err := rename(ctx, tx, w.AssetID, r); err != nil {
			return err
		}
		if err := change.beginAll(ctx, tx); err != nil {
			return err
		}
		if err := holdAsset(ctx, tx, w.AssetID); err != nil {
			return err
		}
		return s.addActionEvents(ctx, tx, c)
	})
	if err == nil {
		s.catalogs.Add(1)
		change.committed()
	}
	return err
}

// beginSwitch stores a switch and changes the units of its asset.
func (s *Store) beginSwitch(ctx context.Context, tx Tx, a rewards.Action, w rewards.Switch) error {
	if err := checkSwitch(ctx, tx, w, a.Type != rewards.ActionCashDividend); err != nil {
		return err
	}
	var last int64
	if _, err := fetchValues(ctx, tx, []any{&last}, `SELECT coalesce(max(number), 0) FROM switches`); err != nil {
		return err
	}
	asset, err := oneAsset(ctx, tx, `SELECT `+assetColumns+` FROM assets WHERE id = ?1`, int64(w.AssetID))
	if err != nil {
		return err
	}
	w.Number, w.Generation, w.At = last+1, asset.Generation+1, s.now()
	if err := insertSwitch(ctx, tx, w); err != nil {
		return err
	}
	if err := changeUnits(ctx, tx, asset, w, a); err != nil {
		return err
	}
	if err := movePosition(ctx, tx, w.AssetID, w.Position-w.Booked, w.Ahead); err != nil {
		return err
	}
	return movePosition(ctx, tx, w.Target, w.TargetPosition-w.TargetBooked, w.TargetAhead)
}

// checkSwitch fails with ErrStale when a switch was derived from what is no longer so. settled
// reports whether no order of its stocks may have bought something: see Order.MayHaveBought.
func checkSwitch(ctx context.Context, tx Tx, w rewards.Switch, settled bool) error {
	if _, open, err := openSwitch(ctx, tx); err != nil || open {
		return staleIf(open, err)
	}
	for _, stock := range []struct {
		id     rewards.AssetID
		booked money.Shares
	}{{w.AssetID, w.Booked}, {w.Target, w.TargetBooked}} {
		var booked int64
		if _, err := fetchValues(ctx, tx, []any{&booked}, `SELECT booked FROM positions WHERE asset_id = ?1`,
			int64(stock.id)); err != nil || money.Shares(booked) != stock.booked {
			return staleIf(true, err)
		}
		var one int
		live, err := fetchValues(ctx, tx, []any{&one}, `SELECT 1 FROM orders WHERE `+liveState+`
			AND NOT `+unboughtState+` AND asset_id = ?1 LIMIT 1`, int64(stock.id))
		if err != nil || live && settled {
			return staleIf(true, err)
		}
	}
	return nil
}

func staleIf(stale bool, err error) error {
	if err == nil && stale {
		err = rewards.ErrStale
	}
	return err
}

func insertSwitch(ctx context.Context, tx Tx, w rewards.Switch) error {
	_, err := tx.Exec(ctx, `INSERT INTO switches (number, action_id, asset_id, generation, undoes, keep_old, keep_new,
		target_id, give_old, give_new, basis_part, basis_ends, at, booked, position, target_booked, target_position,
		entitled_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)`,
		w.Number, w.ActionID, int64(w.AssetID), w.Generation, w.Undoes, w.Keep.Old, w.Keep.New, int64(w.Target),
		w.Give.Old, w.Give.New, w.Part.String(), flag(w.Ends), micros(w.At), int64(w.Booked), int64(w.Position),
		int64(w.TargetBooked), int64(w.TargetPosition), micros(w.EntitledAt))
	return err
}

// changeUnits raises an asset's generation and converts its stored prices.
func changeUnits(ctx context.Context, tx Tx, asset rewards.Asset, w rewards.Switch, a rewards.Action) error {
	units, ratio := a.UnitsAfter(w, asset.Units)
	explained := w.Explained > 0 && rewards.Plausible(asset.Doubt.Price, w.Explained)
	if ratio.New > 0 && ratio.New != ratio.Old || explained { // the next price is judged in the new units
		asset.Doubt = rewards.Doubt{}
	}
	_, err := tx.Exec(ctx, `UPDATE assets SET generation = ?2, basis_from = ?3, basis_old = ?4, basis_new = ?5,
		doubt_since = ?6, doubt_price = ?7, gone = ?8 WHERE id = ?1`, int64(asset.ID), w.Generation,
		micros(units.From), units.Ratio.Old, units.Ratio.New, micros(asset.Doubt.Since), int64(asset.Doubt.Price),
		flag(a.EndsStock(w, asset.Gone)))
	if err != nil {
		return err
	}
	var price, accepted money.Price
	known, err := fetchValues(ctx, tx, []any{(*int64)(&price), (*int64)(&accepted)},
		`SELECT price, accepted FROM prices WHERE asset_id = ?1`, int64(asset.ID))
	if err != nil || !known {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE prices SET price = ?2, accepted = ?3, generation = ?4 WHERE asset_id = ?1`,
		int64(asset.ID), int64(ratio.PriceOrNone(price)), int64(cmp.Or(w.Explained, ratio.PriceOrNone(accepted))),
		w.Generation)
	return err
}

// movePosition changes the booked shares of a stock by what the broker gave or took. ahead is what
// the broker has beyond them for a while; it is accepted.
func movePosition(ctx context.Context, tx Tx, asset rewards.AssetID, by, ahead money.Shares) error {
	if asset == 0 || by == 0 && ahead == 0 {
		return nil
	}
	n, err := tx.Exec(ctx, `UPDATE positions SET booked = booked + ?2, differs = ?3, accepted = ?3 WHERE asset_id = ?1`,
		int64(asset), int64(by), int64(ahead))
	if err != nil || n > 0 {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO positions (asset_id, booked, differs, accepted) VALUES (?1, ?2, ?3, ?3)`,
		int64(asset), int64(by), int64(ahead))
	return err
}

// rename gives an asset another symbol, and maybe another identifier at the broker. A stock that has
// them and was never given makes room; another one makes it fail with CodeConflict.
func rename(ctx context.Context, tx Tx, id rewards.AssetID, r rewards.Renaming) error {
	if r.Symbol == "" {
		return nil
	}
	others, err := fetchAll(ctx, tx, scanAsset, `SELECT `+assetColumns+` FROM assets
		WHERE (symbol = ?1 OR broker_id = ?3 AND broker_id <> '') AND id <> ?2`, r.Symbol, int64(id), r.BrokerID)
	if err != nil {
		return err
	}
	for _, other := range others {
		if r.BrokerID == "" {
			r.BrokerID = other.BrokerID
		}
		if err := displace(ctx, tx, other, id); err != nil {
			return err
		}
	}
	if err := carryConflicts(ctx, tx, id, r.Symbol); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE assets SET symbol = ?2,
		former_broker_id = CASE WHEN ?3 = '' OR ?3 = broker_id THEN former_broker_id ELSE broker_id END,
		broker_id = CASE WHEN ?3 = '' THEN broker_id ELSE ?3 END WHERE id = ?1`, int64(id), r.Symbol, r.BrokerID)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE orders SET symbol = ?2 WHERE `+liveState+` AND `+unboughtState+`
			AND asset_id = ?1`, int64(id), r.Symbol)
	}
	return err
}

// carryConflicts gives the broker's orders that contradict the store the symbol that their stock gets. Their stock is
// known by it, also when another one has the old symbol.
func carryConflicts(ctx context.Context, tx Tx, id rewards.AssetID, symbol string) error {
	_, err := tx.Exec(ctx, `UPDATE broker_conflicts SET symbol = ?2
		WHERE symbol = (SELECT a.symbol FROM assets a WHERE a.id = ?1)`, int64(id), symbol)
	return err
}

// displace takes the symbol and the identifier from an asset that was never given. It keeps the row,
// because an award may just be recorded. Its actions become those of the asset by.
func displace(ctx context.Context, tx Tx, a rewards.Asset, by rewards.AssetID) error {
	var used int
	_, err := fetchValues(ctx, tx, []any{&used}, `SELECT used FROM assets WHERE id = ?1`, int64(a.ID))
	if err != nil {
		return err
	}
	if used != 0 {
		return conflict("the catalog has another stock with that symbol or identifier, and it was given: " + a.Symbol)
	}
	all, err := queryAssets(ctx, tx)
	if err != nil {
		return err
	}
	taken := make(map[string]bool, len(all))
	for _, known := range all {
		taken[known.Symbol] = true
	}
	_, err = tx.Exec(ctx, `UPDATE assets SET symbol = ?2, broker_id = '', gone = 1 WHERE id = ?1`, int64(a.ID),
		rewards.OldSymbol(a.Symbol, taken))
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE actions SET asset_id = ?2 WHERE asset_id = ?1`, int64(a.ID), int64(by))
	}
	if err != nil {
		return err
	}
	return holdAsset(ctx, tx, a.ID)
}

// EnsureAsset returns the asset with a symbol. It adds one that cannot be given if it is missing:
// a stock that holders receive by an action. It fails with rewards.ErrTerms when the broker's
// identifier is another stock's, and with ErrLostLease.
func (s *Store) EnsureAsset(
	ctx context.Context, l rewards.Lease, symbol, brokerID string,
) (a rewards.Asset, err error) {
	err = s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		var other int64
		known, err := fetchValues(ctx, tx, []any{&other},
			`SELECT id FROM assets WHERE broker_id = ?1 AND broker_id <> '' AND symbol <> ?2`, brokerID, symbol)
		if err != nil {
			return err
		}
		if known {
			return rewards.ErrOtherStock(symbol)
		}
		_, err = tx.Exec(ctx, `INSERT INTO assets (broker_id, symbol, name, enabled, used) VALUES (?1, ?2, ?2, 0, 1)
			ON CONFLICT (symbol) DO UPDATE SET used = 1`, brokerID, symbol)
		if err != nil {
			return err
		}
		a, err = assetBySymbol(ctx, tx, symbol)
		return err
	})
	return a, err
}
