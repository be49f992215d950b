// Package fulfillment buys what was given: the worker pools recorded rewards into
// orders, sends these to the broker, follows them and books what they brought. It
// promises that every intent is durable before the act, that an order has one
// client order id for ever, that unknown is never taken for failed, and that each
// step can be killed at any instruction and run again. Read worker.go for one
// step, docs/states.md for every answer of a broker and what follows.
package fulfillment

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Broker takes orders and tells of them. A call that fails returns an error whose
// meaning rewards.BrokerKindOf tells.
type Broker interface {
	// Submit sends an order and returns what the broker made of it. Of requests with
	// one client order id the broker accepts one; a second is a BrokerDuplicate.
	Submit(ctx context.Context, r rewards.OrderRequest) (rewards.BrokerOrder, error)
	// OrderByClientID finds an order, or fails with BrokerNotFound, which is no proof
	// that the order will never appear.
	OrderByClientID(ctx context.Context, clientOrderID string) (rewards.BrokerOrder, error)
	// Orders lists every order submitted after a moment of the broker's time.
	Orders(ctx context.Context, after time.Time) ([]rewards.BrokerOrder, error)
	// Account is the account that orders are placed in.
	Account(ctx context.Context) (rewards.BrokerAccount, error)
	// Announcements is a page of the corporate actions that are processed from one day
	// to another; token and next chain the pages. It fails with BrokerNotFound when the
	// broker offers none.
	Announcements(ctx context.Context, from, to rewards.Date, token string) (
		page []rewards.Announcement, next string, err error)
	// Sessions lists the market's days from one day to another, in order.
	Sessions(ctx context.Context, from, to rewards.Date) ([]rewards.Date, error)
	// Positions lists what the account holds.
	Positions(ctx context.Context) ([]rewards.Position, error)
	// Ready tells whether the broker's rate limit allows a call now.
	Ready() bool
}

// Market tells hours and prices.
type Market interface {
	// Clock is the market's hours now, in the broker's time. It fails with
	// rewards.ErrClockRefused when the broker's clock is too far from ours.
	Clock(ctx context.Context) (rewards.MarketClock, error)
	// ClockRefused is why the last reading of that clock was refused; nil when it was not.
	ClockRefused() error
	// LastPrice is the last price of an asset; zero when none is known.
	LastPrice(asset rewards.AssetID) money.Price
	// Levels are the prices of an asset that a fill's price is compared with; none when
	// no price is known.
	Levels(asset rewards.AssetID) []money.Price
	// Refresh asks for the prices of all assets that need one.
	Refresh(ctx context.Context) error
	// Doubts lists the symbols whose price is in doubt.
	Doubts() []string
}

// Config is what an operator sets.
type Config struct {
	Holder          string        // this process, unique among all that ever ran
	Exclusive       bool          // no other process can lead: its lease need not run out
	Prefix          string        // of client order ids: "sr-<installation>-"
	Window          time.Duration // how long rewards are pooled
	SmallPoolWait   time.Duration // how long a pool under the broker's minimum waits for more
	PollEvery       time.Duration // how often open orders are looked at
	MaxMembers      int           // the most rewards in an order; 0: rewards.MaxMembers
	MaxNotional     money.USD     // the largest notional of an order
	DailyLimit      money.USD     // of all orders of a UTC day
	HouseDailyLimit money.USD     // of what the house adds to small pools on a UTC day
	HouseAppLimit   money.USD     // the same, for one app
	LeaseTTL        time.Duration
	Patience        time.Duration // how long a step waits for the answer to a send; 0: as long as it takes
}

// brakes are the limits, as they are kept for operators.
func (c Config) brakes() rewards.Brakes {
	return rewards.Brakes{
		MaxNotional: c.MaxNotional, DailyLimit: c.DailyLimit, HouseDailyLimit: c.HouseDailyLimit,
		HouseAppLimit: c.HouseAppLimit, MaxMembers: c.MaxMembers, SmallPoolWait: c.SmallPoolWait,
	}
}

// Worker is the fulfilment of one process. Run or Step it from one goroutine;
// Nudge is safe for concurrent use.
type Worker struct {
	store  Store
	broker Broker
	market Market
	cfg    Config
	now    func() time.Time
	log    *slog.Logger
	nudge  chan struct{}

	lease     rewards.Lease
	nextPoll  time.Time
	unwatched string  // why the last look at open orders failed; "" when it did not
	account   account // the broker's
	compared  comparison
	conflicts int // not acknowledged, as last read
	held      map[rewards.AssetID]heldPool
	flights   map[rewards.OrderID]flight // sends whose answers have not come yet
	actions   actionDesk
	alarms    alarms

	observer Observer
	moved    atomic.Pointer[time.Time] // when the step under way last moved; nil between steps
	leads    atomic.Bool
}

