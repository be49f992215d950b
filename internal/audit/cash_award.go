package audit

import (
	"strings"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// cashAward is a reward that the service recorded of a user's cash of a corporate action.
type cashAward struct {
	app, id, user string
	action        string // by its idempotency key
}

func (w *cashAward) columns() []any { return []any{&w.app, &w.id, &w.user, &w.action} }

// addCashAward keeps a reward that counts for no budget. Its key is "dividend:ACTION:USER", maybe with more.
func (a *auditor) addCashAward(r *reward) error {
	action, _, _ := strings.Cut(strings.TrimPrefix(r.key, r.source+":"), ":"+value.UUID(r.user))
	w := cashAward{r.app, r.id, r.user, action}
	return a.cashAwards.Add(w.columns())
}

// reached reports whether the awards of a user's part were noted, if there are any.
func (p *payout) reached(app, user string) bool {
	done := reader.Key{app, user}.Compare(reader.Key{p.paidApp, p.paidUser}) <= 0
	return p.paidAt != 0 || p.sharedAt != 0 && done
}

// readCashAwards checks that each award of an action's cash is noted in one user's part, which partRule compares with
// it. An award is recorded before it is noted. So it may lack that until its payout reaches the user.
func (a *auditor) readCashAwards(byAction map[string]*payout) error {
	awards, err := reader.OpenSorted(a.r, reader.Stream[cashAward]{
		What: "awards of actions' cash", Bind: (*cashAward).columns,
	}, a.cashAwards)
	if err != nil {
		return err
	}
	type note struct{ app, reward string }
	notes, err := reader.Open(a.r, reader.Stream[note]{
		What: "awards in users' parts", Query: `SELECT app_id, reward_id FROM effects WHERE length(reward_id) > 0`,
		Sort: true,
		Bind: func(n *note) []any { return []any{&n.app, &n.reward} },
		Key:  func(n *note) reader.Key { return reader.Key{n.app, n.reward} },
	})
	if err != nil {
		return err
	}
	none := func(*note) {} // partRule checks that its award exists
	err = awards.Each(func(w *cashAward) error {
		var noted int64
		err := notes.Claim(reader.Key{w.app, w.id}, func(*note) { noted++ }, none)
		a.t.row(checkPayouts)
		p := byAction[w.action]
		if pending := noted == 0 && p != nil && !p.reached(w.app, w.user); noted != 1 && !pending {
			a.t.fail(checkPayouts, rewardName(w.app, w.id), value.Int(noted)+" users' parts that became it",
				"one, of the action "+w.action)
		}
		return err
	})
	if err != nil {
		return err
	}
	return notes.Rest(none)
}
