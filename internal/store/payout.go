package store

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const payoutColumns = `action_id, switch, activity_id, net, counted, shared, at, shared_at, paid_at`

func scanPayout(row Row) (p rewards.Payout, err error) {
	err = row.Scan(&p.ActionID, &p.Switch, &p.ActivityID, (*int64)(&p.Net), (*int64)(&p.Counted), (*int64)(&p.Shared),
		toTime{&p.At}, toTime{&p.SharedAt}, toTime{&p.PaidAt})
	return p, err
}

// UnpaidActions lists the actions whose cash the broker has not paid, or that is not paid out.
func (s *Store) UnpaidActions(ctx context.Context) ([]rewards.Action, error) {
	return readAll(ctx, s, scanAction, `SELECT `+actionColumns+` FROM actions
		WHERE state = `+swept+` AND (EXISTS (SELECT 1 FROM payouts p WHERE p.action_id = actions.id AND p.paid_at = 0)
			OR type IN ('`+string(rewards.ActionCashMerger)+`', '`+string(rewards.ActionMixedMerger)+`')
			AND NOT EXISTS (SELECT 1 FROM payouts p WHERE p.action_id = actions.id))
		OR state = `+announced+` AND type = '`+string(rewards.ActionCashDividend)+`'
			AND EXISTS (SELECT 1 FROM switches w WHERE w.action_id = actions.id)
		OR state = `+held+` AND type = '`+string(rewards.ActionCashDividend)+`'
			AND EXISTS (SELECT 1 FROM payouts p WHERE p.action_id = actions.id AND p.shared_at > 0)
		ORDER BY ex_date, id`)
}

// Payout returns the payout of an action, if the broker has paid.
func (s *Store) Payout(ctx context.Context, action string) (p rewards.Payout, found bool, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		p, found, err = payoutOf(ctx, tx, action)
		return err
	})
	return p, found, err
}

func payoutOf(ctx context.Context, tx Tx, action string) (rewards.Payout, bool, error) {
	return fetchOne(ctx, tx, scanPayout, `SELECT `+payoutColumns+` FROM payouts WHERE action_id = ?1`, action)
}

// Entitlement returns who gets the cash of an action; the zero value if that is not recorded.
func (s *Store) Entitlement(ctx context.Context, a rewards.Action) (e rewards.Entitlement, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		last, found, err := lastSwitchOf(ctx, tx, a.ID)
		if e = (rewards.Entitlement{Number: last.Number}); err != nil || !found {
			return err
		}
		if _, err = fetchValues(ctx, tx, []any{(*int64)(&e.Shares)}, `SELECT CAST(coalesce(sum(entitled), 0) AS bigint)
			FROM effects WHERE switch = ?1 AND asset_id = ?2`, e.Number, int64(a.AssetID)); err != nil {
			return err
		}
		e.Switches, err = fetchAll(ctx, tx, func(row Row) (w rewards.DatedSwitch, err error) {
			w.Switch, err = scanSwitch(suffixed{row, []any{(*string)(&w.ExDate)}})
			return w, err
		}, `SELECT `+switchColumns+`, (SELECT a.ex_date FROM actions a WHERE a.id = switches.action_id)
			FROM switches WHERE asset_id = ?1 ORDER BY number`, int64(a.AssetID))
		return err
	})
	return e, err
}

// BeginPayout books the broker's payment for an action. A payment that was booked before, for this or another action,
// changes nothing. Without a counted quantity all booked shares count. It fails with ErrStale while it is not
// recorded who is entitled at the action's boundary, when nobody is, or when an operator has ignored the action, and
// with ErrLostLease.
func (s *Store) BeginPayout(ctx context.Context, l rewards.Lease, action string, p rewards.Payment) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		list, err := switchesOf(ctx, tx, action)
		if err != nil || len(list) == 0 {
			return staleIf(true, err)
		}
		if err := notIgnored(ctx, tx, action); err != nil {
			return err
		}
		w := list[len(list)-1]
		if w.SweptAt.IsZero() {
			return rewards.ErrStale
		}
		a, err := actionByID(ctx, tx, action)
		if moved := a.Type == rewards.ActionCashDividend && !a.EntitledBy(w); err != nil || moved {
			return staleIf(moved, err)
		}
		if p.Counted == 0 {
			p.Counted = w.Booked
		}
		if p.Counted <= 0 {
			return rewards.ErrStale
		}
		_, err = tx.Exec(ctx, `INSERT INTO payouts (action_id, switch, activity_id, net, counted, at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING`, action, w.Number, p.ActivityID, int64(p.Net),
			int64(p.Counted), micros(s.now()))
		return err
	})
}

// notIgnored fails with ErrStale when an operator has ignored the action.
func notIgnored(ctx context.Context, tx Tx, action string) error {
	a, err := actionByID(ctx, tx, action)
	return staleIf(a.State == rewards.ActionIgnored, err)
}

// payoutPart is how many users a transaction shares cash among.
const payoutPart = 1_000

