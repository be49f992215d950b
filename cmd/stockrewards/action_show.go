package main

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type actionShow struct {
	databaseFlag
	ID string `arg:"" help:"The action's id, as action list prints it."`
}

func (c *actionShow) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		a, bodies, err := s.Action(ctx, c.ID)
		if err != nil {
			return err
		}
		sayf("%s\nid: %s\nstate: %s\nprocessed: %s\nfirst seen: %s\n",
			a, a.ID, a.State, a.ProcessDate, moment(a.FirstSeen))
		printDecisions(a)
		if err := printShares(ctx, s, a); err != nil {
			return err
		}
		for _, n := range bodies {
			sayf("announcement %d, first seen %s: %s\n", n.Revision, moment(n.SeenAt), n.Body)
		}
		return nil
	})
}

// printDecisions prints what was decided about an action, and when.
func printDecisions(a rewards.Action) {
	if from := holdsFrom(a); from != "-" {
		sayln("holds the stock from:", from, "(the broker's time)")
	}
	for _, event := range []struct {
		name string
		at   time.Time
	}{{"held since", a.HeldAt}, {"approved", a.ApprovedAt}, {"ignored", a.DecidedAt}, {"applied", a.AppliedAt}} {
		if !event.at.IsZero() {
			sayln(event.name+":", moment(event.at))
		}
	}
	if a.Reason != "" {
		sayln("reason:", a.Reason)
	}
	if a.Note != "" {
		sayln("note:", a.Note)
	}
}

// printShares prints the shares of the action's stocks, what the action did to them, and what the
// broker paid.
func printShares(ctx context.Context, s *store.Store, a rewards.Action) error {
	booked, err := s.Booked(ctx)
	if err != nil {
		return err
	}
	symbols := map[rewards.AssetID]string{a.AssetID: a.Symbol}
	for _, b := range booked {
		if b.AssetID == a.AssetID || b.Symbol == a.NewSymbol {
			symbols[b.AssetID] = b.Symbol
			sayf("%s: the database has %s shares; the broker's position is %s\n",
				b.Symbol, b.Quantity, b.Quantity+b.Differs)
		}
	}
	switches, err := s.Switches(ctx, a.ID)
	if err != nil {
		return err
	}
	for _, w := range switches {
		printSwitch(w, a, symbols)
	}
	p, found, err := s.Payout(ctx, a.ID)
	if err != nil {
		return err
	}
	switch {
	case found:
		sayf("payment: $%s net for %s shares; $%s for users, $%s for the house; shared: %s; paid out: %s\n",
			p.Net, p.Counted, p.Shared, p.Net-p.Shared, moment(p.SharedAt), moment(p.PaidAt))
	case a.Type.Pays() && len(switches) > 0:
		sayln("payment: the broker has not paid yet")
	}
	return nil
}

// printSwitch prints what an action, or its undo, did to all holdings.
func printSwitch(w rewards.Switch, a rewards.Action, symbols map[rewards.AssetID]string) {
	verb, swept := "applied", "all holdings are up to date since "+moment(w.SweptAt)
	switch {
	case w.Undoes != 0:
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
