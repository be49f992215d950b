package main

import (
	"context"
	"strconv"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// statusReport is what fulfillment status prints as JSON.
func statusReport(ctx context.Context, s *store.Store) (object, error) {
	control, err := s.Control(ctx)
	if err != nil {
		return nil, err
	}
	waits, err := s.Waits(ctx)
	if err != nil {
		return nil, err
	}
	live, err := s.LiveOrders(ctx)
	if err != nil {
		return nil, err
	}
	alarms, err := s.Alarms(ctx)
	if err != nil {
		return nil, err
	}
	conflicts, err := s.Conflicts(ctx)
	if err != nil {
		return nil, err
	}
	why, err := standstill(ctx, s)
	if err != nil {
		return nil, err
	}
	report := objectOf([][2]string{{"ordering", "on"}, {"but", why}, {"paused", control.Paused}})
	switch {
	case control.Paused != "":
		report["ordering"] = "paused"
	case control.Conflicts > 0:
		report["ordering"] = "stopped"
	}
	report["waiting"] = objects("SYMBOL\tAPP\tCOUNT\tSINCE\tWHY", waits, func(w rewards.Wait) []string {
		return []string{w.Asset.Symbol, w.App.Name, strconv.Itoa(w.Count), moment(w.Oldest), w.Why}
	})
	report["orders"] = objects("ID\tCLIENT ORDER ID\tSYMBOL\tSTATE\tNOTIONAL", live, func(o rewards.Order) []string {
		return []string{o.ID.String(), o.ClientOrderID, o.Symbol, o.State.String(), o.Notional.String()}
	})
	report["alarms"] = objects("NAME\tSINCE\tMESSAGE", alarms, func(a rewards.Alarm) []string {
		return []string{a.Name, moment(a.Since), a.Message}
	})
	const heading = "CLIENT ORDER ID\tDETAIL\tACKNOWLEDGED"
	report["conflicts"] = objects(heading, conflicts, func(c rewards.BrokerConflict) []string {
		return []string{c.ClientOrderID, c.Detail, moment(c.AcknowledgedAt)}
	})
	return report, nil
}
