// Package fulfillment buys the stock that apps awarded. Its worker pools recorded rewards into
// orders, sends them to the broker, polls them and books their fills. Every intent is durable
// before the act. An order keeps one client order id. An unknown outcome is never taken for a
// failure. Each step can be killed at any instruction and repeated. Read worker.go for one step,
// rewards.Order.Next for an order's decisions and docs/states.md for every answer of a broker.
package fulfillment

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"stockrewards/internal/rewards"
)

// Config is what an operator sets.
type Config struct {
	rewards.Brakes

	Holder    string        // this process, unique among all that ever ran
	Exclusive bool          // no other process can lead: another holder's lease is taken at once
	Prefix    string        // of client order ids: "sr-<installation>-"
	Window    time.Duration // how long rewards are pooled
	PollEvery time.Duration // between two polls of open orders
	LeaseTTL  time.Duration

	ReviewActions bool // every corporate action waits for an operator

	Patience time.Duration // how long a step waits for the answer to a send; 0: without limit

	BookBeside bool // ended orders are booked beside the steps: the store can, and gains by it
}

// Worker is the fulfillment of one process. Call Run or Step from one goroutine; Nudge, Busy
// and Leads are safe for concurrent use.
type Worker struct {
	store  Store
	broker Broker
	market Market
	cfg    Config
	now    func() time.Time
	log    *slog.Logger
	nudge  chan struct{}

	lease          rewards.Lease
	takeovers      takeovers
	polls          polling
	clockErr       error     // why the broker's clock could not be read in this step; nil when it could
	nextPrices     time.Time // when a step may read the prices again
	newest         int64     // number of the newest order that this process has seen
	account        account
	compared       comparison
	conflicts      int   // not acknowledged, as last read
	conflictsEpoch int64 // of the lease under which they were first read; 0: never
	held           map[rewards.AssetID]heldPool
	brakes         map[rewards.OrderID]brake
	turns          rewards.Turns // of the apps, under this process
	flights        map[rewards.OrderID]flight
	ends           []ending // not booked yet
	booking        *booking // under way beside the steps, or not carried out yet
	actions        actionWatch
	budgets        budgetWatch
	alarms         alarms
	stands         standstills
	webhooks       webhookWatch

	observer Observer
	beat     atomic.Pointer[time.Time] // the last heartbeat of the step under way; nil between steps
	leads    atomic.Bool
}

// New returns a worker that reads the time from now.
func New(
	s Store, broker Broker, market Market, cfg Config, now func() time.Time, log *slog.Logger,
) *Worker {
	return &Worker{
		store: s, broker: broker, market: market, cfg: cfg, now: now, log: log, observer: silent{},
		nudge: make(chan struct{}, 1), held: make(map[rewards.AssetID]heldPool),
		flights: make(map[rewards.OrderID]flight), brakes: make(map[rewards.OrderID]brake),
	}
}

// Nudge wakes the worker after a reward was recorded. It saves time; correctness never needs it.
func (w *Worker) Nudge() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

const (
	idleWait  = time.Second           // the longest pause between two steps
	nudgeWait = 20 * time.Millisecond // the shortest, regardless of nudges
)

// Run steps until ctx ends. Then it waits for the answers to its sends and for its bookings, returns the lease and
// returns.
func (w *Worker) Run(ctx context.Context) {
	for {
		wait := w.Step(ctx)
		if !pause(ctx, nudgeWait, nil) || !pause(ctx, wait-nudgeWait, w.nudge) {
			w.stop(context.WithoutCancel(ctx))
			return
		}
	}
}

// pause waits for d or for wake and reports whether ctx has not ended.
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
	for more := true; more; more = w.booking != nil {
		w.report(ctx, "the answer to a send", w.collect(ctx, true))
	}
	if !w.lease.Held(w.now()) {
		return
	}
	if err := w.store.DropLease(ctx, w.lease); err != nil {
		w.log.WarnContext(ctx, "cannot return the lease", slog.Any("error", err))
	}
}

// Step does everything that is due and returns how long nothing will be, unless nudged. It
// takes or renews the lease, polls open orders, and plans and sends new ones.
func (w *Worker) Step(ctx context.Context) time.Duration {
	w.heartbeat()
	defer w.beat.Store(nil)
	w.clockErr = nil
	leads, err := w.lead(ctx)
	w.leads.Store(leads)
	w.report(ctx, "the lease", err)
	if !leads {
		return idleWait
	}
	w.alarms.begin(w.lease.Epoch, w.now())
	w.stands.begin(w.lease.Epoch)
	collectErr := w.collect(ctx, false)
	w.report(ctx, "the answer to a send", collectErr)
	_, err = w.store.CompleteReversals(ctx, w.lease)
	w.report(ctx, "taking awards back", err)
	wait, err := w.work(ctx)
	if err != nil {
		w.endEarly()
	}
	if errors.Is(errors.Join(err, collectErr), rewards.ErrLostLease) {
		w.lease = rewards.Lease{}
	}
	w.report(ctx, "a step", err)
	w.report(ctx, "the webhook endpoints", w.watchWebhooks(ctx))
	w.raiseUnbooked()
	if ctx.Err() == nil { // the end of this process is no alarm
		w.report(ctx, "alarms", w.alarms.end(ctx, w.store, w.lease, w.log))
		w.report(ctx, "why stocks are not ordered", w.stands.end(ctx, w.store, w.lease))
	}
	if rest := w.actions.nextSweep.Sub(w.now()); rest > 0 {
		wait = min(wait, rest)
	}
	return min(wait, idleWait)
}

