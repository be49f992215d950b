package main

import (
	"context"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type actionCommands struct {
	List    actionList    `cmd:"" help:"List splits, dividends, mergers and other corporate actions of the catalog's stocks, latest ex-date first."`
	Show    actionShow    `cmd:"" help:"Show a corporate action: what was decided and when, the shares before and after, the payment, and the broker's announcements."`
	Apply   actionApply   `cmd:"" help:"Apply a corporate action to all holdings whatever the broker's position shows, once no order of its stock is open. First compare both positions with action show."`
	Ignore  actionIgnore  `cmd:"" help:"Decide that a corporate action has no effect, and accept the broker's present price and position. Never ignore a split that really happened: see docs/corporate-actions.md."`
	Enter   actionEnter   `cmd:"" help:"Enter a corporate action that the broker did not announce, or not correctly. It is applied when the broker's position confirms it."`
	Undo    actionUndo    `cmd:"" help:"Take an applied corporate action back in all holdings. The broker's position and cash that was paid out stay as they are."`
	Payouts actionPayouts `cmd:"" help:"List the cash of users that did not become an award: the app must pay it. The list does not know what was paid."`
}

type actionList struct {
	listFlags
	outputFlag
	State  string `placeholder:"STATE" help:"List only actions in this state: announced, held, ignored, withdrawn, passed, applied, swept, undone or undoing (default: all)."`
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
		const heading = "ID\tEX-DATE\tSYMBOL\tSTATE\tHOLDS FROM\tAPPLIED\tTERMS\tNOTE"
		return listed(c.outputFlag, heading, actions, func(a rewards.Action) []string {
			return []string{
				a.ID, string(a.ExDate), a.Symbol, a.State.String(), holdsFrom(a), moment(a.AppliedAt), a.String(),
				a.Note,
			}
		})
	})
}

// holdsFrom is from when an action holds its stock, in the broker's time; "-" when it does not.
func holdsFrom(a rewards.Action) string {
	switch {
	case a.HoldFrom.IsZero() || a.State != rewards.ActionAnnounced && a.State != rewards.ActionHeld:
		return "-"
	case a.HoldFrom.Unix() == 0: // it holds at any time
		return moment(a.HeldAt)
	default:
		return moment(a.HoldFrom)
	}
}
