package main

import (
	"context"
	"strconv"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type actionShow struct {
	databaseFlag
	outputFlag
	ID string `arg:"" help:"The action's id, as action list prints it."`
}

// shownAction is an action with what it did.
type shownAction struct {
	rewards.Action

	bodies   []store.Announcement
	shares   []rewards.BookedPosition // of its stocks
	symbols  map[rewards.AssetID]string
	switches []rewards.Switch
	payout   rewards.Payout
	paid     bool
}

func (c *actionShow) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		a, err := readAction(ctx, s, c.ID)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return printJSON(a.object())
		}
		a.print()
		return nil
	})
}

// readAction reads an action with the shares of its stocks, what it did to them, and what the broker
// paid.
func readAction(ctx context.Context, s *store.Store, id string) (a shownAction, err error) {
	if a.Action, a.bodies, err = s.Action(ctx, id); err != nil {
		return a, err
	}
	booked, err := s.Booked(ctx)
	if err != nil {
		return a, err
	}
	a.symbols = map[rewards.AssetID]string{a.AssetID: a.Symbol}
	for _, b := range booked {
		if b.AssetID == a.AssetID || b.Symbol == a.NewSymbol {
			a.symbols[b.AssetID] = b.Symbol
			a.shares = append(a.shares, b)
		}
	}
	if a.switches, err = s.Switches(ctx, a.ID); err != nil {
		return a, err
	}
	a.payout, a.paid, err = s.Payout(ctx, a.ID)
	return a, err
}

func (a shownAction) print() {
	sayf("%s\nid: %s\nstate: %s\nprocessed: %s\nfirst seen: %s\n",
		a.Action, a.ID, a.State, a.ProcessDate, moment(a.FirstSeen))
	if from := holdsFrom(a.Action); from != "-" {
		sayln("holds the stock from:", from, "(the broker's time)")
	}
	for _, decided := range a.decisions() {
		if decided[1] != "-" && decided[1] != "" {
			sayln(decided[0]+":", decided[1])
		}
	}
	for _, b := range a.shares {
		sayf("%s: the database has %s shares; the broker's position is %s\n",
			b.Symbol, b.Quantity, b.Quantity+b.Differs)
	}
	for _, w := range a.switches {
		printSwitch(w, a.Action, a.symbols)
	}
	switch p := a.payout; {
	case a.paid:
		sayf("payment: $%s net for %s shares; $%s for users, $%s for the house; shared: %s; paid out: %s\n",
			p.Net, p.Counted, p.Shared, p.Net-p.Shared, moment(p.SharedAt), moment(p.PaidAt))
	case a.Type.Pays() && len(a.switches) > 0:
		sayln("payment: the broker has not paid yet")
	}
	for _, n := range a.bodies {
		sayf("announcement %d, first seen %s: %s\n", n.Revision, moment(n.SeenAt), n.Body)
	}
}

// decisions are what was decided about an action, and when.
func (a shownAction) decisions() [][2]string {
	return [][2]string{
		{"held since", moment(a.HeldAt)},
		{"approved", moment(a.ApprovedAt)},
		{"ignored", moment(a.DecidedAt)},
		{"applied", moment(a.AppliedAt)},
		{"reason", a.Reason},
		{"note", a.Note},
	}
}

// object is the action as JSON.
func (a shownAction) object() object {
	o := objectOf(append([][2]string{
		{"id", a.ID},
		{"terms", a.String()},
		{"symbol", a.Symbol},
		{"ex-date", string(a.ExDate)},
		{"state", a.State.String()},
		{"processed", string(a.ProcessDate)},
		{"first seen", moment(a.FirstSeen)},
		{"holds from", holdsFrom(a.Action)},
	}, a.decisions()...))
	o["shares"] = objects("SYMBOL\tDATABASE\tBROKER", a.shares, func(b rewards.BookedPosition) []string {
		return []string{b.Symbol, b.Quantity.String(), (b.Quantity + b.Differs).String()}
	})
	const heading = "SYMBOL\tAT\tCOMPLETE SINCE\tUNDO\tSHARES BEFORE\tSHARES AFTER\tUSERS BEFORE\t" +
		"USERS AFTER\tNEW SYMBOL\tUSERS RECEIVED"
	o["switches"] = objects(heading, a.switches, func(w rewards.Switch) []string {
		given := ""
		if w.Target != 0 {
			given = w.Swept.Given.String()
		}
		return []string{
			a.symbols[w.AssetID], moment(w.At), moment(w.SweptAt), rewards.YesNo(w.IsUndo()), w.Booked.String(),
			w.Position.String(), w.Swept.Before.String(), w.Swept.After.String(), a.symbols[w.Target], given,
		}
	})
	o["payment"] = nil
	if p := a.payout; a.paid {
		o["payment"] = objectOf([][2]string{
			{"net", p.Net.String()},
			{"counted", p.Counted.String()},
			{"users", p.Shared.String()},
			{"house", (p.Net - p.Shared).String()},
			{"shared", moment(p.SharedAt)},
			{"paid out", moment(p.PaidAt)},
		})
	}
	o["announcements"] = objects("REVISION\tFIRST SEEN\tBODY", a.bodies, func(n store.Announcement) []string {
		return []string{strconv.Itoa(n.Revision), moment(n.SeenAt), n.Body}
	})
	return o
}

// printSwitch prints what an action, or its undo, did to all holdings.
func printSwitch(w rewards.Switch, a rewards.Action, symbols map[rewards.AssetID]string) {
	verb, swept := "applied", "all holdings are up to date since "+moment(w.SweptAt)
	switch {
	case w.IsUndo():
		verb = "undone"
	case a.Type == rewards.ActionCashDividend:
		verb, swept = "entitled", "complete since "+moment(w.SweptAt)
	}
	if w.SweptAt.IsZero() {
		swept = "holdings are being brought up to date"
	}
	sayf("%s at %s; %s\n", verb, moment(w.At), swept)
	sayf("  %s: all shares %s, then %s; users' %s, then %s\n",
		symbols[w.AssetID], w.Booked, w.Position, w.Swept.Before, w.Swept.After)
	if w.Target != 0 {
		sayf("  %s: all shares %s, then %s; users received %s\n",
			symbols[w.Target], w.TargetBooked, w.TargetPosition, w.Swept.Given)
	}
}
