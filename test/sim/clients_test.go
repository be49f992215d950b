package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing/synctest"

	"stockrewards/internal/money"
)

type call struct {
	app                int
	method, path, body string
	secret             string // the key; empty: the app's
	unknown            bool   // its symbol was not in the catalog when it was sent
	status             int    // 0: no answer came
	text               []byte
}

// ask sends concurrent requests, in this order, to a process and waits for the answers. None
// comes when the process dies, and some are lost.
func (l *lab) ask(p *process, calls ...*call) {
	l.t.Helper()
	ctx, stop := context.WithCancel(l.t.Context())
	defer stop()
	for _, c := range calls {
		go c.run(ctx, p.handler, cmp.Or(c.secret, l.keys[c.app]))
		synctest.Wait()
	}
	for queued := true; queued && !p.dead; {
		queued = p.intake.Step(ctx)
		synctest.Wait() // an answered request gives its place to one that waits for admission
	}
	stop()
	synctest.Wait()
	for _, c := range calls {
		answered := c.status
		lost := l.random.IntN(10_000) < l.rates.lose
		if lost && !p.dead {
			l.strikes++
			l.cover.hit(rowAnswer, "lost-answer")
		}
		if p.dead || lost {
			c.status, c.text = 0, nil
		}
		l.transcribe(p.name, c.method, c.path, c.body, fmt.Sprint(answered))
		if answered < http.StatusBadRequest { // an error's id is random
			l.transcribe(string(c.text))
		}
	}
}

func (c *call) run(ctx context.Context, handler http.Handler, key string) {
	answer := serve(ctx, handler, key, c.method, c.path, c.body)
	c.status, c.text = answer.Code, answer.Body.Bytes()
}

// clients give rewards, retry those without an answer, and read some.
func (l *lab) clients(count int) {
	for count > 0 && !l.t.Failed() {
		batch := make([]*given, 0, count)
		for range min(count, 1+l.random.IntN(5)) {
			batch = append(batch, l.newGiven())
		}
		count -= len(batch)
		if l.random.IntN(4) == 0 {
			batch = append(batch, batch[l.random.IntN(len(batch))]) // the same reward twice at once
		}
		l.give(batch...)
	}
	l.askAgain()
	l.probe()
	for range 3 {
		if len(l.open) > 0 {
			l.lookAt(l.open[l.random.IntN(len(l.open))])
		}
	}
}

func (l *lab) newGiven() *given {
	l.nextKey++
	app := l.random.IntN(apps)
	amounts := []money.USD{
		money.Cent, 33 * money.Cent, money.Dollar, 5*money.Dollar + 250_001, 100 * money.Dollar, 4_321_987_654,
		money.USD(1 + l.random.Int64N(int64(200*money.Dollar))),
	}
	g := &given{
		app: app, user: l.users[app][l.random.IntN(usersPerApp)], key: fmt.Sprintf("key-%06d", l.nextKey),
		amount: amounts[l.random.IntN(len(amounts))], symbol: l.symbol(symbols()[l.random.IntN(len(symbols()))]),
	}
	if idle := l.firms.givable(); len(idle) > 0 && l.random.IntN(4) > 0 {
		g.symbol = l.symbol(idle[l.random.IntN(len(idle))].name)
	}
	l.promised[g.user] += g.amount
	l.given = append(l.given, g)
	l.unsure = append(l.unsure, g)
	return g
}

func bodyOf(g *given) string {
	return fmt.Sprintf(`{"userId":%q,"idempotencyKey":%q,"amountUsd":%s,"assetSymbol":%q}`, g.user, g.key, g.amount, g.symbol)
}

func (l *lab) give(list ...*given) {
	calls := make([]*call, len(list))
	for i, g := range list {
		calls[i] = &call{app: g.app, method: http.MethodPost, path: "/v1/rewards", body: bodyOf(g), unknown: l.unknown(g.symbol)}
	}
	p := l.randomProcess()
	l.ask(p, calls...)
	last := len(list) - 1
	if i := slices.Index(list, list[last]); calls[last].status == http.StatusCreated { // either of two at once may be the first
		calls[i], calls[last] = calls[last], calls[i]
	}
	for i, g := range list {
		l.answered(p, g, calls[i])
	}
}

