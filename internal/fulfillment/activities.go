package fulfillment

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const (
	activitiesEvery = time.Minute
	activitiesSoon  = 5 * time.Second     // while an action waits for cash
	activitiesBack  = 40 * 24 * time.Hour // that the first reading covers
	activitiesAgain = 24 * time.Hour      // that the next ones cover: an activity may come late
	fillsAgain      = 10 * time.Minute    // that each reading of fills covers
	fillsBack       = 24 * time.Hour      // that one covers at most, after fills could not be read
	// activitiesSilence is how long reading the activities may fail without an alarm.
	activitiesSilence = 10 * time.Minute
)

// activityWatch is what the leader knows of the broker's account activities.
type activityWatch struct {
	next    time.Time // ours, of the next page
	fills   bool      // the reading under way is of fills, after the one of all others
	readAt  time.Time // the broker's, of the last complete reading of the others; zero: never
	filled  time.Time // the same of fills
	after   time.Time // the broker's, from when the reading under way covers
	begun   time.Time // the broker's, of its beginning
	pages   pages
	others  outage              // of reading all but fills
	ofFills outage              // of reading fills
	number  int64               // of the reading under way, or of the last one
	read    int64               // number of the last complete reading of the others
	seen    map[string]evidence // by action
}

// outage is why a list cannot be read to its end, and since when.
type outage struct {
	since time.Time // ours
	why   string    // "" when it was read
}

// lasts reports whether the outage is due for an alarm.
func (o outage) lasts(now time.Time) bool { return o.why != "" && now.Sub(o.since) > activitiesSilence }

// evidence is a difference between the positions and the store that may show an action, and when it was first seen.
type evidence struct {
	differs [2]money.Shares // of the action's stock and of the one that it gives
	reading int64           // number of the last reading of activities that had begun
	at      time.Time       // ours
}

// covers reports whether the activities were read completely since the positions show what they show of an action: the
// reading began after that was first seen. When they cannot be read for activitiesSilence, they count as read.
func (a *activityWatch) covers(action string, s rewards.Standing, now time.Time) bool {
	differs := [2]money.Shares{s.Source.Theirs - s.Source.Booked, s.Target.Theirs - s.Target.Booked}
	seen, found := a.seen[action]
	if s.LiveOrder == "" && (!found || seen.differs != differs) {
		if a.seen == nil {
			a.seen = make(map[string]evidence)
		}
		seen = evidence{differs: differs, reading: a.number, at: now}
		a.seen[action] = seen
	}
	return a.read > seen.reading || now.Sub(seen.at) > activitiesSilence
}

// begin begins a reading at the broker's time now. There are many fills, of which only corrections matter: what came
// before the first reading is found by comparing orders.
func (a *activityWatch) begin(now time.Time) {
	a.begun, a.pages, a.number = now, pages{}, a.number+1
	switch {
	case a.fills && a.filled.IsZero():
		a.after = now.Add(-fillsAgain)
	case a.fills && now.Sub(a.filled) > fillsBack:
		a.after = now.Add(-fillsBack)
	case a.fills:
		a.after = a.filled.Add(-fillsAgain)
	case a.readAt.IsZero():
		a.after = now.Add(-activitiesBack)
	default:
		a.after = a.readAt.Add(-activitiesAgain)
	}
}

// end ends a reading: that of fills follows the one of all others, once a minute.
func (a *activityWatch) end() {
	*a.outage() = outage{}
	if a.fills {
		a.filled, a.fills = a.begun, false
		return
	}
	a.read = a.number
	a.readAt, a.fills = a.begun, a.begun.Sub(a.filled) >= activitiesEvery
}

// outage is that of what is being read.
func (a *activityWatch) outage() *outage {
	if a.fills {
		return &a.ofFills
	}
	return &a.others
}

// fail starts the readings over, and reports whether the last one of this kind succeeded. When there are too many
// fills, the next reading covers the last minutes only, so that it does not grow for ever.
func (a *activityWatch) fail(now time.Time, err error) (begins bool) {
	o := a.outage()
	if begins = o.why == ""; begins {
		o.since = now
	}
	o.why = err.Error()
	if a.fills && errors.Is(err, errEndless) {
		a.filled = time.Time{}
	}
	a.pages, a.fills = pages{}, false
	return begins
}

// category is what is being read.
func (a *activityWatch) category() rewards.ActivityCategory {
	if a.fills {
		return rewards.TradeActivities
	}
	return rewards.OtherActivities
}

