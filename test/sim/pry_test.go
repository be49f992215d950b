package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"stockrewards/internal/money"
)

// probe sends a request that must be refused, or reads a list or a portfolio.
func (l *lab) probe() {
	app := l.random.IntN(apps)
	user := l.users[app][0]
	give := func(user, symbol string) *call {
		l.nextKey++
		return &call{app: app, method: http.MethodPost, path: "/v1/rewards", body: bodyOf(&given{
			user: user, key: fmt.Sprintf("bad-%06d", l.nextKey), amount: 1_000_000, symbol: symbol,
		})}
	}
	switch l.random.IntN(6) {
	case 0:
		l.refused(give(l.users[(app+1)%apps][0], "KO"), http.StatusNotFound, "user")
	case 1:
		l.refused(give("00000000-0000-7000-8000-000000000000", "KO"), http.StatusNotFound, "user")
	case 2:
		l.refused(give(user, "NOSUCH"), http.StatusUnprocessableEntity, "symbol")
	case 3:
		l.otherPayload()
	case 4:
		l.list(app)
	case 5:
		l.portfolio(app, l.users[app][l.random.IntN(usersPerApp)])
	}
}

func (l *lab) refused(c *call, status int, why string) {
	l.ask(l.randomProcess(), c)
	if c.status != status && !l.excused(c) {
		l.violate("what is wrong is refused", why, "%s %s: %d %s, want %d", c.path, c.body, c.status, c.text, status)
	}
}

func (l *lab) otherPayload() {
	if len(l.given) == 0 {
		return
	}
	g := l.given[l.random.IntN(len(l.given))]
	if !g.acknowledged {
		return // it may not be recorded
	}
	other := *g
	other.amount++
	l.refused(&call{app: g.app, method: http.MethodPost, path: "/v1/rewards", body: bodyOf(&other)}, http.StatusConflict, g.key)
}

// list reads the newest rewards of an app and compares them with earlier answers.
func (l *lab) list(app int) {
	c := &call{app: app, method: http.MethodGet, path: "/v1/rewards?limit=20"}
	l.ask(l.randomProcess(), c)
	if c.status != http.StatusOK {
		if !l.excused(c) {
			l.violate("rewards can be listed", "list", "%d %s", c.status, c.text)
		}
		return
	}
	var page struct{ Rewards []json.RawMessage }
	l.check(json.Unmarshal(c.text, &page))
	recent := map[string]*given{}
	for _, g := range l.given[max(0, len(l.given)-400):] {
		if g.app == app {
			recent[g.key] = g
		}
	}
	last := ""
	for _, text := range page.Rewards {
		var r struct{ ID, IdempotencyKey string }
		l.check(json.Unmarshal(text, &r))
		if strings.HasPrefix(r.IdempotencyKey, "dividend:") || strings.HasPrefix(r.IdempotencyKey, "merger:") {
			continue
		}
		g, known := recent[r.IdempotencyKey]
		if !known || last != "" && r.ID >= last {
			l.violate("a list has only the app's rewards, newest first", r.IdempotencyKey, "%s", text)
			return
		}
		last = r.ID
		if g.acknowledged {
			l.checkReward(g, text)
		}
	}
}

// portfolio reads a user's portfolio, which may be impossible to value.
func (l *lab) portfolio(app int, user string) {
	path := "/v1/users/" + user + "/portfolio"
	own := &call{app: app, method: http.MethodGet, path: path}
	foreign := &call{app: (app + 1) % apps, method: http.MethodGet, path: path}
	l.ask(l.randomProcess(), own, foreign)
	switch {
	case own.status == http.StatusOK:
		if l.firms != nil {
			l.checkModel(user, own.text)
			break
		}
		l.checkCost(user, own.text)
		l.checkValues(user, own.text)
	case own.status != http.StatusBadGateway && !l.excused(own):
		l.violate("a portfolio is answered, or that it cannot be valued", user, "%d %s", own.status, own.text)
	}
	if foreign.status != http.StatusNotFound && !l.excused(foreign) {
		l.violate("no portfolio is shown to another app", user, "%d %s", foreign.status, foreign.text)
	}
}

// checkCost checks that a cost basis is at least what clients saw executed, and at most what
// they gave.
func (l *lab) checkCost(user string, text []byte) {
	var got struct{ CostBasis json.Number }
	l.check(json.Unmarshal(text, &got))
	cost, err := money.ParseUSD(got.CostBasis.String())
	l.check(err)
	if cost < l.executed[user]-money.Cent || cost > l.promised[user]+money.Cent {
		l.violate("a portfolio costs what was executed", user, "%s, executed %s, given %s", text, l.executed[user], l.promised[user])
	}
}

// checkValues checks that each value is near the price at which the brokerage trades.
func (l *lab) checkValues(user string, text []byte) {
	var got struct {
		Holdings []struct {
			Asset           string
			Quantity, Value json.Number
		}
	}
	l.check(json.Unmarshal(text, &got))
	for _, h := range got.Holdings {
		quantity, err := money.ParseShares(h.Quantity.String())
		l.check(err)
		value, err := money.ParseUSD(h.Value.String())
		l.check(err)
		worth, err := money.Value(quantity, l.traded(h.Asset), money.HalfAway)
		l.check(err)
		if value < worth/2-1 || value > 2*worth+1 {
			l.violate("a portfolio is shown at prices that can be", user, "%s of %s for %s, worth %s", quantity, h.Asset, value, worth)
		}
	}
}