func (l *lab) answered(p *process, g *given, c *call) {
	l.note("client: %s gives %s of %s by %s: %d", g.key, g.amount, g.symbol, p.name, c.status)
	var got struct {
		Reward           json.RawMessage
		IdempotentReplay bool
	}
	switch c.status {
	case 0, http.StatusServiceUnavailable:
		return
	case http.StatusCreated, http.StatusOK:
		l.check(json.Unmarshal(c.text, &got))
	default:
		switch {
		case c.status == http.StatusForbidden && l.barred(g.app):
		case c.status == http.StatusUnprocessableEntity && !g.acknowledged && (c.unknown || l.unknown(g.symbol)):
			l.refuse(g)
		case c.status == http.StatusUnprocessableEntity && !g.acknowledged && l.mail.overBudget(g, c.text):
			l.refuse(g)
		default:
			l.violate("a valid reward is recorded", g.key, "%d %s", c.status, c.text)
		}
		return
	}
	if got.IdempotentReplay != (c.status == http.StatusOK) || g.acknowledged && c.status == http.StatusCreated {
		l.violate("a key gives one reward", g.key, "%d %s, acknowledged before %v", c.status, c.text, g.acknowledged)
	}
	if c.status == http.StatusCreated && c.unknown && !l.ended(g.symbol) { // one that has ended may be in the catalog still
		l.violate("a stock outside of the catalog is refused", g.key, "%s: %d %s", g.symbol, c.status, c.text)
	}
	if l.pause != "" && c.status == http.StatusCreated {
		l.cover.hit(rowNew, byPause)
	}
	if !g.acknowledged {
		g.acknowledged = true
		l.unsure = slices.DeleteFunc(l.unsure, func(other *given) bool { return other == g })
		l.open = append(l.open, g)
	}
	l.checkReward(g, got.Reward)
}

// checkReward compares an answer about a reward with earlier ones.
func (l *lab) checkReward(g *given, text []byte) {
	var r struct {
		reward

		IdempotencyKey, CreatedAt string
		ExecutedAt                *string
	}
	l.check(json.Unmarshal(text, &r))
	fixed := fmt.Sprint(r.ID, r.UserID, r.IdempotencyKey, r.AssetSymbol, r.AmountUSD, r.CreatedAt)
	if g.fixed == "" {
		g.fixed, g.id = fixed, r.ID
	}
	if fixed != g.fixed || r.UserID != g.user || r.IdempotencyKey != g.key || r.AssetSymbol != g.symbol ||
		r.AmountUSD.String() != g.amount.String() {
		l.violate("an acknowledged reward never changes", g.key, "%s, was %s", text, g.fixed)
	}
	before, after := rank(g.status), rank(r.Status)
	if after < before || before == rank("executed") && r.Status != g.status {
		l.violate("a status goes forward only", g.key, "%s, was %s", r.Status, g.status)
	}
	if (r.ExecutedAt != nil) != (r.Status == "executed") || (r.FailureReason != nil) != (r.Status == "failed") {
		l.violate("executed has a time, failed a reason", g.key, "%s", text)
	}
	if r.Status != g.status {
		l.note("client: %s (%s) is %s", g.key, g.id, r.Status)
		g.status = r.Status
		if r.Status == "executed" {
			l.executed[g.user] += g.amount
		}
	}
	if after == rank("executed") {
		l.open = slices.DeleteFunc(l.open, func(other *given) bool { return other == g })
	}
}

func rank(status string) int {
	return map[string]int{"recorded": 1, "executing": 2, "executed": 3, "failed": 3}[status]
}

// askAgain retries the rewards without an answer, and sometimes one with an answer.
func (l *lab) askAgain() {
	for _, g := range slices.Clone(l.unsure) {
		l.give(g)
	}
	if l.random.IntN(3) == 0 && len(l.given) > 0 {
		l.give(l.given[max(0, len(l.given)-1-l.random.IntN(40))])
	}
}

func (l *lab) lookAt(g *given) {
	other := (g.app + 1) % apps
	own := &call{app: g.app, method: http.MethodGet, path: "/v1/rewards/" + g.id}
	foreign := &call{app: other, method: http.MethodGet, path: own.path}
	l.ask(l.randomProcess(), own, foreign)
	if own.status == http.StatusOK {
		var got struct{ Reward json.RawMessage }
		l.check(json.Unmarshal(own.text, &got))
		l.checkReward(g, got.Reward)
	} else if !l.excused(own) {
		l.violate("an acknowledged reward exists", g.key, "%d %s", own.status, own.text)
	}
	if foreign.status != http.StatusNotFound && !l.excused(foreign) {
		l.violate("no reward is shown to another app", g.key, "%d %s", foreign.status, foreign.text)
	}
}

// excused reports whether an answer proves nothing: it is missing, the service was
// unavailable, or the app is suspended.
func (l *lab) excused(c *call) bool {
	return c.status == 0 || c.status == http.StatusServiceUnavailable ||
		c.status == http.StatusForbidden && l.barred(c.app)
}
