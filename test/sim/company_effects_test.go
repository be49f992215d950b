package sim

import (
	"context"
	"encoding/hex"
	"slices"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// act makes a write about corporate actions an effect.
func (m mortalStore) act(name string, write func() error) error {
	return m.p.do(effect{name: name, row: rowAction}, write)
}

func (m mortalStore) ChangeActions(ctx context.Context, lease rewards.Lease, changes []rewards.ActionChange) error {
	return m.act("ChangeActions", func() error { return m.Store.ChangeActions(ctx, lease, changes) })
}

func (m mortalStore) EnsureAsset(
	ctx context.Context, lease rewards.Lease, symbol, brokerID string,
) (a rewards.Asset, err error) {
	err = m.act("EnsureAsset", func() (err error) {
		a, err = m.Store.EnsureAsset(ctx, lease, symbol, brokerID)
		return err
	})
	return a, err
}

func (m mortalStore) ApplyAction(
	ctx context.Context, lease rewards.Lease, c rewards.ActionChange, w rewards.Switch, r rewards.Renaming,
) error {
	return m.act("ApplyAction", func() error {
		err := m.Store.ApplyAction(ctx, lease, c, w, r)
		if err == nil {
			m.p.lab.sawApplied(m.p, c.After, w, r)
		}
		return err
	})
}

func (m mortalStore) Sweep(ctx context.Context, lease rewards.Lease, number int64) (done bool, err error) {
	err = m.act("Sweep", func() (err error) {
		w, _, err := m.OpenSwitch(ctx)
		if err != nil {
			return err
		}
		if done, err = m.Store.Sweep(ctx, lease, number); err == nil && done {
			m.p.lab.sawSwept(m.p, w)
		}
		return err
	})
	return done, err
}

func (m mortalStore) SaveActivities(ctx context.Context, lease rewards.Lease, list []rewards.Activity) error {
	return m.act("SaveActivities", func() error { return m.Store.SaveActivities(ctx, lease, list) })
}

func (m mortalStore) BeginPayout(ctx context.Context, lease rewards.Lease, action string, p rewards.Payment) error {
	return m.act("BeginPayout", func() error { return m.Store.BeginPayout(ctx, lease, action, p) })
}

func (m mortalStore) SharePayout(ctx context.Context, lease rewards.Lease, action string) (done bool, err error) {
	err = m.act("SharePayout", func() (err error) {
		done, err = m.Store.SharePayout(ctx, lease, action)
		return err
	})
	return done, err
}

func (m mortalStore) SavePaid(ctx context.Context, lease rewards.Lease, action string, part []rewards.Effect) error {
	return m.act("SavePaid", func() error { return m.Store.SavePaid(ctx, lease, action, part) })
}

func (m mortalStore) RecordCashAwards(
	ctx context.Context, lease rewards.Lease, batch []rewards.NewReward,
) (list []rewards.Outcome, err error) {
	err = m.act("RecordCashAwards", func() (err error) {
		list, err = m.Store.RecordCashAwards(ctx, lease, batch)
		for _, o := range list {
			cash := o.Verdict == rewards.Created || o.Verdict == rewards.Replay // of a commit whose outcome was unknown
			if m.p.lab.firms != nil && cash {
				awards := &m.p.lab.firms.awards[m.p.lab.appOf(o.Reward.AppID)]
				if *awards == nil {
					*awards = make(map[rewards.RewardID]bool)
				}
				(*awards)[o.Reward.ID] = true
			}
		}
		return err
	})
	return list, err
}

func (l *lab) appOf(id rewards.AppID) int {
	return slices.IndexFunc(l.apps, func(a rewards.App) bool { return a.ID == id })
}

// sawApplied has the event happen in the model, when the service applies it.
func (l *lab) sawApplied(p *process, a rewards.Action, w rewards.Switch, r rewards.Renaming) {
	if l.firms == nil {
		return
	}
	e := l.firms.byID[a.ID]
	l.note("%s: %s of %s is applied: %s", p.name, a.Type, a.Symbol, a.ID)
	switch {
	case e != nil && e.kind == cashDividend && time.Since(e.withdrawnAt) < 4*24*time.Hour:
		return // nobody has read yet that it is withdrawn; without a payment it changes nothing
	case e == nil || e.withdrawn:
		l.violate("only what happens is applied", a.ID, "%s", a)
		return
	case e.applied && e.kind != cashDividend || e.entitled != nil:
		l.violate("an action is applied once", a.ID, "%s", a)
		return
	case e.kind == cashDividend:
		l.entitle(e, w)
		return
	case e.stock.next == e:
		l.violate("actions of a stock are applied in their order", a.ID, "%s before %s", a, e.stock.event.id)
	case !e.mistake && e.kind != "name_change" && time.Now().Before(e.moved):
		l.violate("an action is applied when the broker has changed the position", a.ID, "%s at %s", a, e.moved)
	}
	e.applied, e.reported = true, w.Part.String()
	e.happenTo()
	if r.Symbol != "" {
		l.renamedTo(e.stock, r.Symbol)
	}
}

// renamedTo notes that our catalog has another symbol for a company.
func (l *lab) renamedTo(s *firm, symbol string) {
	if l.symbol(s.name) != symbol {
		l.present[s.name], l.renamed[s.name] = symbol, time.Now()
		l.symbols[symbol] = s.name
	}
}

// sawSwept compares the books of a stock with the model when its sweep has ended.
func (l *lab) sawSwept(p *process, w rewards.Switch) {
	if l.firms == nil {
		return
	}
	e := l.firms.byID[w.ActionID]
	if e == nil {
		return
	}
	l.note("%s: %s is swept: %s", p.name, e.kind, e.id)
	if e.swept = true; w.Undoes != 0 {
		e.undone = true
	}
	if e.kind != cashDividend && (!e.mistake || e.undone) {
		e.over()
	}
	for _, s := range []*firm{e.stock, e.target} {
		if s != nil {
			l.compareFirm(s)
		}
	}
}

// compareFirm compares what the books say that users and the house have of a stock with the
// model, and with the booked position.
func (l *lab) compareFirm(s *firm) {
	assets, err := l.store.Assets(l.t.Context())
	l.check(err)
	i := slices.IndexFunc(assets, func(a rewards.Asset) bool { return l.stock(a.Symbol) == s.name })
	if i < 0 {
		return // it never came into the catalog
	}
	asset := assets[i]
	var sum, booked money.Shares
	want := map[rewards.UserID]lot{}
	for user, has := range s.held {
		if has != (lot{}) {
			want[user] = has
		}
	}
	l.check(l.engine.Read(l.t.Context(), func(ctx context.Context, tx store.Tx) error {
		err := tx.Query(ctx, func(row store.Row) error {
			var user string
			var has lot
			if err := row.Scan(&user, (*int64)(&has.shares), (*int64)(&has.basis)); err != nil || has == (lot{}) {
				return err
			}
			id := l.userOf(user)
			if want[id] != has {
				l.violate("a holding is what its rewards and the actions make of it", s.name, "%s has %+v, the model says %+v",
					id, has, want[id])
			}
			sum += has.shares
			delete(want, id)
			return nil
		}, `SELECT hex(user_id), quantity, cost_basis FROM holdings WHERE asset_id = ?1`, int64(asset.ID))
		if err != nil {
			return err
		}
		return tx.Query(ctx, func(row store.Row) error { return row.Scan((*int64)(&booked)) },
			`SELECT booked FROM positions WHERE asset_id = ?1`, int64(asset.ID))
	}))
	for user, has := range want {
		l.violate("a holding is what its rewards and the actions make of it", s.name, "%s has none, the model says %+v", user, has)
	}
	if house := l.house(asset.ID); sum+house != booked {
		l.violate("users and house have the position", s.name, "%s and %s of %s", sum, house, booked)
	}
}

// userOf returns the user with an id in hexadecimal.
func (l *lab) userOf(text string) (id rewards.UserID) {
	bytes, err := hex.DecodeString(text)
	l.check(err)
	copy(id[:], bytes)
	return id
}

// sawSettled adds to the model what an order gave to users.
func (l *lab) sawSettled(o rewards.Order) {
	if l.firms == nil {
		return
	}
	members, err := l.store.Members(l.t.Context(), o.ID)
	l.check(err)
	s := l.firms.of(l.stock(o.Symbol))
	if s == nil {
		s = l.firms.add(l.stock(o.Symbol))
		s.quiet = true
	}
	for _, m := range members {
		r, err := l.store.Reward(l.t.Context(), m.AppID, m.RewardID)
		l.check(err)
		shares := l.allocated(o, m)
		if r.Status == rewards.Failed || shares == 0 {
			continue
		}
		s.bought = append(s.bought, purchase{r.UserID, shares, o.FilledAt})
		has := s.held[r.UserID]
		has.shares += shares
		if r.Status == rewards.Executed {
			has.basis += r.Amount
		}
		s.held[r.UserID] = has
	}
}

// checkOrdered checks that a stock may be ordered.
func (l *lab) checkOrdered(o rewards.Order) {
	if l.firms == nil {
		return
	}
	s := l.firms.of(l.stock(o.Symbol))
	if s == nil {
		return
	}
	for _, e := range []*event{s.event, s.next} {
		if e != nil && e.stock == s && e.open(time.Now()) {
			l.violate("from the evening before an action until it is swept its stock is not ordered", o.ClientOrderID,
				"%s since %s", e.kind+" "+e.id, e.boundary)
		}
	}
}
