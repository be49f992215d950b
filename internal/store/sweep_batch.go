package store

import (
	"context"
	"slices"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// sweepBatch are the holdings that one transaction of a sweep changes.
type sweepBatch struct {
	rewards.Switch

	lots    *lotIndex
	holders []holder
	sources map[holder]rewards.Holding
	targets map[holder]rewards.Holding
	done    map[holder]rewards.Done // by the switch that it undoes
	late    map[holder]money.Shares // bought too late for a dividend, less what was taken back since
	goal    int64                   // generation of the target

	kept, given [][]any // rows to write
	effects     []rewards.Effect
	apps        map[rewards.AppID]bool // that get the target
	sums        rewards.SweepSums
}

// read reads what the holders have of the stock and of the target.
func (b *sweepBatch) read(ctx context.Context, tx Tx, holders []holder) (err error) {
	b.holders = holders
	b.sources, b.targets = make(map[holder]rewards.Holding), make(map[holder]rewards.Holding)
	b.apps = make(map[rewards.AppID]bool)
	if len(holders) == 0 {
		return nil
	}
	first, last := holders[0], holders[len(holders)-1]
	err = tx.Query(ctx, func(row Row) error {
		var k holder
		var h rewards.Holding
		if err := row.Scan(toID(&k.app), toID(&k.user), (*int64)(&h.AssetID), (*int64)(&h.Quantity),
			(*int64)(&h.CostBasis), &h.Generation); err != nil {
			return err
		}
		if h.AssetID == b.AssetID {
			b.sources[k] = h
		} else {
			b.targets[k] = h
		}
		return nil
	}, `SELECT app_id, user_id, asset_id, quantity, cost_basis, generation FROM holdings
		WHERE (app_id, user_id) >= (?1, ?2) AND (app_id, user_id) <= (?3, ?4) AND asset_id IN (?5, ?6)`,
		first.app[:], first.user[:], last.app[:], last.user[:], int64(b.AssetID), int64(b.Target))
	if err != nil {
		return err
	}
	if b.Target != 0 {
		if _, err := fetchValues(ctx, tx, []any{&b.goal}, `SELECT generation FROM assets WHERE id = ?1`,
			int64(b.Target)); err != nil {
			return err
		}
	}
	if !b.EntitledAt.IsZero() {
		return b.readLate(ctx, tx, first, last)
	}
	b.done, err = b.lots.undoneOf(ctx, tx, b.Switch, first, last)
	return err
}

// readLate reads, order by order, what the holders bought after the moment that entitles to a dividend,
// and what was taken back since, in the units of now: the stock may have been split since.
func (b *sweepBatch) readLate(ctx context.Context, tx Tx, first, last holder) error {
	b.late = make(map[holder]money.Shares)
	switches, err := switchesSince(ctx, tx, b.AssetID, 0) // its own one changes no units
	if err != nil {
		return err
	}
	add := func(times money.Shares, after func(w rewards.Switch, moment int64) bool) func(Row) error {
		return func(row Row) error {
			var k holder
			var shares money.Shares
			var moment int64
			if err := row.Scan(toID(&k.app), toID(&k.user), (*int64)(&shares), &moment); err != nil {
				return err
			}
			since := slices.IndexFunc(switches, func(w rewards.Switch) bool { return after(w, moment) })
			if since < 0 {
				since = len(switches)
			}
			shares, err := rewards.InUnitsOfNow(shares, switches[since:])
			b.late[k] += times * shares
			return err
		}
	}
	takenBack := add(-1, func(w rewards.Switch, number int64) bool { return w.Number > number })
	err = tx.Query(ctx, takenBack, `SELECT v.app_id, v.user_id, `+taken+`, v.after_switch`+takenSince+`
		AND (v.app_id, v.user_id) >= (?4, ?5) AND (v.app_id, v.user_id) <= (?6, ?7)`,
		micros(b.EntitledAt), int64(b.AssetID), b.Number, first.app[:], first.user[:], last.app[:], last.user[:])
	if err != nil {
		return err
	}
	bought := add(1, func(w rewards.Switch, generation int64) bool { return w.Generation > generation })
	return tx.Query(ctx, bought, `SELECT m.app_id, m.user_id, m.shares, o.generation
		FROM orders o CROSS JOIN member_rewards m
		WHERE o.id >= ?1 AND o.asset_id = ?2 AND o.state = `+settled+` AND `+filledSince(`?8`)+`
		AND `+inOrder(tx, `o.number`)+` AND m.status <> `+failed+`
		AND (m.app_id, m.user_id) >= (?4, ?5) AND (m.app_id, m.user_id) <= (?6, ?7)
		UNION ALL SELECT r.app_id, r.user_id, a.shares, o.generation FROM orders o
		CROSS JOIN past_members m CROSS JOIN past_allocations a CROSS JOIN rewards r
		WHERE o.id >= ?1 AND o.asset_id = ?2 AND o.state = `+settled+` AND `+filledSince(`?8`)+` AND o.number = 0
		AND m.order_id = o.id AND a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = o.id
		AND r.app_id = m.app_id AND r.id = m.reward_id AND r.status <> `+failed+`
		AND (r.app_id, r.user_id) >= (?4, ?5) AND (r.app_id, r.user_id) <= (?6, ?7)`,
		lateSince(b.EntitledAt), int64(b.AssetID), micros(b.EntitledAt), first.app[:], first.user[:], last.app[:],
		last.user[:], plannedSince(b.EntitledAt))
}

// lateWithin is how long before the moment that entitles to a dividend an order may have been planned that is
// filled after it.
const lateWithin = 40 * 24 * time.Hour

// lateSince is the first id of orders that may have been filled after a moment.
func lateSince(moment time.Time) []byte { return plannedSince(moment.Add(-lateWithin)) }

// plannedSince is the first id of orders that were planned after a moment.
func plannedSince(moment time.Time) []byte {
	first := rewards.FirstID[rewards.Order](moment)
	return first[:]
}

// filledSince is the condition that an order o was filled at the moment ?3 or later. One whose broker says no time was
// if it was planned since: its id is at least that of the parameter first.
func filledSince(first string) string {
	return `(o.filled_at >= ?3 OR o.filled_at = 0 AND o.id >= ` + first + `)`
}

const effectColumns = `app_id, user_id, asset_id, before, after, basis_before, basis_after, entitled, cash, reward_id`

func scanEffect(row Row) (e rewards.Effect, err error) {
	var reward []byte
	err = row.Scan(toID(&e.AppID), toID(&e.UserID), (*int64)(&e.AssetID), (*int64)(&e.Before), (*int64)(&e.After),
		(*int64)(&e.BasisBefore), (*int64)(&e.BasisAfter), (*int64)(&e.Entitled), (*int64)(&e.Cash), toBytes{&reward})
	copy(e.RewardID[:], reward)
	return e, err
}

// convert computes what is written.
func (b *sweepBatch) convert() error {
	for _, k := range b.holders {
		source := b.sources[k]
		if source.Generation >= b.Generation {
			continue
		}
		target := b.targets[k]
		kept, given, err := b.Apply(source, target, b.done[k])
		if err != nil {
			return err
		}
		if err := b.add(k, source, kept, target, given); err != nil {
			return err
		}
	}
	return nil
}

func (b *sweepBatch) add(k holder, source, kept, target, given rewards.Holding) (err error) {
	b.kept = append(b.kept, []any{
		k.app[:], k.user[:], int64(b.AssetID), int64(kept.Quantity), int64(kept.CostBasis), b.Generation,
	})
	e := newEffect(k, source, kept)
	e.Entitled = max(0, source.Quantity-b.late[k]) // also when a reversal has taken all since
	if !source.IsEmpty() || !kept.IsEmpty() || e.Entitled != 0 {
		b.effects = append(b.effects, e)
	}
	if given.Quantity != target.Quantity || given.CostBasis != target.CostBasis {
		b.given = append(b.given, []any{
			k.app[:], k.user[:], int64(b.Target), int64(given.Quantity), int64(given.CostBasis), b.goal,
		})
		given.AssetID = b.Target
		b.effects = append(b.effects, newEffect(k, target, given))
		b.apps[k.app] = true
	}
	for _, sum := range []struct {
		of *money.Shares
		by money.Shares
	}{
		{&b.sums.Before, source.Quantity},
		{&b.sums.After, kept.Quantity},
		{&b.sums.Given, given.Quantity - target.Quantity},
	} {
		if *sum.of, err = money.AddShares(*sum.of, sum.by); err != nil {
			return err
		}
	}
	return nil
}

func newEffect(k holder, before, after rewards.Holding) rewards.Effect {
	return rewards.Effect{
		AppID: k.app, UserID: k.user, AssetID: after.AssetID, Before: before.Quantity, After: after.Quantity,
		BasisBefore: before.CostBasis, BasisAfter: after.CostBasis,
	}
}

// write writes the holdings and their effects.
func (b *sweepBatch) write(ctx context.Context, tx Tx) error {
	_, err := execRows(ctx, tx, `UPDATE holdings SET quantity = ?4, cost_basis = ?5, generation = ?6
		WHERE app_id = ?1 AND user_id = ?2 AND asset_id = ?3`,
		`UPDATE holdings h SET quantity = b.quantity, cost_basis = b.cost_basis, generation = b.generation
		FROM unnest(?1::bytea[], ?2::bytea[], ?3::bigint[], ?4::bigint[], ?5::bigint[], ?6::bigint[])
			AS b (app_id, user_id, asset_id, quantity, cost_basis, generation)
		WHERE h.app_id = b.app_id AND h.user_id = b.user_id AND h.asset_id = b.asset_id`, b.kept)
	if err != nil {
		return err
	}
	const replace = ` ON CONFLICT (app_id, user_id, asset_id) DO UPDATE SET quantity = excluded.quantity,
		cost_basis = excluded.cost_basis, generation = excluded.generation`
	_, err = execRows(ctx, tx, `INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis, generation)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6)`+replace,
		`INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis, generation)
		SELECT * FROM unnest(?1::bytea[], ?2::bytea[], ?3::bigint[], ?4::bigint[], ?5::bigint[], ?6::bigint[])`+replace,
		b.given)
	if err != nil {
		return err
	}
	effects := make([][]any, len(b.effects))
	for i, e := range b.effects {
		effects[i] = []any{
			b.Number, e.AppID[:], e.UserID[:], int64(e.AssetID), int64(e.Before), int64(e.After),
			int64(e.BasisBefore), int64(e.BasisAfter), int64(e.Entitled),
		}
	}
	const insert = `INSERT INTO effects (switch, app_id, user_id, asset_id, before, after, basis_before, basis_after,
		entitled) `
	_, err = execRows(ctx, tx, insert+`VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
		insert+`SELECT * FROM unnest(?1::bigint[], ?2::bytea[], ?3::bytea[], ?4::bigint[], ?5::bigint[], ?6::bigint[],
		?7::bigint[], ?8::bigint[], ?9::bigint[])`, effects)
	if err != nil {
		return err
	}
	for app := range b.apps {
		if err := addAppAsset(ctx, tx, app, b.Target); err != nil {
			return err
		}
	}
	return nil
}

// addAppAsset notes that users of an app hold a stock.
func addAppAsset(ctx context.Context, tx Tx, app rewards.AppID, asset rewards.AssetID) error {
	_, err := tx.Exec(ctx, `INSERT INTO app_assets (app_id, asset_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING`,
		app[:], int64(asset))
	return err
}
