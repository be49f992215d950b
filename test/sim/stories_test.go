package sim

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// The events: what operators and the exchange do.
const (
	byPause      = "pause"       // an operator pauses ordering
	byResume     = "resume"      // and resumes it
	byBustLess   = "bust-less"   // the exchange reduces a booked fill
	byBustMore   = "bust-more"   // or increases it
	byRename     = "rename"      // a sync gives a stock its new symbol
	byDelist     = "delist"      // a sync disables a stock
	byRelist     = "relist"      // and enables it again
	byNewKey     = "new-key"     // an app gets a second key
	byRevocation = "revoked-key" // and its first key is revoked
)

func events() []string {
	return []string{byPause, byResume, byBustLess, byBustMore, byRename, byDelist, byRelist, byNewKey, byRevocation}
}

// stories is the state of the events, kept apart from the service.
type stories struct {
	on       bool
	pause    string
	sittings int // left of the pause
	away     int // sittings until a delisted stock returns
	present  map[string]string
	renamed  map[string]time.Time // when the stock was last renamed
	gone     map[string]bool      // delisted stocks
	busts    []*bust
	recent   []endedOrder // orders that could be busted
}

// The odds of an event before a sitting, after a step and in an interlude are one in these
// numbers. They are better while an order is planned and not sent, which is rare.
const (
	storyInSittings = 8
	storyInSteps    = 300
	interruptIn     = 6
	often           = 2
	seldom          = 20
	mostSittings    = 2 // of a pause, or without a stock
)

// visible is how soon every process must apply a change.
const visible = time.Second

// advanceStories ends pauses and delistings that are due, and may cause an event.
func (l *lab) advanceStories() {
	l.sittings--
	if l.pause != "" && l.sittings <= 0 {
		l.resume()
	}
	l.away--
	if len(l.gone) > 0 && l.away <= 0 {
		l.relist()
	}
	if l.pause == "" && l.stopped() { // an alarm called the operator
		l.brokerage.RemoveFault(0)
		l.decide()
	}
	l.storyIn(storyInSittings)
}

func (l *lab) storyIn(many int) {
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

func (l *lab) meanwhile() {
	if !l.on || l.nested {
		return
	}
	many := often
	if l.stopped() { // an order can stay planned for long
		many = seldom
	}
	if stock := l.planning(); stock != "" && l.random.IntN(many) == 0 {
		l.meddle(stock)
		return
	}
	l.storyIn(storyInSteps)
}

// interrupt may cause an event while a process is frozen within a step.
func (l *lab) interrupt(at effect) {
	stock, many := l.planning(), interruptIn
	if stock != "" || at.name == "PlanOrder" {
		many = often
	}
	if l.on && l.random.IntN(many) == 0 {
		l.meddle(stock)
	}
}

// meddle pauses ordering or renames the stock; "": any.
func (l *lab) meddle(stock string) {
	if l.random.IntN(2) == 0 {
		l.pauseOrdering()
		return
	}
	l.rename(cmp.Or(stock, renamable()[l.random.IntN(len(renamable()))]))
}

// planning is a renamable stock with an order that is planned and not sent; "" without one.
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

func (l *lab) pauseOrdering() {
	if l.pause != "" {
		return
	}
	l.pause, l.sittings = "the operator wants to look", 1+l.random.IntN(mostSittings)
	l.check(l.store.SetPaused(l.t.Context(), l.pause))
	l.decisions++
	l.note("operator: ordering is paused")
	l.covers(byPause, "")
}

func (l *lab) resume() {
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
	l.note("operator: ordering is resumed")
	l.covers(byResume, "")
}

// covers counts an event for each state of the orders and rewards of a stock; "": of all.
func (l *lab) covers(event, stock string) {
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
	if l.pause != "" {
		return true
	}
	control, err := l.store.Control(l.t.Context())
	l.check(err)
	return control.Conflicts > 0
}

// sawControl notes that a process reads whether ordering is stopped.
func (p *process) sawControl() {
	p.asked = true
	p.knowsStop = p.knowsStop || p.lab.stopped()
}

// sawAttempt checks an attempt: only a step that began before a stop may still send.
func (p *process) sawAttempt(o rewards.Order) {
	l := p.lab
	if p.beganStopped || p.knowsStop {
		l.violate("while ordering is stopped nothing is sent", o.ClientOrderID, "by %s", p.name)
	}
	l.checkOrdered(o)
	if !p.asked {
		l.violate("the brakes are read before each send", o.ClientOrderID, "by %s", p.name)
	}
	p.asked = false
}

// begin notes whether ordering is stopped when a process begins a step.
func (p *process) begin() {
	p.beganBefore = p.began
	p.began, p.beganStopped, p.knowsStop, p.asked = time.Now(), p.lab.stopped(), false, false
}

func (l *lab) rotateKey(app int) {
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
		l.violate("a key works until it is revoked", l.apps[app].Name, "%d", got)
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
			l.violate("other keys outlive a revoked key", l.apps[app].Name, "%d by %s", got, p.name)
		}
	}
}

// seen is the status of a request with a key; 0 from a dead process.
func (l *lab) seen(p *process, app int, secret string) int {
	if p.dead {
		return 0
	}
	c := &call{app: app, method: http.MethodGet, path: "/v1/rewards?limit=1", secret: secret}
	l.ask(p, c)
	return c.status
}

func (l *lab) lastOf(app int) *given {
	for _, g := range slices.Backward(l.given) {
		if g.app == app && g.acknowledged {
			return g
		}
	}
	return nil
}
