package sim

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// What operators and the broker do to the service between the faults.
const (
	byPause      = "pause"       // an operator pauses ordering
	byResume     = "resume"      // and lets it go on
	byBustLess   = "bust-less"   // a fill becomes less after it was booked
	byBustMore   = "bust-more"   // or more
	byRename     = "rename"      // a sync follows a stock to its new symbol
	byDelist     = "delist"      // a sync takes a stock out of the catalog
	byRelist     = "relist"      // and back into it
	byNewKey     = "new-key"     // an app gets another key
	byRevocation = "revoked-key" // and loses the first
)

func events() []string {
	return []string{byPause, byResume, byBustLess, byBustMore, byRename, byDelist, byRelist, byNewKey, byRevocation}
}

// stories is what goes on of these, as the lab knows it without asking the service.
type stories struct {
	on       bool // they happen
	pause    string
	sittings int // until it is over
	away     int // sittings until a stock that is gone is back
	present  map[string]string
	renamed  map[string]time.Time // when a stock got its present symbol
	gone     map[string]bool      // stocks, by the symbol that they had first
	busts    []*bust
	recent   []endedOrder // that could be busted
}

// A story begins in one of this many sittings, steps and interludes.
// When an order is planned and not sent, which is seldom, it mostly does.
const (
	storyInSittings = 8
	storyInSteps    = 300
	interruptIn     = 6
	often           = 2
	seldom          = 20
	mostSittings    = 2 // of a pause, or without a stock
)

// visible is how long after a change every process has to know of it.
const visible = time.Second

// advanceStories continues the stories, and now and then begins one: before a sitting.
func (l *lab) advanceStories() {
	l.t.Helper()
	l.sittings--
	if l.pause != "" && l.sittings <= 0 {
		l.resume()
	}
	l.away--
	if len(l.gone) > 0 && l.away <= 0 {
		l.relist()
	}
	if l.pause == "" && l.stopped() { // the operator has heard the alarm
		l.brokerage.RemoveFault(0)
		l.decide()
	}
	l.storyIn(storyInSittings)
}

// storyIn begins a story in one of many cases.
func (l *lab) storyIn(many int) {
	l.t.Helper()
	if !l.on || l.nested || l.random.IntN(many) != 0 {
		return
	}
	switch l.random.IntN(6) {
	case 0:
		l.pauseOrdering()
	case 1, 2:
		l.bustOne()
	case 3:
		l.rename(renamable()[l.random.IntN(len(renamable()))])
	case 4:
		l.delist()
	case 5:
		l.rotateKey(l.random.IntN(apps))
	}
}

// meanwhile may begin a story between two steps.
func (l *lab) meanwhile() {
	l.t.Helper()
	if !l.on || l.nested {
		return
	}
	many := often
	if l.stopped() { // an order can stay so for long
		many = seldom
	}
	if stock := l.planning(); stock != "" && l.random.IntN(many) == 0 {
		l.meddle(stock)
		return
	}
	l.storyIn(storyInSteps)
}

// interrupt is what may happen while a process is frozen amid a step.
func (l *lab) interrupt(at effect) {
	l.t.Helper()
	stock, many := l.planning(), interruptIn
	if stock != "" || at.name == "PlanOrder" {
		many = often
	}
	if l.on && l.random.IntN(many) == 0 {
		l.meddle(stock)
	}
}

// meddle pauses ordering, or renames the stock, or any.
func (l *lab) meddle(stock string) {
	l.t.Helper()
	if l.random.IntN(2) == 0 {
		l.pauseOrdering()
		return
	}
	l.rename(cmp.Or(stock, renamable()[l.random.IntN(len(renamable()))]))
}

// planning is a stock of which an order is planned that was never sent; "" when none is
// that can be renamed.
func (l *lab) planning() string {
	for _, stock := range renamable() {
		for _, o := range l.live {
			if o.State == rewards.OrderPlanned && l.stock(o.Symbol) == stock {
				return stock
			}
		}
	}
	return ""
}

// pauseOrdering is `stockrewards fulfillment pause`.
func (l *lab) pauseOrdering() {
	l.t.Helper()
	if l.pause != "" {
		return
	}
	l.pause, l.sittings = "the operator wants to look", 1+l.random.IntN(mostSittings)
	l.check(l.store.SetPaused(l.t.Context(), l.pause))
	l.decisions++
	l.note("operator: ordering is paused")
	l.covers(byPause, "")
}

