package audittest

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// untilEvening are the days before the ex-date at which an action is due when no session is known.
const untilEvening = 4

// Announce announces a corporate action, which is due today, and moves the clock to the next morning.
func (w *World) Announce(id string, t rewards.Terms) rewards.Action {
	seen := rewards.Observation{Now: w.Now, SeenAt: w.Now}
	t.ExDate = rewards.DateOf(w.Now).Plus(untilEvening)
	n := rewards.Announcement{ID: id, ProcessDate: t.ExDate, Terms: t}
	a := seen.NewAction(n, w.Catalog[t.Symbol].ID, true)
	w.Check(w.ChangeActions(w.tb.Context(), w.Lease, []rewards.ActionChange{{After: a, Body: "{}"}}))
	w.Now = a.Boundary.Add(7 * time.Hour)
	return a
}

// Begin applies an action. lost are the shares that the broker paid in cash.
func (w *World) Begin(a rewards.Action, target, part string, lost money.Shares) rewards.Switch {
	ctx := w.tb.Context()
	var given rewards.Asset
	var err error
	if target != "" {
		given, err = w.EnsureAsset(ctx, w.Lease, target, "")
		w.Check(err)
		w.Catalog[target] = given
	}
	fraction, err := rewards.ParseFraction(part)
	w.Check(err)
	c, err := a.Conversion(given.ID, fraction)
	w.Check(err)
	s := rewards.Switch{Conversion: c, ActionID: a.ID, AssetID: a.AssetID}
	booked, err := w.Booked(ctx)
	w.Check(err)
	for _, b := range booked {
		switch b.AssetID {
		case a.AssetID:
			s.Booked = b.Quantity
		case given.ID:
			s.TargetBooked = b.Quantity
		}
	}
	s.Position, err = c.Keep.Of(s.Booked)
	w.Check(err)
	more, err := c.Give.Of(s.Booked)
	w.Check(err)
	s.Position, s.TargetPosition = s.Position-lost, s.TargetBooked+more
	applied := a
	if a.Type != rewards.ActionCashDividend { // which is applied when its cash is shared
		applied = rewards.Observation{Now: w.Now, SeenAt: w.Now}.Applied(a)
	}
	var renaming rewards.Renaming
	if a.Renames() {
		renaming.Symbol = a.NewSymbol
	}
	w.Check(w.ApplyAction(ctx, w.Lease, rewards.ActionChange{Before: a, After: applied}, s, renaming))
	return s
}

// Act announces, applies and sweeps an action.
func (w *World) Act(id string, t rewards.Terms, target, part string, lost money.Shares) {
	w.Begin(w.Announce(id, t), target, part, lost)
	w.SweepOpen()
}

// Redo applies an undone action again while the broker's position is that of before the undo. It reports whether its
// undo can be taken back.
func (w *World) Redo(id string) bool {
	ctx := w.tb.Context()
	undo, _, err := w.LastUndo(ctx, id)
	w.Check(err)
	if undo.Number == 0 {
		return false
	}
	a, _, err := w.Action(ctx, id)
	w.Check(err)
	first, err := w.Switches(ctx, id)
	w.Check(err)
	c, err := a.Conversion(undo.Target, first[0].Part)
	w.Check(err)
	a, err = w.ApproveAction(ctx, id, false)
	w.Check(err)
	at := rewards.Standing{Undo: undo}
	booked, err := w.Booked(ctx)
	w.Check(err)
	for _, b := range booked {
		switch b.AssetID {
		case a.AssetID:
			at.Source = rewards.Stake{
				Booked: b.Quantity, Theirs: b.Quantity + undo.Booked - undo.Position, Undone: true,
			}
		case undo.Target:
			at.Target = rewards.Stake{
				Booked: b.Quantity, Theirs: b.Quantity + undo.TargetBooked - undo.TargetPosition, Undone: true,
			}
		}
	}
	s, err := a.Begin(c, at)
	w.Check(err)
	change := rewards.ActionChange{Before: a, After: rewards.Observation{Now: w.Now, SeenAt: w.Now}.Applied(a)}
	w.Check(w.ApplyAction(ctx, w.Lease, change, s, rewards.Renaming{}))
	w.SweepOpen()
	return s.Undoes == undo.Number
}