// New makes a worker.
func New(
	s Store, broker Broker, market Market, cfg Config, now func() time.Time, log *slog.Logger,
) *Worker {
	return &Worker{
		store: s, broker: broker, market: market, cfg: cfg, now: now, log: log,
		nudge: make(chan struct{}, 1), held: make(map[rewards.AssetID]heldPool),
		flights: make(map[rewards.OrderID]flight),
		alarms:  alarms{standing: nil}, observer: silent{},
	}
}

// Nudge wakes the worker: a reward was recorded. It is speed, never correctness.
func (w *Worker) Nudge() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

const (
	idleWait  = time.Second           // the longest pause between two steps
	nudgeWait = 20 * time.Millisecond // the shortest, however often it is nudged
)

// Run steps until ctx ends, then gives the lease back and returns.
func (w *Worker) Run(ctx context.Context) {
	for {
		wait := w.Step(ctx)
		if !pause(ctx, nudgeWait, nil) || !pause(ctx, wait-nudgeWait, w.nudge) {
			w.stop(context.WithoutCancel(ctx))
			return
		}
	}
}

// pause waits, unless woken, and tells whether ctx still runs.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func (w *Worker) stop(ctx context.Context) {
	w.report(ctx, "the answer to a send", w.land(ctx, true))
	if !w.lease.Held(w.now()) {
		return
	}
	if err := w.store.DropLease(ctx, w.lease); err != nil {
		w.log.WarnContext(ctx, "the lease was not given back", slog.Any("error", err))
	}
}

// Step does what is due and tells how long nothing will be, unless nudged: leads,
// follows the orders that are under way, and plans and sends new ones.
func (w *Worker) Step(ctx context.Context) time.Duration {
	w.move()
	defer w.moved.Store(nil)
	leads, err := w.lead(ctx)
	w.leads.Store(leads)
	w.report(ctx, "the lease could not be taken", err)
	if !leads {
		return idleWait
	}
	w.alarms.begin()
	w.report(ctx, "the answer to a send", w.land(ctx, false))
	wait, err := w.work(ctx)
	if errors.Is(err, rewards.ErrLostLease) {
		w.lease = rewards.Lease{}
	}
	w.report(ctx, "fulfilment step", err)
	if ctx.Err() == nil { // what failed because this process ends is no alarm
		w.report(ctx, "alarms", w.alarms.end(ctx, w.store, w.log))
	}
	return min(wait, idleWait)
}

func (w *Worker) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "fulfilment met an error and goes on", slog.String("what", what), slog.Any("error", err))
	}
}

// lead takes the lease or renews it in time.
func (w *Worker) lead(ctx context.Context) (bool, error) {
	now := w.now()
	if w.lease.Held(now) && w.lease.Until.Sub(now) > w.cfg.LeaseTTL/2 {
		return true, nil
	}
	l, err := w.store.TakeLease(ctx, w.cfg.Holder, w.cfg.LeaseTTL, w.cfg.Exclusive)
	if err != nil {
		return w.lease.Held(now), err
	}
	if l.Epoch > 0 && l.Epoch != w.lease.Epoch {
		w.log.InfoContext(ctx, "this process leads fulfilment", slog.Int64("epoch", l.Epoch))
	}
	fresh := l.Epoch > 0 && l.Epoch != w.lease.Epoch
	if w.lease = l; fresh {
		return true, w.store.SaveBrakes(ctx, l, w.cfg.brakes())
	}
	return l.Epoch > 0, nil
}

func (w *Worker) work(ctx context.Context) (time.Duration, error) {
	live, err := w.store.LiveOrders(ctx)
	if err != nil {
		return idleWait, err
	}
	for _, symbol := range w.market.Doubts() {
		w.alarms.raise(rewards.AlarmPriceInDoubt+symbol, "its price is in doubt: see `stockrewards asset confirm` and `asset reject`")
	}
	clock, clockErr := w.market.Clock(ctx)
	if err := w.market.ClockRefused(); err != nil {
		w.alarms.raise(rewards.AlarmClockRefused, "nothing is ordered or booked: "+err.Error())
	}
	right, err := w.checkAccount(ctx)
	if !right {
		return idleWait, errors.Join(err, w.stayAlarmed(ctx, live), w.watchActions(ctx, nil, clock, false))
	}
	w.report(ctx, "the broker's account", err)
	watchErr := w.watchActions(ctx, live, clock, clockErr == nil)
	if errors.Is(watchErr, rewards.ErrLostLease) {
		return idleWait, watchErr
	}
	wait, followErr := w.follow(ctx, live)
	followErr = errors.Join(watchErr, followErr)
	if errors.Is(followErr, rewards.ErrLostLease) {
		return idleWait, followErr
	}
	planWait, planErr := w.sendNew(ctx, live)
	return min(wait, planWait), errors.Join(followErr, planErr)
}