// expectsCash reports whether the pay date of an action has come.
func (w *Worker) expectsCash(clock rewards.MarketClock) bool {
	return slices.ContainsFunc(w.actions.unpaid, func(a rewards.Action) bool {
		return a.PayDate <= rewards.DateOf(clock.Now)
	})
}

// readActivities reads the next page of the broker's account activities when it is due, and stores
// it as it came.
func (w *Worker) readActivities(ctx context.Context, clock rewards.MarketClock) error {
	a, now := &w.actions.activities, w.now()
	switch {
	case a.others.lasts(now):
		w.alarms.raise(rewards.AlarmActivitiesUnknown, cannotReadActivities+": "+a.others.why+
			"; dividends and the cash of mergers are not shared")
	case a.ofFills.lasts(now):
		w.alarms.raise(rewards.AlarmActivitiesUnknown, cannotReadActivities+": "+a.ofFills.why+
			"; corrections of fills are booked later")
	}
	every := activitiesEvery
	if w.expectsCash(clock) || w.anyDue(clock) {
		every = activitiesSoon
	}
	if wait := a.next.Sub(now); wait > 0 && wait <= every && a.pages.token == "" && !a.fills || a.pages.wait(now) > 0 {
		return nil
	}
	a.next = now.Add(every)
	if a.pages.token == "" {
		a.begin(clock.Now)
	}
	page, next, err := w.askActivities(ctx)
	if err != nil {
		w.activitiesFailed(ctx, err)
		return nil
	}
	var kept []rewards.Activity
	for _, n := range page {
		if !n.Plain() {
			kept = append(kept, n)
		}
		w.noteCorrection(ctx, n)
	}
	if len(kept) > 0 {
		if err := w.store.SaveActivities(ctx, w.lease, kept); err != nil {
			return err
		}
	}
	for _, n := range kept {
		if err := w.proposeUndo(ctx, n); err != nil {
			return err
		}
	}
	if err := a.pages.turn(next, now); err != nil {
		w.activitiesFailed(ctx, err)
	} else if next == "" {
		a.end()
	}
	return nil
}

const cannotReadActivities = "cannot read the broker's account activities"

// activitiesFailed ends a reading that failed. It is logged once; when it lasts, it has its alarm.
func (w *Worker) activitiesFailed(ctx context.Context, err error) {
	if w.actions.activities.fail(w.now(), err) && ctx.Err() == nil {
		w.log.WarnContext(ctx, cannotReadActivities+"; retrying", slog.Any("error", err))
	}
}

// askActivities asks the broker for the next page.
func (w *Worker) askActivities(ctx context.Context) (page []rewards.Activity, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	a := &w.actions.activities
	err = w.await(ctx, func(ctx context.Context, _ betweenPages) (err error) {
		page, next, err = w.broker.Activities(ctx, a.category(), a.after, a.pages.token)
		return err
	})
	return page, next, err
}

// basisPart is the part of the cost basis that a spin-off moves, by the prices that the broker's
// activities name, or else by the first trades on the ex-date. It adds what is missing, and the price after it.
// Positions and activities are read one after the other, so trades count only when the activities cover the positions.
func (w *Worker) basisPart(a rewards.Action, p *prepared) (part rewards.Fraction, err error) {
	source, given := a.SpinOffPrices(p.activities, p.symbols...)
	covered := w.actions.activities.covers(a.ID, p.standing, w.now())
	if (source == 0 || given == 0) && (covered || !a.NeedsActivities(p.standing)) {
		open := a.ExDate.Open()
		var tradedAt time.Time
		source, tradedAt = w.market.FirstTrade(a.AssetID, open)
		given, _ = w.market.FirstTrade(p.target.ID, open)
		for _, later := range p.others {
			source = a.PriceBefore(later, source, tradedAt, p.standing.Source.Undone)
		}
	}
	if source == 0 || given == 0 {
		p.waits = "the prices on the ex-date"
		return part, nil
	}
	p.explained = a.PriceAfter(w.market.LastPrice(a.AssetID), source, given)
	return a.BasisPart(source, given)
}

// proposeUndo asks an operator about an applied action whose booking the broker has changed.
func (w *Worker) proposeUndo(ctx context.Context, n rewards.Activity) error {
	if !n.Revokes() || n.Symbol == "" {
		return nil
	}
	list, err := w.store.Actions(ctx, rewards.ActionSwept, n.Symbol, 1)
	if err != nil || len(list) == 0 || n.Date < list[0].ExDate {
		return err
	}
	err = w.changeAction(ctx, list[0], list[0].Revoked(n))
	if errors.Is(err, rewards.ErrStale) {
		return nil // the next reading has it again
	}
	return err
}
