package fulfillment

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// The announcements of corporate actions are read one page in a step, so that a slow broker
// delays one step by at most pagePatience.
const (
	announceEvery = 15 * time.Second // between two pages, while those of the last evening are known
	announceRetry = 2 * time.Second  // doubles up to announceEvery
	pagePatience  = 5 * time.Second
	openEvery     = time.Second // how soon an operator's decision is seen

	daysBack  = 10 // of the process date: late announcements
	daysAhead = 90

	// missedReadings is how many complete readings in a row must miss an action before it
	// counts as withdrawn: pages may shift while they are read.
	missedReadings = 2
)

// actionWatch is what the leader knows of corporate actions.
type actionWatch struct {
	open   []rewards.Action // as last read from the store
	openAt time.Time        // ours; zero: never, or out of date

	reading  reading
	nextPage time.Time // ours
	retry    time.Duration
	readAt   time.Time // the broker's, of the last complete reading; zero: never
	trouble  string    // why the last reading failed; "" when it was complete
	denied   bool      // the broker offers no announcements
	missed   map[string]int

	positions positionWatch
	sweep     rewards.Switch // whose sweep goes on; Number 0: none
	unsure    rewards.Switch // of an action that may have been applied: the commit had no answer
	nextSweep time.Time      // ours, of its next transaction

	activities activityWatch
	unpaid     []rewards.Action     // that the broker will pay, or whose cash is not paid out
	entitled   map[string]time.Time // boundaries of dividends for which it is recorded who is entitled, by action
	shortages  []rewards.Shortage

	corrections []rewards.Correction // of the last days
}

// reading is a list of announcements of which some pages have been read.
type reading struct {
	from, to rewards.Date
	pages    pages
	list     []rewards.Announcement
}

// current reports whether the announcements were read since the last evening. An action that was
// announced by then holds its stock before the next session.
func (a *actionWatch) current(now time.Time) bool {
	return a.denied || !a.readAt.IsZero() && !a.readAt.Before(rewards.LastEvening(now)) && !a.readAt.After(now)
}

// sweeps reports whether a sweep changes holdings of the stock, or may do so.
func (a *actionWatch) sweeps(id rewards.AssetID) bool {
	return a.sweep.Number > 0 && (a.sweep.AssetID == id || a.sweep.Target == id) ||
		a.unsure.AssetID == id || a.unsure.Target == id
}

// announced reports whether an action of the stock is announced.
func (a *actionWatch) announced(id rewards.AssetID) bool {
	return slices.ContainsFunc(a.open, func(b rewards.Action) bool {
		return b.AssetID == id && b.State == rewards.ActionAnnounced
	})
}

// suspects reports whether the position of a stock looks like a split that is not confirmed yet.
func (a *actionWatch) suspects(id rewards.AssetID) bool { return a.positions.suspects[id] > 0 }

// stops reports whether a stock is not ordered because of what is being found out, or done, about an action.
func (a *actionWatch) stops(id rewards.AssetID) bool {
	return a.suspects(id) || a.sweeps(id) || a.positions.paused[id]
}

// pause is how long to wait for the next page.
func (a *actionWatch) pause(now time.Time) time.Duration {
	wait := a.reading.pages.wait(now)
	if a.trouble != "" {
		wait = max(wait, a.nextPage.Sub(now))
	}
	return max(nudgeWait, min(idleWait, wait))
}

// watchActions reads what is due of announcements and positions, and begins the holds that are
// due. While the broker's clock is unknown it only raises alarms: nothing is ordered then.
func (w *Worker) watchActions(
	ctx context.Context, live []rewards.Order, clock rewards.MarketClock, known bool,
) (err error) {
	a := &w.actions
	if !known {
		clock.Now = w.now()
	}
	if age := w.now().Sub(a.openAt); age < 0 || age >= openEvery {
		err = w.readOpen(ctx, clock)
	}
	if known {
		err = errors.Join(err, w.readPage(ctx, clock), w.readActivities(ctx, clock))
		if a.openAt.IsZero() {
			err = errors.Join(err, w.readOpen(ctx, clock))
		}
		err = errors.Join(err, w.beginHolds(ctx, clock), w.entitleAll(ctx, clock),
			w.comparePositions(ctx, live, clock), w.sweep(ctx), w.payOut(ctx, clock))
		w.raiseReading(clock)
	}
	err = errors.Join(err, w.watchShortages(ctx, clock, known))
	w.raiseCorrections()
	for _, action := range a.open {
		if message := action.Alarm(clock.Now); message != "" {
			w.alarms.raise(rewards.AlarmAction+action.ID, message)
		}
	}
	return err
}