// resume is `stockrewards fulfillment resume`.
func (l *lab) resume() {
	l.t.Helper()
	if l.pause == "" {
		return
	}
	control, err := l.store.Control(l.t.Context())
	l.check(err)
	if control.Paused != l.pause {
		l.violate("a pause lasts until it is lifted", "pause", "the books say %q", control.Paused)
	}
	l.pause = ""
	l.check(l.store.SetPaused(l.t.Context(), ""))
	l.decisions++
	l.note("operator: ordering goes on")
	l.covers(byResume, "")
}

// covers counts an event for every state in which it finds an order or a reward: of one stock,
// or of all.
func (l *lab) covers(event, stock string) {
	l.t.Helper()
	for _, o := range l.live {
		if stock == "" || l.stock(o.Symbol) == stock {
			l.cover.hit(rowOf(o), event)
		}
	}
	pools, err := l.store.Pools(l.t.Context())
	l.check(err)
	if slices.ContainsFunc(pools, func(p rewards.Pool) bool { return stock == "" || l.stock(p.Asset.Symbol) == stock }) {
		l.cover.hit(rowRecorded, event)
	}
	if stock != "" && l.filled[stock] > 0 {
		l.cover.hit(rowFinal, event)
	}
}

// stopped reports whether no order may be planned or sent.
func (l *lab) stopped() bool {
	return l.pause != "" || slices.ContainsFunc(l.busts, func(b *bust) bool { return b.noticed && !b.settled })
}

// sawControl hears that a process reads whether ordering is stopped.
func (p *process) sawControl() {
	p.asked = true
	p.knowsStop = p.knowsStop || p.lab.stopped()
}

// sawAttempt hears of an attempt that was counted. It may be counted after a stop only
// when it had begun before.
func (p *process) sawAttempt(o rewards.Order) {
	l := p.lab
	l.t.Helper()
	if p.beganStopped || p.knowsStop {
		l.violate("while ordering is stopped nothing is sent", o.ClientOrderID, "by %s", p.name)
	}
	if !p.asked {
		l.violate("the brakes are read before each send", o.ClientOrderID, "by %s", p.name)
	}
	p.asked = false
}

// begin notes what the world is like when a process begins a step.
func (p *process) begin() {
	p.began, p.beganStopped, p.knowsStop, p.asked = time.Now(), p.lab.stopped(), false, false
}

// rotateKey gives an app a second key, lets it use that, and revokes the first.
func (l *lab) rotateKey(app int) {
	l.t.Helper()
	ctx, old := l.t.Context(), l.keys[app]
	keys, err := l.store.Keys(ctx, l.apps[app].Name)
	l.check(err)
	secret, err := rewards.NewKeySecret(rewards.TestKeyPrefix, l.source)
	l.check(err)
	_, err = l.store.CreateKey(ctx, l.apps[app].Name, rewards.Key{Hash: rewards.HashKey(secret)})
	l.check(err)
	l.note("operator: %s has a new key", l.apps[app].Name)
	p := l.randomProcess()
	l.keys[app] = secret
	if g := l.lastOf(app); g != nil {
		l.give(g)
		l.cover.hit(rowAnswer, byNewKey)
	}
	if l.seen(p, app, secret) == http.StatusOK {
		l.cover.hit(rowNew, byNewKey)
	}
	if got := l.seen(p, app, old); got == http.StatusUnauthorized {
		l.violate("a key that is not revoked is taken", l.apps[app].Name, "%d", got)
	}
	l.check(l.store.RevokeKey(ctx, keys[len(keys)-1].ID))
	l.decisions++
	l.note("operator: the first key of %s is revoked", l.apps[app].Name)
	time.Sleep(visible)
	for _, p := range l.procs {
		switch got := l.seen(p, app, old); got {
		case http.StatusUnauthorized:
			l.cover.hit(rowNew, byRevocation)
		case 0, http.StatusServiceUnavailable:
		default:
			l.violate("a revoked key is refused within a second", l.apps[app].Name, "%d by %s", got, p.name)
		}
		if got := l.seen(p, app, secret); got == http.StatusUnauthorized {
			l.violate("to revoke a key leaves the others", l.apps[app].Name, "%d by %s", got, p.name)
		}
	}
}

// seen is how a process answers an app that asks under a key; 0 when it is dead.
func (l *lab) seen(p *process, app int, secret string) int {
	l.t.Helper()
	if p.dead {
		return 0
	}
	c := &call{app: app, method: http.MethodGet, path: "/v1/rewards?limit=1", secret: secret}
	l.ask(p, c)
	return c.status
}

// lastOf is the last reward that an app knows to be recorded; nil without one.
func (l *lab) lastOf(app int) *given {
	for _, g := range slices.Backward(l.given) {
		if g.app == app && g.acknowledged {
			return g
		}
	}
	return nil
}