// report logs an error that a later step retries.
func (w *Worker) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "fulfillment failed, will retry", slog.String("what", what), slog.Any("error", err))
	}
}

// lead takes the lease, or renews it when half of its time is over.
func (w *Worker) lead(ctx context.Context) (bool, error) {
	now := w.now()
	if w.fresh(now) {
		return true, nil
	}
	l, err := w.takeLease(ctx)
	if err != nil {
		return w.lease.Held(now), err
	}
	fresh := l.Epoch > 0 && l.Epoch != w.lease.Epoch
	if w.lease = l; fresh {
		w.takeovers.add(l.Epoch, now)
		w.newest = 0 // a database that went back lacks the newest orders
		w.log.InfoContext(ctx, "this process leads fulfillment", slog.Int64("epoch", l.Epoch))
		if err := w.store.SaveBrakes(ctx, l, w.cfg.Brakes); err != nil {
			w.lease = rewards.Lease{} // so that the next step stores them
			return false, err
		}
	}
	return l.Epoch > 0, nil
}

// takeLease takes or renews the lease. When the store may lack orders that a process has sent, the broker's orders are
// compared only when those that are under way have arrived.
func (w *Worker) takeLease(ctx context.Context) (rewards.Lease, error) {
	l, err := w.store.TakeLease(ctx, w.cfg.Holder, w.cfg.LeaseTTL, w.cfg.Exclusive)
	if err == nil && l.Loss != rewards.NoLoss {
		w.compared.lost(w.now())
	}
	if err == nil && l.Loss == rewards.WentBack {
		w.log.ErrorContext(ctx, "the database went back in time while this process ran: restart every process; "+
			"the broker's orders are compared before anything is ordered: see docs/backup.md")
	}
	return l, err
}

// stillLeads renews the lease within a step. It fails with ErrLostLease when another process has led since the step
// began, also if the lease is this one's again: what the step has read may have changed.
func (w *Worker) stillLeads(ctx context.Context) error {
	if w.fresh(w.now()) {
		return nil
	}
	l, err := w.takeLease(ctx)
	switch {
	case err != nil && w.lease.Held(w.now()):
		return nil
	case err != nil:
		return err
	case l.Epoch != w.lease.Epoch:
		return rewards.ErrLostLease
	}
	w.lease = l
	return nil
}

// fresh reports whether the lease needs no renewal yet.
func (w *Worker) fresh(now time.Time) bool {
	return w.lease.Held(now) && w.lease.Until.Sub(now) > w.cfg.LeaseTTL/2
}

// work does what is due for the leader.
func (w *Worker) work(ctx context.Context) (time.Duration, error) {
	live, err := w.store.LiveOrders(ctx)
	if err != nil {
		return idleWait, err
	}
	for _, o := range live {
		w.newest = max(w.newest, o.Number)
	}
	w.readBrakes(live)
	for _, symbol := range w.market.Doubts() {
		w.alarms.raise(rewards.AlarmPriceInDoubt+symbol,
			"its price is in doubt: see `stockrewards asset confirm` and `asset reject`")
	}
	w.report(ctx, "the budgets", w.watchBudgets(ctx))
	clock, clockErr := w.clock(ctx)
	if err := w.market.ClockRefused(); err != nil {
		w.alarms.raise(rewards.AlarmClockRefused, "nothing is ordered or booked: "+err.Error())
	}
	right, err := w.checkAccount(ctx)
	if !right {
		cause := rewards.CauseBroker
		if w.account.alarm == rewards.AlarmAccountDiffers {
			cause = rewards.CauseConflict
		}
		w.stands.stop(0, cause, time.Time{})
		return idleWait, errors.Join(err, w.keepAlarms(ctx, live), w.watchActions(ctx, nil, clock, false))
	}
	w.report(ctx, "the broker's account", err)
	if w.conflictsEpoch != w.lease.Epoch {
		w.report(ctx, "the first comparison", w.compareFirst(ctx))
	}
	watchErr := w.watchActions(ctx, live, clock, clockErr == nil)
	if errors.Is(watchErr, rewards.ErrLostLease) {
		return idleWait, watchErr
	}
	pollWait, pollErr := w.poll(ctx, live)
	if errors.Is(pollErr, rewards.ErrLostLease) {
		return idleWait, errors.Join(watchErr, pollErr)
	}
	planWait, planErr := w.plan(ctx, live)
	bookErr := w.bookEnds(context.WithoutCancel(ctx)) // of the orders whose send was answered with their end
	return min(pollWait, planWait), errors.Join(watchErr, pollErr, planErr, bookErr)
}
