package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// Owed is a user's part of a payment that did not become an award.
type Owed struct {
	ActionID string
	rewards.Effect

	Why string
}

// OwedCash lists the parts of payments that clients must pay, of one action or of all (""): a
// merger's cash that is not reinvested, a dividend of an app that reinvested which is more than an award may have, and
// cash whose award failed.
func (s *Store) OwedCash(ctx context.Context, action string) (list []Owed, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		policies, err := dividendPolicies(ctx, tx, time.Time{})
		if err != nil {
			return err
		}
		return fetchEach(ctx, tx, scanPaid, func(p paid) error {
			r := rewards.Receipt{Payout: p.payout, Type: p.kind, Policies: policies}
			if !r.Kept(p.Effect) {
				list = append(list, p.Owed)
			}
			return nil
		}, `SELECT * FROM (SELECT a.id, a.type, o.at, o.paid_at, e.app_id, e.user_id, e.cash, e.reward_id,
				coalesce((SELECT r.failure_reason FROM rewards r
					WHERE r.app_id = e.app_id AND r.id = e.reward_id), '') AS failure
			FROM payouts o JOIN actions a ON a.id = o.action_id JOIN effects e ON e.switch = o.switch AND e.cash > 0
			WHERE o.paid_at > 0 AND (?1 = '' OR o.action_id = ?1)) AS paid
			WHERE failure <> '' OR octet_length(reward_id) = 0
			ORDER BY 1, 5, 6`, action)
	})
	return list, err
}

// paid is a user's part of a payment that is paid out.
type paid struct {
	Owed

	kind   rewards.ActionType
	payout rewards.Payout // its times
}

func scanPaid(row Row) (p paid, err error) {
	var failure string
	var reward []byte
	err = row.Scan(&p.ActionID, (*string)(&p.kind), toTime{&p.payout.At}, toTime{&p.payout.PaidAt}, toID(&p.AppID),
		toID(&p.UserID), (*int64)(&p.Cash), toBytes{&reward}, &failure)
	copy(p.RewardID[:], reward)
	switch p.Why = "it is not reinvested"; {
	case failure != "":
		p.Why = "the award " + p.RewardID.String() + " failed: " + failure
	case !p.Awardable():
		p.Why = "it is more than an award may have"
	}
	return p, err
}
