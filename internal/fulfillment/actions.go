package fulfillment

import (
	"context"
	"errors"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// The reading of corporate actions: a page at a time, so that a slow answer holds up
// one step by no more than its patience.
const (
	announceEvery = 15 * time.Second // one page; a reading of one page shows within that
	announceRetry = 2 * time.Second  // grows up to announceEvery
	pagePatience  = 5 * time.Second
	boardEvery    = 5 * time.Second // how soon an operator's word is seen

	daysBack  = 10 // of the process date: what was announced late
	daysAhead = 90
	maxPages  = 200 // a broker that never ends its list is not believed

	// missedReadings is how many complete readings must miss an action in a row before
	// it counts as withdrawn: pages may shift while they are read.
	missedReadings = 2
)

// actionDesk is what the leader knows of corporate actions.
type actionDesk struct {
	board   []rewards.Action // open ones, as last read from the store
	boardAt time.Time        // ours; zero: never

	reading  reading
	nextPage time.Time // ours
	retry    time.Duration
	readAt   time.Time // the broker's, of the last complete reading; zero: never
	trouble  string    // why the last page could not be read; "" when it could
	denied   bool      // the broker offers no announcements
	missed   map[string]int

	positions positionDesk
}

// reading is a list of announcements of which some pages have been read.
type reading struct {
	from, to rewards.Date
	token    string
	pages    int
	list     []rewards.Announcement
}

// current tells whether the announcements were read since the last evening: what was
// announced by then holds its stock before the next session.
func (d *actionDesk) current(now time.Time) bool {
	return d.denied || !d.readAt.IsZero() && !d.readAt.Before(rewards.LastEvening(now)) && !d.readAt.After(now)
}

// suspects tells whether a stock's position looks like a split's, not yet confirmed.
func (d *actionDesk) suspects(id rewards.AssetID) bool { return d.positions.suspects[id] > 0 }

// pause is how long to wait for the next page.
func (d *actionDesk) pause(now time.Time) time.Duration {
	if d.trouble == "" {
		return nudgeWait
	}
	return max(nudgeWait, min(idleWait, d.nextPage.Sub(now)))
}

// watchActions reads what is due of announcements and positions, and begins the holds
// whose time has come. While the broker's clock is not known only the alarms remain:
// nothing is ordered then.
func (w *Worker) watchActions(
	ctx context.Context, live []rewards.Order, clock rewards.MarketClock, known bool,
) (err error) {
	d := &w.actions
	if !known {
		clock.Now = w.now()
	}
	if age := w.now().Sub(d.boardAt); age < 0 || age >= boardEvery {
		err = w.readBoard(ctx, clock)
	}
	if known {
		err = errors.Join(err, w.readPage(ctx, clock))
		if d.boardAt.IsZero() { // it has changed
			err = errors.Join(err, w.readBoard(ctx, clock))
		}
		err = errors.Join(err, w.beginHolds(ctx, clock), w.comparePositions(ctx, live, clock))
		w.raiseReading(clock)
	}
	for _, a := range d.board {
		if text := a.Alarm(clock.Now); text != "" {
			w.alarms.raise(rewards.AlarmAction+a.ID, text)
		}
	}
	return err
}

// raiseReading notes that announcements cannot be read.
func (w *Worker) raiseReading(clock rewards.MarketClock) {
	d := &w.actions
	switch {
	case d.denied:
		w.alarms.raise(rewards.AlarmActionsUnknown, "the broker offers no announcements of corporate actions ("+d.trouble+
			"); only a position that looks like a split holds a stock")
	case d.trouble != "" && !d.current(clock.Now):
		w.alarms.raise(rewards.AlarmActionsUnknown, "corporate actions cannot be read: "+d.trouble+
			"; nothing is ordered until they were read once since the last 20:00 New York")
	case d.trouble != "" && clock.Now.Sub(d.readAt) > time.Hour:
		w.alarms.raise(rewards.AlarmActionsUnknown, "corporate actions cannot be read: "+d.trouble)
	}
}

// readBoard reads the open actions again.
func (w *Worker) readBoard(ctx context.Context, clock rewards.MarketClock) error {
	board, err := w.store.OpenActions(ctx, rewards.DateOf(clock.Now))
	if err == nil {
		w.actions.board, w.actions.boardAt = board, w.now()
	}
	return err
}

// readPage reads the next page of announcements when it is due: at once while those of
// the last evening are not read.
func (w *Worker) readPage(ctx context.Context, clock rewards.MarketClock) error {
	d, now := &w.actions, w.now()
	wait := d.nextPage.Sub(now)
	if wait > 0 && wait <= announceEvery && (d.trouble != "" || d.current(clock.Now)) {
		return nil
	}
	r := d.reading
	if today := rewards.DateOf(clock.Now); r.token == "" || r.from != today.Plus(-daysBack) {
		r = reading{from: today.Plus(-daysBack), to: today.Plus(daysAhead)}
	}
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	page, next, err := w.broker.Announcements(ctx, r.from, r.to, r.token)
	if err == nil && r.pages >= maxPages {
		err = errors.New("the list does not end")
	}
	if err != nil {
		w.pageFailed(now, err)
		return nil // it has its alarm, and does not hold up the rest
	}
	r.token, r.pages, r.list = next, r.pages+1, append(r.list, page...)
	d.reading, d.nextPage, d.retry = r, now.Add(announceEvery), 0
	if next != "" {
		d.trouble = ""
		return nil
	}
	d.reading = reading{}
	if err := w.takeAnnouncements(ctx, r, clock); err != nil {
		return err
	}
	d.readAt, d.trouble, d.denied = clock.Now, "", false
	return nil
}

// pageFailed begins again later.
func (w *Worker) pageFailed(now time.Time, err error) {
	d := &w.actions
	d.retry = min(max(2*d.retry, announceRetry), announceEvery)
	d.reading, d.nextPage, d.trouble = reading{}, now.Add(d.retry), err.Error()
	d.denied = rewards.BrokerKindOf(err) == rewards.BrokerNotFound
}

// takeAnnouncements stores what a complete reading changes.
func (w *Worker) takeAnnouncements(ctx context.Context, r reading, clock rewards.MarketClock) error {
	known, err := w.store.ActionsSince(ctx, r.from)
	if err != nil {
		return err
	}
	bodies, err := w.store.LastBodies(ctx, r.from)
	if err != nil {
		return err
	}
	c, err := w.newCensus(ctx, r, known)
	if err != nil {
		return err
	}
	c.observation = rewards.Observation{Now: clock.Now, SeenAt: w.now(), Sessions: w.sessions(ctx, c.listed)}
	changes := append(c.changes(bodies), c.missing(&w.actions)...)
	if len(changes) == 0 {
		return nil
	}
	if err := w.store.ChangeActions(ctx, w.lease, changes); err != nil && !errors.Is(err, rewards.ErrStale) {
		return err // a stale one was resumed meanwhile: the next reading sees it
	}
	w.actions.boardAt = time.Time{}
	return nil
}

// sessions are the market's days around what is listed; empty when they cannot be read:
// the holds then begin early.
func (w *Worker) sessions(ctx context.Context, listed []rewards.Announcement) []rewards.Date {
	const before = 14
	var first, last rewards.Date
	for _, n := range listed {
		if !n.Type.Holds() || !n.ExDate.Valid() {
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
	days, err := w.broker.Sessions(ctx, first.Plus(-before), last)
	if err != nil {
		w.report(ctx, "the market's calendar", err)
		return nil
	}
	return days
}

// beginHolds begins the holds whose time has come, and ends what is over.
func (w *Worker) beginHolds(ctx context.Context, clock rewards.MarketClock) error {
	s := rewards.Observation{Now: clock.Now, SeenAt: w.now()}
	var changes []rewards.ActionChange
	for i, a := range w.actions.board {
		if after := s.Tick(a); after != a {
			changes = append(changes, rewards.ActionChange{Before: a, After: after})
			w.actions.board[i] = after
		}
	}
	if len(changes) == 0 {
		return nil
	}
	err := w.store.ChangeActions(ctx, w.lease, changes)
	if err != nil {
		w.actions.boardAt = time.Time{}
	}
	if errors.Is(err, rewards.ErrStale) {
		return nil // an operator was faster
	}
	return err
}

// holds tells whether an asset is not ordered now because of a corporate action, or of
// announcements that were not read. It is asked right before a send.
func (w *Worker) holds(ctx context.Context, id rewards.AssetID, clock rewards.MarketClock) (bool, error) {
	if !w.actions.current(clock.Now) || w.actions.suspects(id) {
		return true, nil
	}
	hold, err := w.store.AssetHold(ctx, id)
	return err == nil && hold.InForce(clock.Now), err
}

// census is a complete reading beside what the books know.
type census struct {
	observation rewards.Observation
	from, to    rewards.Date
	assets      map[string]rewards.AssetID // by symbol
	exposed     map[rewards.AssetID]bool   // the books have shares of it
	listed      []rewards.Announcement     // of the catalog's stocks
	known       map[string]rewards.Action
}

func (w *Worker) newCensus(ctx context.Context, r reading, known []rewards.Action) (*census, error) {
	c := &census{
		from: r.from, to: r.to, assets: make(map[string]rewards.AssetID),
		exposed: make(map[rewards.AssetID]bool), known: make(map[string]rewards.Action, len(known)),
	}
	assets, err := w.store.Assets(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range assets {
		c.assets[a.Symbol] = a.ID
	}
	booked, err := w.store.Booked(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range booked {
		c.exposed[b.AssetID] = b.Quantity > 0
	}
	for _, a := range known {
		c.known[a.ID] = a
	}
	seen := make(map[string]bool, len(r.list))
	for _, n := range r.list {
		_, ours := c.asset(n)
		if _, known := c.known[n.ID]; (ours || known) && !seen[n.ID] {
			c.listed, seen[n.ID] = append(c.listed, n), true
		}
	}
	return c, nil
}

// asset is the catalog's stock that an announcement is about: the one whose units
// change, or, when that has been renamed, the one that it became.
func (c *census) asset(n rewards.Announcement) (rewards.AssetID, bool) {
	if id, ours := c.assets[n.Symbol]; ours {
		return id, true
	}
	id, ours := c.assets[n.NewSymbol]
	return id, ours
}

// changes are what the announcements change.
func (c *census) changes(bodies map[string]string) []rewards.ActionChange {
	var changes []rewards.ActionChange
	for _, n := range c.listed {
		before, known := c.known[n.ID]
		if !known {
			id, _ := c.asset(n)
			after := c.observation.NewAction(n, id, c.exposed[id])
			changes = append(changes, rewards.ActionChange{After: after, Body: n.Body})
			continue
		}
		change := rewards.ActionChange{Before: before}
		if bodies[n.ID] != n.Body {
			change.Body = n.Body
		}
		if change.After = c.observation.Follow(before, n, change.Body != ""); change.After != before || change.Body != "" {
			changes = append(changes, change)
		}
	}
	return changes
}

// missing are the changes of what is not listed any more.
func (c *census) missing(d *actionDesk) []rewards.ActionChange {
	var changes []rewards.ActionChange
	missed := make(map[string]int)
	for id, before := range c.known {
		inWindow := before.ProcessDate >= c.from && before.ProcessDate <= c.to
		listed := slices.ContainsFunc(c.listed, func(n rewards.Announcement) bool { return n.ID == id })
		if listed || !inWindow || before.Type == rewards.ActionPosition {
			continue
		}
		if missed[id] = d.missed[id] + 1; missed[id] < missedReadings {
			continue
		}
		if after := c.observation.Missed(before); after != before {
			changes = append(changes, rewards.ActionChange{Before: before, After: after})
		}
	}
	d.missed = missed
	return changes
}