// SweepOpen ends the open switch.
func (w *World) SweepOpen() {
	ctx := w.tb.Context()
	s, found, err := w.OpenSwitch(ctx)
	w.Check(err)
	for done := !found; !done; {
		w.Now = w.Now.Add(time.Second)
		done, err = w.Sweep(ctx, w.Lease, s.Number)
		w.Check(err)
	}
	w.Now = w.Now.Add(8 * time.Hour) // the next session
}

// Share books that the broker paid the cash of an action, and computes the users' parts.
func (w *World) Share(a rewards.Action, net money.USD) {
	ctx := w.tb.Context()
	paid := rewards.Activity{ID: "activity-" + a.ID, Type: "DIV", Symbol: a.Symbol, Net: net, Body: "{}"}
	w.Check(w.SaveActivities(ctx, w.Lease, []rewards.Activity{paid}))
	w.Check(w.BeginPayout(ctx, w.Lease, a.ID, rewards.Payment{ActivityID: paid.ID, Net: net}))
	for done := false; !done; {
		var err error
		done, err = w.SharePayout(ctx, w.Lease, a.ID)
		w.Check(err)
	}
}

// pay pays out the cash of an action. award names the awards that it becomes; "" for none.
func (w *World) pay(a rewards.Action, net money.USD, award string) {
	ctx := w.tb.Context()
	w.Share(a, net)
	for {
		part, _, err := w.NextPayees(ctx, a.ID)
		w.Check(err)
		for i := range part {
			if e := &part[i]; award != "" && e.Cash > 0 {
				outcomes, err := w.RecordRewards(ctx, []rewards.NewReward{a.CashAward(*e, a.AssetID, 1, "")})
				w.Check(err)
				e.RewardID = outcomes[0].Reward.ID
				w.IDs[award] = e.RewardID
			}
		}
		w.Check(w.SavePaid(ctx, w.Lease, a.ID, part))
		if len(part) == 0 {
			return
		}
	}
}

// Agree ends the doubts about positions after an undo, as the service does when the broker's agree.
func (w *World) Agree() {
	held, err := w.Actions(w.tb.Context(), rewards.ActionHeld, "", 10)
	w.Check(err)
	for _, a := range held {
		if a.Type == rewards.ActionPosition {
			agreed := rewards.Observation{Now: w.Now, SeenAt: w.Now}.Agreed(a)
			w.Check(w.ChangeActions(w.tb.Context(), w.Lease, []rewards.ActionChange{{Before: a, After: agreed}}))
		}
	}
}

