package audit

import (
	"errors"
	"strings"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// payout is a row of payouts: cash that the broker paid for an action.
type payout struct {
	action, activity     string
	number               int64 // of the switch
	net, counted, shared int64
	at, sharedAt, paidAt int64
	known                int64  // 1 when the activity is stored
	paidApp, paidUser    string // how far it is paid out, or shared before
}

func (p *payout) name() string { return "payout of the action " + p.action }

func (p *payout) describe() string {
	return value.USD(p.net) + " for " + value.Shares(p.counted) + ", " + value.USD(p.shared) + " shared, by switch " +
		value.Int(p.number) + " and activity " + p.activity
}

// readPayouts checks the payouts and the parts of users.
func (a *auditor) readPayouts() error {
	bySwitch, byAction, seen := make(map[int64]*payout), make(map[string]*payout), make(map[string]bool)
	err := reader.Each(a.r, reader.Stream[payout]{
		What: "payouts",
		Query: `SELECT p.action_id, p.activity_id, p.switch, p.net, p.counted, p.shared, p.at, p.shared_at, p.paid_at,
			CASE WHEN EXISTS (SELECT 1 FROM broker_activities b WHERE b.id = p.activity_id) THEN 1 ELSE 0 END,
			p.paid_app, p.paid_user FROM payouts p`,
		Bind: func(p *payout) []any {
			return []any{
				&p.action, &p.activity, &p.number, &p.net, &p.counted, &p.shared, &p.at, &p.sharedAt, &p.paidAt,
				&p.known, &p.paidApp, &p.paidUser,
			}
		},
	}, func(row *payout) {
		p := *row
		a.t.row(checkPayouts)
		again := seen["action "+p.action] || seen["activity "+p.activity]
		seen["action "+p.action], seen["activity "+p.activity] = true, true
		c, w := a.actions[p.action], a.switches[p.number]
		found, expected := judge(
			p.describe,
			must{!again, "one payout of an action, and one of an activity"},
			must{c != nil && c.pays(), "an action that pays cash"},
			must{w != nil && w.action == p.action && w.undoes == 0, "a switch of the action"},
			must{p.known == 1, "an activity of the broker that is stored"},
			must{p.net > 0 && p.counted > 0, "cash for more than 0 shares"},
			must{p.shared >= 0 && p.shared <= p.net, "parts of at most the net"},
			must{p.sharedAt != 0 || p.paidAt == 0, "paid out only after it was shared"},
			must{w == nil || w.effects.cash.Is(p.shared), "the sum of the users' parts"},
		)
		if expected != "" {
			a.t.fail(checkPayouts, p.name(), found, expected)
		}
		bySwitch[p.number], byAction[p.action] = &p, &p
	})
	if err != nil {
		return err
	}
	return errors.Join(a.readParts(bySwitch), a.readCashAwards(byAction))
}

// userPart is a user's part of a payout, and the award that it became.
type userPart struct {
	effect
	reward, rewardUser, key string
	found, amount, into     int64 // of the award; into is its stock
}

func (a *auditor) readParts(bySwitch map[int64]*payout) error {
	return reader.Each(a.r, reader.Stream[userPart]{
		What: "users' parts of payouts",
		Query: `SELECT e.app_id, e.user_id, e.switch, e.asset_id, e.entitled, e.cash, e.reward_id,
			CASE WHEN r.id IS NULL THEN 0 ELSE 1 END, coalesce(r.user_id, e.user_id), coalesce(r.amount, 0),
			coalesce(r.idempotency_key, ''), CASE WHEN r.counted = 0 THEN r.asset_id ELSE e.asset_id END FROM effects e
			LEFT JOIN rewards r ON r.app_id = e.app_id AND r.id = e.reward_id
			WHERE e.cash <> 0 OR length(e.reward_id) > 0 OR e.switch IN (SELECT p.switch FROM payouts p)`,
		Bind: func(p *userPart) []any {
			return []any{
				&p.app, &p.user, &p.number, &p.asset, &p.entitled, &p.cash, &p.reward, &p.found, &p.rewardUser,
				&p.amount, &p.key, &p.into,
			}
		},
	}, func(u *userPart) {
		a.t.row(checkPayouts)
		p := bySwitch[u.number]
		if p == nil {
			a.t.fail(checkPayouts, u.name(), value.USD(u.cash)+", reward "+value.Hex(u.reward),
				"nothing without a payout")
			return
		}
		if found, expected := a.partRule(p, u); expected != "" {
			a.t.fail(checkPayouts, u.name(), found, expected)
		}
	})
}

// partRule checks a user's part. The last parts may be less, when the broker counted fewer shares
// than the users have.
func (a *auditor) partRule(p *payout, u *userPart) (found, expected string) {
	due, ok := value.MulDiv(p.net, u.entitled, p.counted)
	due = min(due, p.net)
	exact := p.sharedAt != 0 && p.shared < p.net
	key := ":" + p.action + ":" + value.UUID(u.user)
	source, rest, _ := strings.Cut(u.key, key)
	return judge(
		func() string {
			return value.USD(u.cash) + ", reward " + value.UUID(u.reward) + " of " + value.USD(u.amount) + " and " +
				value.Asset(u.into) + " with the key " + u.key
		},
		must{
			ok && u.cash >= 0 && u.cash <= due && (!exact || u.cash == due),
			value.USD(due) + ", of " + value.USD(p.net) + " for " + value.Shares(p.counted),
		},
		must{u.reward == "" || u.found == 1, "an award of the app that exists"},
		must{u.reward == "" || u.rewardUser == u.user && u.amount == u.cash, "an award of the user with this amount"},
		must{
			u.reward == "" || (source == "dividend" || source == "merger") && (rest == "" || rest[0] == ':'),
			"the key dividend" + key + " or merger" + key,
		},
		must{source != "dividend" || u.into == u.asset, "an award of the stock that paid the dividend"},
	)
}

// appAsset is a stock that users of an app hold or held.
type appAsset struct {
	app   string
	asset int64
}

// readAppAssets checks that every app's stocks are noted.
func (a *auditor) readAppAssets() error {
	seen := make(map[appAsset]bool)
	err := reader.Each(a.r, reader.Stream[appAsset]{
		What: "stocks of apps", Query: `SELECT app_id, asset_id FROM app_assets`,
		Bind: func(s *appAsset) []any { return []any{&s.app, &s.asset} },
	}, func(s *appAsset) {
		a.t.row(checkAppAssets)
		row := label(value.Asset(s.asset) + " of app " + value.UUID(s.app))
		a.checkTenant(s.app, row)
		a.checkAsset(s.asset, row)
		if seen[*s] {
			a.t.fail(checkAppAssets, row.name(), "another row", "one")
		}
		seen[*s] = true
	})
	if err != nil {
		return err
	}
	for s := range a.exposed {
		if !seen[s] {
			a.t.row(checkAppAssets)
			a.t.fail(checkAppAssets, value.Asset(s.asset)+" of app "+value.UUID(s.app), "no row, but a holding", "one")
		}
	}
	return nil
}
