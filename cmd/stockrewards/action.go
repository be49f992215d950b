package main

import (
	"context"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type actionCommands struct {
	List   actionList   `cmd:"" help:"List corporate actions of the catalog's stocks, latest ex-date first."`
	Show   actionShow   `cmd:"" help:"Show a corporate action with the broker's announcements."`
	Resume actionResume `cmd:"" help:"Resume ordering and valuing a stock that a corporate action holds. First check the broker's position and price: see docs/incidents.md."`
}

type actionList struct {
	listFlags
	State  string `placeholder:"STATE" help:"List only actions in this state: announced, held, resumed, withdrawn or passed (default: all)."`
	Symbol string `placeholder:"SYMBOL" help:"List only actions of this stock (default: all)."`
}

func (c *actionList) Run(ctx context.Context) error {
	var state rewards.ActionState
	if c.State != "" {
		var known bool
		if state, known = rewards.ParseActionState(c.State); !known {
			return usageErrorf("--state %q: no such state", c.State)
		}
	}
	return c.list(ctx, func(s *store.Store) error {
		actions, err := s.Actions(ctx, state, rewards.UpperSymbol(c.Symbol), c.Limit)
		if err != nil {
			return err
		}
		return table("ID\tEX-DATE\tSYMBOL\tSTATE\tHOLDS FROM\tTERMS\tNOTE", actions, func(a rewards.Action) []string {
			return []string{a.ID, string(a.ExDate), a.Symbol, a.State.String(), moment(a.HoldFrom), a.String(), a.Note}
		})
	})
}

type actionShow struct {
	databaseFlag
	ID string `arg:"" help:"The action's id."`
}

func (c *actionShow) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		a, bodies, err := s.Action(ctx, c.ID)
		if err != nil {
			return err
		}
		booked, err := s.Booked(ctx)
		if err != nil {
			return err
		}
		sayf("%s\nid: %s\nstate: %s\nprocessed: %s\nfirst seen: %s\n",
			a, a.ID, a.State, a.ProcessDate, moment(a.FirstSeen))
		printHold(a)
		for _, b := range booked {
			if b.AssetID == a.AssetID {
				sayf("the database has %s shares; the broker's position is %s\n", b.Quantity, b.Quantity+b.Differs)
			}
		}
		for _, n := range bodies {
			sayf("announcement %d, first seen %s: %s\n", n.Revision, moment(n.SeenAt), n.Body)
		}
		return nil
	})
}

func printHold(a rewards.Action) {
	if !a.HoldFrom.IsZero() {
		sayln("holds the stock from:", moment(a.HoldFrom), "(the broker's time)")
	}
	if !a.HeldAt.IsZero() {
		sayln("held since:", moment(a.HeldAt))
	}
	if !a.ResumedAt.IsZero() {
		sayf("resumed: %s: %s\n", moment(a.ResumedAt), a.Reason)
	}
	if a.Note != "" {
		sayln("note:", a.Note)
	}
}

type actionResume struct {
	databaseFlag
	ID     string `arg:"" help:"The action's id."`
	Reason string `required:"" env:"-" placeholder:"TEXT" help:"Give a reason, which is stored in the operator log."`
}

func (c *actionResume) Run(ctx context.Context) error {
	return c.operate(ctx, "action resume", required(c.Reason), func(s *store.Operator) error {
		r, err := s.ResumeAction(ctx, c.ID)
		if err != nil {
			return err
		}
		printResumed(r)
		return nil
	})
}

func printResumed(r store.Resumed) {
	symbol := r.Action.Symbol
	sayf("%s is resumed: %s\n", r.Action.ID, r.Action)
	if r.Price > 0 {
		sayf("the last price of %s, $%s, is accepted\n", symbol, r.Price)
	}
	if r.Differs != 0 {
		sayf("the difference between the broker's position and the database, %s shares, is accepted\n", r.Differs)
	}
	if r.Hold.Exists() {
		sayf("%s has another hold: see `stockrewards action list --symbol %[1]s`\n", symbol)
	}
	if r.Doubt.Exists() {
		sayf("its price %s is in doubt: see `stockrewards asset confirm %s`\n", r.Doubt.Price, symbol)
	}
}
