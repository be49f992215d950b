package fulfillment

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// announcements are a complete reading, with what the store knows of it.
type announcements struct {
	observation rewards.Observation
	from, to    rewards.Date
	assets      map[string]rewards.AssetID // by symbol
	exposed     map[rewards.AssetID]bool   // shares of it are booked
	listed      []rewards.Announcement     // of the catalog's stocks
	known       map[string]rewards.Action
}

// takeAnnouncements stores what a complete reading changes.
func (w *Worker) takeAnnouncements(ctx context.Context, r reading, clock rewards.MarketClock) error {
	ids := make([]string, len(r.list))
	for i, n := range r.list {
		ids[i] = n.ID
	}
	known, err := w.store.ActionsSince(ctx, r.from, ids) // the broker may list again what is over long since
	if err != nil {
		return err
	}
	bodies, err := w.store.LastBodies(ctx, r.from, ids)
	if err != nil {
		return err
	}
	l, err := w.newAnnouncements(ctx, r, known)
	if err != nil {
		return err
	}
	l.observation = rewards.Observation{Now: clock.Now, SeenAt: w.now(), Sessions: w.sessions(ctx, l.listed)}
	changes := append(l.changes(bodies), l.missing(&w.actions)...)
	if len(changes) == 0 {
		return nil
	}
	if err := w.store.ChangeActions(ctx, w.lease, changes); err != nil && !errors.Is(err, rewards.ErrStale) {
		return err // after ErrStale, an operator's decision, the next reading tries again
	}
	w.actions.openAt = time.Time{}
	return nil
}

// sessions are the market's days around the listed ex-dates; empty when they cannot be read, and
// the holds then begin early.
func (w *Worker) sessions(ctx context.Context, listed []rewards.Announcement) []rewards.Date {
	const before = 14
	var first, last rewards.Date
	for _, n := range listed {
		if !n.Type.Holds() && !n.Type.Pays() || !n.ExDate.Valid() {
			continue
		}
		if first == "" || n.ExDate < first {
			first = n.ExDate
		}
		last = max(last, n.ExDate)
	}
	if first == "" {
		return nil
	}
	days, err := ask(ctx, w, func(ctx context.Context) ([]rewards.Date, error) {
		return w.broker.Sessions(ctx, first.Plus(-before), last)
	})
	if err != nil {
		w.report(ctx, "the market's calendar", err)
		return nil
	}
	return days
}

func (w *Worker) newAnnouncements(ctx context.Context, r reading, known []rewards.Action) (*announcements, error) {
	l := &announcements{
		from: r.from, to: r.to, assets: make(map[string]rewards.AssetID),
		exposed: make(map[rewards.AssetID]bool), known: make(map[string]rewards.Action, len(known)),
	}
	assets, err := w.store.Assets(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range assets {
		l.assets[a.Symbol] = a.ID
	}
	booked, err := w.store.Booked(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range booked {
		l.exposed[b.AssetID] = b.Quantity > 0
	}
	for _, a := range known {
		l.known[a.ID] = a
	}
	seen := make(map[string]bool, len(r.list))
	for _, n := range r.list {
		_, inCatalog := l.asset(n)
		if _, known := l.known[n.ID]; (inCatalog || known) && !seen[n.ID] {
			l.listed, seen[n.ID] = append(l.listed, n), true
		}
	}
	return l, nil
}

// asset is the catalog's stock that an announcement is about: the one whose units change or, if
// the catalog has renamed that, the one that it became.
func (l *announcements) asset(n rewards.Announcement) (rewards.AssetID, bool) {
	if id, found := l.assets[n.Symbol]; found {
		return id, true
	}
	id, found := l.assets[n.NewSymbol]
	return id, found
}

// changes are what the listed announcements change.
func (l *announcements) changes(bodies map[string]string) []rewards.ActionChange {
	var changes []rewards.ActionChange
	for _, n := range l.listed {
		before, known := l.known[n.ID]
		if !known {
			id, _ := l.asset(n)
			after := l.observation.NewAction(n, id, l.exposed[id])
			after = l.observation.Foreseen(after, maps.Values(l.known))
			changes = append(changes, rewards.ActionChange{After: after, Body: n.Body})
			continue
		}
		if id, found := l.assets[n.Symbol]; found && id == before.AssetID {
			n.Symbol = before.Symbol // under the stock's new symbol it is the same announcement
		}
		revised := bodies[n.ID] != n.Body
		change := rewards.ActionChange{Before: before, After: l.observation.Revise(before, n, revised)}
		if change.After.Revision != before.Revision {
			change.Body = n.Body
		}
		if revised || change.After != before {
			changes = append(changes, change)
		}
	}
	return changes
}

// missing are the changes of actions that the list no longer has.
func (l *announcements) missing(w *actionWatch) []rewards.ActionChange {
	var changes []rewards.ActionChange
	missed := make(map[string]int)
	for id, before := range l.known {
		inWindow := before.ProcessDate >= l.from && before.ProcessDate <= l.to
		listed := slices.ContainsFunc(l.listed, func(n rewards.Announcement) bool { return n.ID == id })
		if listed || !inWindow || before.Revision == 0 { // it was never announced
			continue
		}
		if missed[id] = w.missed[id] + 1; missed[id] < missedReadings {
			continue
		}
		if after := l.observation.Withdraw(before); after != before {
			changes = append(changes, rewards.ActionChange{Before: before, After: after})
		}
	}
	w.missed = missed
	return changes
}