// raiseReading raises the alarm of announcements that cannot be read.
func (w *Worker) raiseReading(clock rewards.MarketClock) {
	a := &w.actions
	switch {
	case a.denied:
		w.alarms.raise(rewards.AlarmActionsUnknown,
			"the broker offers no announcements of corporate actions ("+a.trouble+
				"); only a position that looks like a split holds a stock")
	case a.trouble != "" && !a.current(clock.Now):
		w.alarms.raise(rewards.AlarmActionsUnknown, "cannot read corporate actions: "+a.trouble+
			"; nothing is ordered until they are read once after the last 20:00 New York")
	case a.trouble != "" && clock.Now.Sub(a.readAt) > time.Hour:
		w.alarms.raise(rewards.AlarmActionsUnknown, "cannot read corporate actions: "+a.trouble)
	}
}

// readOpen reads the open actions from the store.
func (w *Worker) readOpen(ctx context.Context, clock rewards.MarketClock) error {
	open, err := w.store.OpenActions(ctx, rewards.DateOf(clock.Now))
	if err != nil {
		return err
	}
	rewards.SortToJudge(open)
	w.actions.open, w.actions.openAt, w.actions.entitled = open, w.now(), make(map[string]time.Time)
	if w.actions.sweep, _, err = w.store.OpenSwitch(ctx); err != nil {
		return err
	}
	w.actions.unsure = rewards.Switch{}
	if w.actions.unpaid, err = w.store.UnpaidActions(ctx); err != nil {
		return err
	}
	if w.actions.shortages, err = w.store.Shortages(ctx); err != nil {
		return err
	}
	w.actions.corrections, err = w.store.Corrections(ctx, w.now().Add(-correctionAlarm))
	return err
}

// readPage reads the next page of announcements when it is due: at once, but for long lists, while those of the last
// evening are not read.
func (w *Worker) readPage(ctx context.Context, clock rewards.MarketClock) error {
	a, now := &w.actions, w.now()
	current := a.current(clock.Now)
	wait := a.nextPage.Sub(now)
	if wait > 0 && wait <= announceEvery && (a.trouble != "" || current) || a.reading.pages.wait(now) > 0 {
		return nil
	}
	r := a.reading
	if today := rewards.DateOf(clock.Now); r.pages.token == "" || r.from != today.Plus(-daysBack) {
		r = reading{from: today.Plus(-daysBack), to: today.Plus(daysAhead)}
	}
	within, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	var page []rewards.Announcement
	var next string
	err := w.await(within, func(ctx context.Context, _ betweenPages) (err error) {
		page, next, err = w.broker.Announcements(ctx, r.from, r.to, r.pages.token)
		return err
	})
	if err == nil {
		err = r.pages.turn(next, now)
	}
	if err != nil {
		w.pageFailed(ctx, now, err)
		return nil // it has its alarm
	}
	r.list = append(r.list, page...)
	if next != "" {
		if a.reading, a.nextPage = r, now; current {
			a.nextPage = now.Add(announceEvery)
		}
		return nil
	}
	a.reading = reading{}
	if err := w.takeAnnouncements(within, r, clock); err != nil {
		w.pageFailed(ctx, now, err)
		return err
	}
	a.readAt, a.trouble, a.denied = clock.Now, "", false
	a.nextPage, a.retry = now.Add(announceEvery), 0
	return nil
}

// pageFailed starts the reading over, after a pause that grows until a reading is complete. It logs the first failure.
func (w *Worker) pageFailed(ctx context.Context, now time.Time, err error) {
	a := &w.actions
	if a.trouble == "" && ctx.Err() == nil {
		w.log.WarnContext(ctx, "cannot read corporate actions; retrying", slog.Any("error", err))
	}
	a.retry = min(max(2*a.retry, announceRetry), announceEvery)
	a.reading, a.nextPage, a.trouble = reading{}, now.Add(a.retry), err.Error()
	offered := a.denied || a.readAt.IsZero() // what was read once is offered: something between answers
	a.denied = offered && rewards.BrokerKindOf(err) == rewards.BrokerNotFound
}

// beginHolds begins the holds that are due, and ends the actions that are over.
func (w *Worker) beginHolds(ctx context.Context, clock rewards.MarketClock) error {
	o := rewards.Observation{Now: clock.Now, SeenAt: w.now()}
	var changes []rewards.ActionChange
	for i, a := range w.actions.open {
		if after := o.Tick(a); after != a {
			changes = append(changes, rewards.ActionChange{Before: a, After: after})
			w.actions.open[i] = after
		}
	}
	if len(changes) == 0 {
		return nil
	}
	err := w.store.ChangeActions(ctx, w.lease, changes)
	if err != nil {
		w.actions.openAt = time.Time{}
	}
	if errors.Is(err, rewards.ErrStale) {
		return nil // an operator was faster
	}
	return err
}

// holds reports whether an asset is not ordered now because of a corporate action, or because
// the announcements were not read.
func (w *Worker) holds(ctx context.Context, id rewards.AssetID, clock rewards.MarketClock) (bool, error) {
	if !w.actions.current(clock.Now) || w.actions.stops(id) {
		return true, nil
	}
	hold, err := w.store.AssetHold(ctx, id)
	return err == nil && hold.InForce(clock.FilledUntil()), err
}
