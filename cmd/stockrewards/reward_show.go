package main

import (
	"cmp"
	"context"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type rewardShow struct {
	databaseFlag
	outputFlag
	Reward string `arg:"" name:"ID|KEY" help:"The reward's id, or its idempotency key."`
}

// Run prints each reward that is found, with its timeline as clients read it. As JSON it is a list.
func (c *rewardShow) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		ids, err := c.find(ctx, s)
		if err != nil {
			return err
		}
		var found []object
		for _, id := range ids {
			h, err := s.HistoryOfAnyApp(ctx, id)
			if err != nil {
				return err
			}
			lines, entries := rewardLines(h), h.Timeline()
			if c.JSON {
				report := objectOf(lines)
				report["timeline"] = objects(timelineHeading, entries, timelineRow)
				found = append(found, report)
				continue
			}
			for _, line := range lines {
				sayf("%-16s %s\n", line[0]+":", line[1])
			}
			if err := table(timelineHeading, entries, timelineRow); err != nil {
				return err
			}
		}
		if c.JSON {
			return printJSON(found)
		}
		return nil
	})
}

const timelineHeading = "AT\tWHAT\tMESSAGE\tORDER"

func timelineRow(e rewards.TimelineEntry) []string {
	order := ""
	if e.Order != nil {
		order = e.Order.ClientOrderID
	}
	return []string{moment(e.At), e.Type, e.Message, order}
}

// find returns the reward with the id, or those with the idempotency key, at most one of each app.
func (c *rewardShow) find(ctx context.Context, s *store.Store) ([]rewards.RewardID, error) {
	if id, err := rewards.ParseID[rewards.Reward](c.Reward); err == nil {
		if _, err := s.HistoryOfAnyApp(ctx, id); rewards.CodeOf(err) != rewards.CodeNotFound {
			return []rewards.RewardID{id}, err
		}
	}
	apps, err := s.Apps(ctx)
	if err != nil {
		return nil, err
	}
	var ids []rewards.RewardID
	for _, a := range apps {
		f := rewards.RewardFilter{IdempotencyKey: c.Reward}
		list, err := s.Rewards(ctx, a.ID, f, rewards.Page[rewards.Reward]{Limit: 1})
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil, &rewards.Error{Code: rewards.CodeNotFound, Message: "no reward has that id or idempotency key"}
	}
	return ids, nil
}

// rewardLines describes a reward, each line with a label.
func rewardLines(h rewards.History) [][2]string {
	r := h.Reward
	return [][2]string{
		{"reward", r.ID.String()},
		{"app", h.App.Name + " (" + r.AppID.String() + ")"},
		{"user", r.UserID.String()},
		{"idempotency key", r.IdempotencyKey},
		{"amount", r.Amount.String()},
		{"symbol", r.Symbol},
		{"source", cmp.Or(r.Source, "-")},
		{"status", r.Status.String()},
		{"booked", r.Booked.String()},
		{"recorded", moment(r.CreatedAt())},
		{"executed", moment(r.ExecutedAt)},
		{"failure", cmp.Or(r.FailureReason, "-")},
	}
}

type rewardList struct {
	listFlags
	outputFlag
	App    string `arg:"" help:"The app's name or id."`
	User   string `placeholder:"ID" help:"List only rewards of this user."`
	Status string `placeholder:"STATUS" help:"List only rewards in this status: recorded, executing, executed or failed."`
	Key    string `placeholder:"KEY" help:"List only the reward with this idempotency key."`
	After  string `placeholder:"TIME" help:"List only rewards recorded after this moment, such as 2026-03-02T09:30:00Z."`
	Before string `placeholder:"TIME" help:"List only rewards recorded before this moment."`
}

func (c *rewardList) Run(ctx context.Context) error {
	f, err := c.filter()
	if err != nil {
		return err
	}
	return c.list(ctx, func(s *store.Store) error {
		a, err := s.App(ctx, c.App)
		if err != nil {
			return err
		}
		list, err := s.Rewards(ctx, a.ID, f, rewards.Page[rewards.Reward]{Limit: c.Limit})
		if err != nil {
			return err
		}
		const heading = "ID\tRECORDED\tUSER\tSYMBOL\tAMOUNT\tSTATUS\tKEY\tFAILURE"
		return listed(c.outputFlag, heading, list, func(r rewards.Reward) []string {
			return []string{
				r.ID.String(), moment(r.CreatedAt()), r.UserID.String(), r.Symbol, r.Amount.String(), r.Status.String(),
				r.IdempotencyKey, r.FailureReason,
			}
		})
	})
}

func (c *rewardList) filter() (f rewards.RewardFilter, err error) {
	f.IdempotencyKey = c.Key
	if c.User != "" {
		id, err := rewards.ParseID[rewards.User](c.User)
		if err != nil {
			return f, usageErrorf("--user: %w", err)
		}
		f.UserID = &id
	}
	if c.Status != "" {
		var known bool
		if f.Status, known = rewards.ParseStatus(c.Status); !known {
			return f, usageErrorf("--status %q: must be recorded, executing, executed or failed", c.Status)
		}
	}
	for _, bound := range []struct {
		name, given string
		to          **time.Time
	}{{"--after", c.After, &f.CreatedAfter}, {"--before", c.Before, &f.CreatedBefore}} {
		if bound.given == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, bound.given)
		if err != nil {
			return f, usageErrorf("%s: must be a moment such as 2026-03-02T09:30:00Z: %w", bound.name, err)
		}
		*bound.to = &at
	}
	return f, nil
}
