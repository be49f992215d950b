package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"example.com/rewardsclient/api"
)

// events finds the award in the feed, reads its event and begins to read the stream.
func (p *program) events(ctx context.Context) error {
	types, wait := api.EventTypes{api.EventTypeRewardExecuted}, 1
	list, err := p.client.ListEventsWithResponse(ctx, &api.ListEventsParams{Types: &types, Wait: &wait})
	if err := saw("listEvents", 200, list, err); err != nil {
		return err
	}
	var found *api.Event
	for _, e := range list.JSON200.Events {
		if e.Data.Reward != nil && e.Data.Reward.Id == p.reward.Id {
			found = &e
		}
	}
	if found == nil || found.Type != api.EventTypeRewardExecuted ||
		!strings.Contains(list.HTTPResponse.Header.Get("Link"), "after=") {
		return fmt.Errorf("no event about %s: %s", p.reward.Id, list.Body)
	}
	p.event = found.Id
	one, err := p.client.GetEventWithResponse(ctx, p.event, nil)
	if err := saw("getEvent", 200, one, err); err != nil {
		return err
	}
	if got := one.JSON200.Event; got.Sequence != found.Sequence || got.Id != found.Id {
		return fmt.Errorf("the event is %s", one.Body)
	}
	return p.stream(ctx, found.Sequence)
}

// stream reads the first event of the stream from a sequence on.
func (p *program) stream(ctx context.Context, sequence api.EventSequence) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	last := sequence - 1
	got, err := p.client.StreamEvents(ctx, &api.StreamEventsParams{LastEventID: &last})
	if err != nil {
		return err
	}
	defer got.Body.Close()
	for lines := bufio.NewScanner(got.Body); lines.Scan(); {
		if lines.Text() == fmt.Sprint("id: ", sequence) {
			_, err = fmt.Println("streamEvents", got.StatusCode)
			return err
		}
	}
	return fmt.Errorf("the stream ended without event %d: status %d", sequence, got.StatusCode)
}

// wrongEvents causes the 400 and 404 of events.
func (p *program) wrongEvents(ctx context.Context) error {
	zero, before := 0, int64(-1)
	list, err := p.client.ListEventsWithResponse(ctx, &api.ListEventsParams{Limit: &zero})
	if err := saw("listEvents", 400, list, err); err != nil {
		return err
	}
	stream, err := p.client.StreamEventsWithResponse(ctx, &api.StreamEventsParams{After: &before})
	if err := saw("streamEvents", 400, stream, err); err != nil {
		return err
	}
	one, err := p.client.GetEventWithResponse(ctx, uuid.New(), nil)
	if err := saw("getEvent", 404, one, err); err != nil {
		return err
	}
	one, err = p.client.GetEventWithResponse(ctx, p.event, nil, wrongID(p.event))
	return saw("getEvent", 400, one, err)
}