// actions makes corporate actions of every kind of rule, with purchases between them.
func (w *World) actions(ann rewards.User) {
	ctx := w.tb.Context()
	w.Act("split-of-xom", rewards.Terms{Type: "forward_split", Symbol: "XOM", OldRate: "1", NewRate: "2"}, "", "0", 0)
	for i := range 5 {
		w.Give(fmt.Sprint("ann-more-", i), ann, "XOM", 7*dollar, "", "")
	}
	w.Fill("more", "XOM", 55*PerUSD)
	w.Act("reverse-of-xom", rewards.Terms{Type: "reverse_split", Symbol: "XOM", OldRate: "7", NewRate: "1"}, "", "0", 3_000_000)
	w.alone("alone", "XOM", 385*PerUSD)

	w.Act("spin-off-of-nvda", rewards.Terms{
		Type: "spin_off", Symbol: "NVDA", NewSymbol: "SPUN", OldRate: "3", NewRate: "1",
	}, "SPUN", "1/7", 0)
	w.Act("merger-of-spun", rewards.Terms{
		Type: "stock_and_cash_merger", Symbol: "SPUN", NewSymbol: "XOM", OldRate: "2", NewRate: "1", Rate: "3",
	}, "XOM", "0", 0)
	merger, _, err := w.Action(ctx, "merger-of-spun")
	w.Check(err)
	w.pay(merger, 91_000, "")

	w.Act("split-of-aapl", rewards.Terms{Type: "stock_dividend", Symbol: "AAPL", Rate: "0.05"}, "", "0", 0)
	w.Back("back-between", "second", "cy-aapl", 3*dollar)
	w.Back("back-too", "second", "cy-aapl", 2_000_003)
	_, err = w.UndoAction(ctx, "split-of-aapl")
	w.Check(err)
	w.SweepOpen()
	w.Agree()

	dividend := w.Announce("dividend-of-ko", rewards.Terms{Type: "cash_dividend", Symbol: "KO", Rate: "0.5"})
	w.Begin(dividend, "", "0", 0)
	w.SweepOpen()
	w.pay(dividend, 490_001, "reinvested")
	w.Correct("filled", 5)
	w.returned("XOM", 3_000_000)

	w.Act("spin-off-of-aapl", rewards.Terms{
		Type: "spin_off", Symbol: "AAPL", NewSymbol: "GONE", OldRate: "10", NewRate: "1",
	}, "GONE", "1/3", 0)
	w.Act("end-of-gone", rewards.Terms{Type: "worthless_removal", Symbol: "GONE"}, "", "0", 0)
}

// alone buys shares that the house owes, without any reward.
func (w *World) alone(name, symbol string, price money.Price) {
	w.Now = w.Now.Add(time.Second)
	o, hold, err := w.PlanOrder(w.tb.Context(), w.Lease, rewards.PlanRequest{
		Asset: w.Catalog[symbol], ClientOrderIDPrefix: "sr-test-", Limits: rewards.PlanLimits{
			MaxNotional: rewards.LowestMaxNotional, DailyLeft: 1 << 60, HouseLeft: 1 << 60, HousePerApp: 1 << 60,
			Price: price, HouseAlone: true,
		},
	})
	w.Check(err)
	if hold != rewards.NoHold || o.House != o.Notional {
		w.tb.Fatalf("hold of %s: got %d and %+v, want an order of the house alone", symbol, hold, o)
	}
	w.IDs[name] = o.ID
	qty, err := money.SharesFor(o.Notional, price)
	w.Check(err)
	w.Settle(w.Merge(w.Send(o), "filled", qty, price))
}

// Correct books that the broker took shares of a settled order back.
func (w *World) Correct(name string, shares money.Shares) {
	o, err := w.Order(w.tb.Context(), w.IDs[name])
	w.Check(err)
	b := rewards.BrokerOrder{
		ID: o.BrokerID, ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Side: "buy", Status: o.BrokerStatus,
		Notional: o.Notional, FilledQty: o.Corrected - shares, FilledAvgPrice: o.FilledAvgPrice,
	}
	w.Check(w.CorrectOrder(w.tb.Context(), w.Lease, o, b, "bust"))
}

// returned books that the broker gave shares back that it had paid in cash, and took the cash.
func (w *World) returned(symbol string, shares money.Shares) {
	ctx := w.tb.Context()
	back := rewards.Activity{ID: "returned", Type: "CIL", Status: "correct", Symbol: symbol, Qty: shares, Net: -440_000, Body: "{}"}
	paid, canceled := back, back
	paid.ID, paid.Status, paid.Qty, paid.Net = "paid", "executed", -shares, 450_000
	canceled.ID, canceled.Status, canceled.Qty = "canceled", "canceled", 0
	w.Check(w.SaveActivities(ctx, w.Lease, []rewards.Activity{paid, back, canceled}))
	booked, err := w.CorrectPosition(ctx, w.Lease,
		rewards.BookedPosition{AssetID: w.Catalog[symbol].ID, Symbol: symbol}, shares)
	w.Check(err)
	if !booked {
		w.tb.Fatalf("%s shares of %s were not booked", shares, symbol)
	}
}