// SharePayout computes the next users' parts of a payment, some thousand in one transaction, and
// reports whether all are computed. It fails with ErrStale without a payment, or when an operator has
// ignored the action, and with ErrLostLease.
func (s *Store) SharePayout(ctx context.Context, l rewards.Lease, action string) (done bool, err error) {
	err = s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		p, part, err := payoutEffects(ctx, tx, action)
		if done = err == nil && !p.SharedAt.IsZero(); err != nil || done {
			return err
		}
		if err := notIgnored(ctx, tx, action); err != nil {
			return err
		}
		var rows [][]any
		var sum money.USD
		for _, e := range part {
			cash, err := p.Share(e.Entitled)
			if err != nil {
				return err
			}
			cash = min(cash, p.Net-p.Shared-sum) // the broker counted fewer shares than the users have
			rows = append(rows, []any{p.Switch, e.AppID[:], e.UserID[:], int64(e.AssetID), int64(cash)})
			sum += cash
		}
		_, err = execRows(ctx, tx, `UPDATE effects SET cash = ?5
			WHERE switch = ?1 AND app_id = ?2 AND user_id = ?3 AND asset_id = ?4`,
			`UPDATE effects e SET cash = b.cash FROM unnest(?1::bigint[], ?2::bytea[], ?3::bytea[], ?4::bigint[],
			?5::bigint[]) AS b (switch, app_id, user_id, asset_id, cash) WHERE e.switch = b.switch
			AND e.app_id = b.app_id AND e.user_id = b.user_id AND e.asset_id = b.asset_id`, rows)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE payouts SET shared = shared + ?2 WHERE action_id = ?1`, action,
			int64(sum)); err != nil {
			return err
		}
		if done = len(part) < payoutPart; !done {
			return moveCursor(ctx, tx, action, part)
		}
		_, err = tx.Exec(ctx, `UPDATE payouts SET shared_at = ?2, paid_app = ?3, paid_user = ?3 WHERE action_id = ?1`,
			action, micros(s.now()), []byte{})
		return err
	})
	return done, err
}

// payoutEffects reads the next effects of a payout, in the order of app and user.
func payoutEffects(ctx context.Context, tx Tx, action string) (p rewards.Payout, part []rewards.Effect, err error) {
	var app, user []byte
	found, err := fetchValues(ctx, tx, []any{toBytes{&app}, toBytes{&user}},
		`SELECT paid_app, paid_user FROM payouts WHERE action_id = ?1`, action)
	if err != nil || !found {
		return p, nil, staleIf(true, err)
	}
	if p, _, err = payoutOf(ctx, tx, action); err != nil {
		return p, nil, err
	}
	var from holder
	copy(from.app[:], app)
	copy(from.user[:], user)
	part, err = fetchAll(ctx, tx, scanEffect, `SELECT `+effectColumns+` FROM effects
		WHERE switch = ?1 AND (app_id, user_id) > (?2, ?3)
		AND asset_id = (SELECT w.asset_id FROM switches w WHERE w.number = ?1)
		ORDER BY app_id, user_id LIMIT ?4 + 0`, p.Switch, from.app[:], from.user[:], payoutPart)
	return p, part, err
}

func moveCursor(ctx context.Context, tx Tx, action string, part []rewards.Effect) error {
	last := part[len(part)-1]
	_, err := tx.Exec(ctx, `UPDATE payouts SET paid_app = ?2, paid_user = ?3 WHERE action_id = ?1`,
		action, last.AppID[:], last.UserID[:])
	return err
}

// NextPayees lists the next users who get cash of an action, with their apps' policies when it was booked. The list is
// empty when all were paid out. It fails with ErrStale while the payment is not shared.
func (s *Store) NextPayees(ctx context.Context, action string) (part []rewards.Effect,
	policies map[rewards.AppID]rewards.DividendPolicy, err error,
) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		var p rewards.Payout
		if p, part, err = payoutEffects(ctx, tx, action); err != nil || p.SharedAt.IsZero() {
			return staleIf(true, err)
		}
		all, err := dividendPolicies(ctx, tx, p.At)
		policies = make(map[rewards.AppID]rewards.DividendPolicy)
		for _, e := range part {
			policies[e.AppID] = all.For(e.AppID, p.At)
		}
		return err
	})
	return part, policies, err
}

// SavePaid notes the awards that users' cash became, for a part that NextPayees returned. An empty
// part ends the payout; a dividend is applied then. It fails with ErrStale while the payment is not
// shared, and with ErrLostLease.
func (s *Store) SavePaid(ctx context.Context, l rewards.Lease, action string, part []rewards.Effect) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		p, found, err := payoutOf(ctx, tx, action)
		if err != nil || !found || p.SharedAt.IsZero() {
			return staleIf(true, err)
		}
		if len(part) == 0 {
			return s.endPayout(ctx, tx, action)
		}
		for _, e := range part {
			if e.RewardID.IsZero() {
				continue
			}
			if _, err := tx.Exec(ctx, `UPDATE effects SET reward_id = ?5 WHERE switch = ?1 AND app_id = ?2
				AND user_id = ?3 AND asset_id = ?4`, p.Switch, e.AppID[:], e.UserID[:], int64(e.AssetID),
				e.RewardID[:]); err != nil {
				return err
			}
		}
		return moveCursor(ctx, tx, action, part)
	})
}

// endPayout ends a payout. A dividend is applied when its awards exist, so that a client that sees it
// applied can read them.
func (s *Store) endPayout(ctx context.Context, tx Tx, action string) error {
	now := micros(s.now())
	if _, err := tx.Exec(ctx, `UPDATE payouts SET paid_at = ?2 WHERE action_id = ?1`, action, now); err != nil {
		return err
	}
	before, err := actionByID(ctx, tx, action)
	if err != nil || before.Type != rewards.ActionCashDividend || before.State == rewards.ActionSwept {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE actions SET state = `+swept+`, applied_at = ?2 WHERE id = ?1`, action,
		now); err != nil {
		return err
	}
	after := before
	after.State = rewards.ActionSwept
	return s.addActionEvents(ctx, tx, rewards.ActionChange{Before: before, After: after})
}
