package main

import (
	"context"
	"crypto/rand"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type actionChoice struct {
	databaseFlag
	ID     string `arg:"" help:"The action's id, as action list prints it."`
	Reason string `required:"" env:"-" placeholder:"TEXT" help:"Give a reason, which clients read in the action's note, and which is stored in the operator log."`
}

// actionDecision is a choice between two that exclude each other.
type actionDecision struct {
	actionChoice
	Revoke bool `help:"Take back the opposite decision, which an operator has made before."`
}

type actionApply struct{ actionDecision }

func (c *actionApply) Run(ctx context.Context) error {
	return c.operate(ctx, "action apply", required(c.Reason), func(s *store.Operator) error {
		before, _, err := s.Action(ctx, c.ID)
		if err != nil {
			return err
		}
		a, err := s.ApproveAction(ctx, c.ID, c.Revoke)
		if err == nil {
			sayf("%s will be applied: %s\nthe running service does it once no order of the stock is open: "+
				"see `stockrewards action show %[1]s`\n", a.ID, a)
		}
		if err == nil && before.Unordered() {
			sayf("the other action may follow by itself at once: if the broker did that one first, " +
				"undo both, and apply that one first\n")
		}
		return err
	})
}

type actionIgnore struct{ actionDecision }

func (c *actionIgnore) Run(ctx context.Context) error {
	return c.operate(ctx, "action ignore", required(c.Reason), func(s *store.Operator) error {
		r, err := s.IgnoreAction(ctx, c.ID, c.Revoke)
		if err == nil {
			printIgnored(r)
		}
		return err
	})
}

func printIgnored(r store.Ignored) {
	symbol := r.Action.Symbol
	sayf("%s is ignored: %s\n", r.Action.ID, r.Action)
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

type actionUndo struct{ actionChoice }

func (c *actionUndo) Run(ctx context.Context) error {
	return c.operate(ctx, "action undo", required(c.Reason), func(s *store.Operator) error {
		a, err := s.UndoAction(ctx, c.ID)
		if err == nil {
			sayf("%s is undone: %s\nthe running service brings all holdings up to date\n", a.ID, a)
		}
		return err
	})
}

type actionEnter struct {
	databaseFlag
	Type      string `arg:"" enum:"forward_split,reverse_split,stock_dividend,cash_dividend,name_change,spin_off,stock_merger,cash_merger,stock_and_cash_merger,worthless_removal" help:"The type: forward_split, reverse_split, stock_dividend, cash_dividend, name_change, spin_off, stock_merger, cash_merger, stock_and_cash_merger or worthless_removal."`
	Symbol    string `arg:"" help:"The stock that changes, by its symbol before the action."`
	ExDate    string `required:"" placeholder:"DATE" help:"Set the ex-date, such as 2026-12-01, or the effective date of a kind without ex-date."`
	PayDate   string `placeholder:"DATE" help:"Set the day on which the broker pays, of a cash dividend or merger (default: unknown)."`
	OldRate   string `placeholder:"NUMBER" help:"Set the old shares of a ratio: 1 when each share becomes 4. Of splits, spin-offs and mergers that give shares."`
	NewRate   string `placeholder:"NUMBER" help:"Set the new shares of a ratio: 4 when each share becomes 4."`
	Rate      string `placeholder:"NUMBER" help:"Set the dollars for a share, of a cash dividend or merger; or new shares for a share, of a stock dividend: 0.05 for 5 %."`
	NewSymbol string `placeholder:"SYMBOL" help:"Set the new symbol, of a name change or reverse split; or the stock that holders receive, of a spin-off or merger."`
	Reason    string `required:"" env:"-" placeholder:"TEXT" help:"Give a reason, which clients read in the action's note, and which is stored in the operator log."`
}

func (c *actionEnter) Run(ctx context.Context) error {
	terms := rewards.Terms{
		Type: rewards.ActionType(c.Type), Symbol: rewards.UpperSymbol(c.Symbol),
		NewSymbol: rewards.UpperSymbol(c.NewSymbol),
		OldRate:   c.OldRate, NewRate: c.NewRate, Rate: c.Rate,
		ExDate: rewards.Date(c.ExDate), PayDate: rewards.Date(c.PayDate),
	}
	id := rewards.NewID[rewards.Action](rewards.NewIDs(time.Now, rand.Reader))
	a, err := rewards.EnteredAction(id.String(), terms, time.Now(), c.Reason)
	if err != nil {
		return usageErrorf("%w", err)
	}
	return c.operate(ctx, "action enter", required(c.Reason), func(s *store.Operator) error {
		a, err := s.EnterAction(ctx, a)
		if err == nil {
			next := "it is applied when the broker's position confirms it"
			if a.Type == rewards.ActionCashDividend {
				next = "its cash is shared when the broker has paid it"
			}
			sayf("%s is entered: %s\n%s: see `stockrewards action show %[1]s`\n", a.ID, a, next)
		}
		return err
	})
}

type actionPayouts struct {
	databaseFlag
	outputFlag
	ID string `arg:"" optional:"" help:"List only those of this action (default: all)."`
}

func (c *actionPayouts) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		if c.ID != "" {
			if _, _, err := s.Action(ctx, c.ID); err != nil {
				return err
			}
		}
		list, err := s.OwedCash(ctx, c.ID)
		if err != nil {
			return err
		}
		return listed(c.outputFlag, "ACTION\tAPP\tUSER\tUSD\tWHY", list, func(o store.Owed) []string {
			return []string{o.ActionID, o.AppID.String(), o.UserID.String(), o.Cash.String(), o.Why}
		})
	})
}
