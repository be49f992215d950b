package store

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Owed is a user's part of a payment that did not become an award.
type Owed struct {
	ActionID string
	rewards.Effect

	Why string
}

// OwedCash lists the parts of payments that clients must pay, of one action or of all (""): a
// merger's cash that is not reinvested, a dividend of an app that reinvests which is more than an award may have, and
// cash whose award failed.
func (s *Store) OwedCash(ctx context.Context, action string) ([]Owed, error) {
	return readAll(ctx, s, func(row Row) (o Owed, err error) {
		var kind, failure string
		var policy int
		var reward []byte
		err = row.Scan(&o.ActionID, &kind, toID(&o.AppID), toID(&o.UserID), (*int64)(&o.Cash), toBytes{&reward},
			&policy, &failure)
		copy(o.RewardID[:], reward)
		switch o.Why = "it is not reinvested"; {
		case failure != "":
			o.Why = "the award " + o.RewardID.String() + " failed: " + failure
		case !o.Awardable():
			o.Why = "it is more than an award may have"
		}
		return o, err
	}, `SELECT * FROM (SELECT a.id, a.type, e.app_id, e.user_id, e.cash, e.reward_id, p.dividends,
			coalesce((SELECT r.failure_reason FROM rewards r
				WHERE r.app_id = e.app_id AND r.id = e.reward_id), '') AS failure
		FROM payouts o JOIN actions a ON a.id = o.action_id JOIN effects e ON e.switch = o.switch AND e.cash > 0
		JOIN apps p ON p.id = e.app_id
		WHERE o.paid_at > 0 AND (?1 = '' OR o.action_id = ?1)) AS paid
		WHERE failure <> '' OR octet_length(reward_id) = 0 AND (type <> '`+string(rewards.ActionCashDividend)+`'
			OR dividends = ?2 AND cash > ?3)
		ORDER BY 1, 3, 4`, action, int(rewards.DividendsReinvest), int64(rewards.MaxAmountDollars*money.Dollar))
}
