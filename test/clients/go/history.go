package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/rewardsclient/api"
)

// histories are the operations about what happened: to users, to awards and to all that an app has.
func (p *program) histories(c *api.ClientWithResponses) map[string]func(context.Context, int) error {
	return map[string]func(context.Context, int) error{
		"listActivity": func(ctx context.Context, status int) error {
			a, err := c.ListActivityWithResponse(ctx, p.user.Id, nil)
			return saw("listActivity", status, a, err)
		},
		"getTimeline": func(ctx context.Context, status int) error {
			a, err := c.GetTimelineWithResponse(ctx, p.reward.Id, nil)
			return saw("getTimeline", status, a, err)
		},
		"createReversal": func(ctx context.Context, status int) error {
			a, err := c.CreateReversalWithResponse(ctx, p.reward.Id, nil, api.NewReversal{IdempotencyKey: "go-one-more"})
			return saw("createReversal", status, a, err)
		},
		"listReversals": func(ctx context.Context, status int) error {
			a, err := c.ListReversalsWithResponse(ctx, nil)
			return saw("listReversals", status, a, err)
		},
		"getReversal": func(ctx context.Context, status int) error {
			a, err := c.GetReversalWithResponse(ctx, p.reversal, nil)
			return saw("getReversal", status, a, err)
		},
		"listEvents": func(ctx context.Context, status int) error {
			a, err := c.ListEventsWithResponse(ctx, nil)
			return saw("listEvents", status, a, err)
		},
		"getEvent": func(ctx context.Context, status int) error {
			a, err := c.GetEventWithResponse(ctx, p.event, nil)
			return saw("getEvent", status, a, err)
		},
		"streamEvents": func(ctx context.Context, status int) error {
			a, err := c.StreamEventsWithResponse(ctx, nil)
			return saw("streamEvents", status, a, err)
		},
	}
}

// history reads how the user's only award was bought: in the user's activity and in the award's timeline.
func (p *program) history(ctx context.Context, amount float64) error {
	activity, err := p.client.ListActivityWithResponse(ctx, p.user.Id, nil)
	if err := saw("listActivity", 200, activity, err); err != nil {
		return err
	}
	entries := activity.JSON200.Activity
	if len(entries) != 1 || entries[0].Type != api.ActivityTypeAward || entries[0].AssetSymbol != "AAPL" ||
		entries[0].CostBasis != amount || entries[0].Quantity <= 0 {
		return fmt.Errorf("the activity is %s", activity.Body)
	}
	timeline, err := p.client.GetTimelineWithResponse(ctx, p.reward.Id, nil)
	if err := saw("getTimeline", 200, timeline, err); err != nil {
		return err
	}
	list := timeline.JSON200.Timeline
	if len(list) < 3 || list[0].Type != api.TimelineEntryTypeRecorded {
		return fmt.Errorf("the timeline is %s", timeline.Body)
	}
	if last := list[len(list)-1]; last.Type != api.TimelineEntryTypeExecuted || !last.At.Equal(*p.reward.ExecutedAt) {
		return fmt.Errorf("the timeline ends with %+v", last)
	}
	return nil
}

// wrongHistory causes the 400 and 404 of the activity and of the timeline.
func (p *program) wrongHistory(ctx context.Context) error {
	zero := 0
	activity, err := p.client.ListActivityWithResponse(ctx, p.user.Id, &api.ListActivityParams{Limit: &zero})
	if err := saw("listActivity", 400, activity, err); err != nil {
		return err
	}
	activity, err = p.client.ListActivityWithResponse(ctx, uuid.New(), nil)
	if err := saw("listActivity", 404, activity, err); err != nil {
		return err
	}
	timeline, err := p.client.GetTimelineWithResponse(ctx, p.reward.Id, nil, wrongID(p.reward.Id))
	if err := saw("getTimeline", 400, timeline, err); err != nil {
		return err
	}
	timeline, err = p.client.GetTimelineWithResponse(ctx, uuid.New(), nil)
	return saw("getTimeline", 404, timeline, err)
}
