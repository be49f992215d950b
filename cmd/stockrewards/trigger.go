package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stockrewards/client"
)

type triggerCommand struct {
	clientFlags
	Type    string        `arg:"" optional:"" placeholder:"TYPE" help:"Set the type of the event, such as reward.failed (default: list the types)."`
	Control string        `placeholder:"URL" help:"Control the paper brokerage of the service at this address (default: --url, where dev has its brokerage)."`
	Stock   string        `placeholder:"SYMBOL" help:"Use this stock (default: KO or MCD; for corporate actions a stock without any)."`
	Timeout time.Duration `default:"2m" placeholder:"TIME" help:"Wait this long for the event (default: 2m)."`
}

// Help describes the command beyond its flags.
func (c *triggerCommand) Help() string {
	return "For developers: it really does what causes an event, so that a receiver can be tried. It creates users " +
		"and awards with the app's key, and controls the paper brokerage where that is necessary. So it works with " +
		"`stockrewards dev`, and with a service over `stockrewards paper`. It refuses live keys."
}

// Run makes an event happen, or lists the types.
func (c *triggerCommand) Run(ctx context.Context) error {
	if c.Type == "" {
		return table("TYPE\tWHAT IT DOES", triggers(), func(k triggerKind) []string {
			return []string{k.name, k.what}
		})
	}
	at := slices.IndexFunc(triggers(), func(k triggerKind) bool { return k.name == c.Type })
	if at < 0 {
		return usageErrorf("TYPE %q: run `stockrewards trigger` for the list", c.Type)
	}
	kind := triggers()[at]
	if kind.run == nil {
		return usageErrorf("%s cannot be triggered: %s", kind.name, kind.what)
	}
	connection, err := c.connect()
	if err != nil {
		return err
	}
	if live(connection.Key) {
		return usageErrorf("--key-file %s: has a live key, and trigger would spend real money; use a test key",
			c.KeyFile)
	}
	t := &trigger{client: connection, stock: kind.stock}
	if c.Stock != "" {
		t.stock = c.Stock
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("timeout of %s exceeded", c.Timeout))
	defer cancel()
	if kind.control {
		if t.brokerage, err = c.brokerage(ctx); err != nil {
			return err
		}
	}
	return errors.Join(t.happen(ctx, kind), t.cleanUp(context.WithoutCancel(ctx)))
}

// triggerKind is a type of event and how it is made.
type triggerKind struct {
	name, stock string
	control     bool // it needs the brokerage
	// run does what causes the event, and returns how to recognize it. nil: the type cannot be triggered,
	// and what says why.
	run  func(t *trigger, ctx context.Context) (isIt func(client.Event) bool, err error)
	what string // it does
}

// trigger makes one event happen.
type trigger struct {
	client    *client.Client
	brokerage *brokerage
	stock     string
	undo      []func(context.Context) error
	result    func(client.Event) // prints what the user should know afterwards; may be nil
}

// errSent means that what was triggered is not in the feed.
var errSent = errors.New("the event is not in the feed")

// happen does the steps and waits for the event.
func (t *trigger) happen(ctx context.Context, kind triggerKind) error {
	events := feed{client: t.client}
	after, err := events.newest(ctx)
	if err != nil {
		return err
	}
	if kind.control && t.stock == "" {
		if t.stock, err = t.quiet(ctx); err != nil {
			return err
		}
	}
	isIt, err := kind.run(t, ctx)
	switch {
	case errors.Is(err, errSent):
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	sayf("Waiting for %s.\n", kind.name)
	for e, err := range t.client.Events(ctx, after, kind.name) {
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("the steps were done, and no event came: %w; is %s the service's brokerage?",
				context.Cause(ctx), t.brokerage)
		case err != nil:
			return err
		case !isIt(e):
			continue
		}
		sayf("%s happened: event %s, sequence %d\n", e.Type, e.ID, e.Sequence)
		if t.result != nil {
			t.result(e)
		}
		return nil
	}
	return nil
}

// cleanUp takes back what the steps left at the brokerage.
func (t *trigger) cleanUp(ctx context.Context) (err error) {
	for _, undo := range t.undo {
		err = errors.Join(err, undo(ctx))
	}
	return err
}

// triggers lists the types. An empty stock means one without corporate actions: a second one of a stock would
// have to wait for an operator.
func triggers() []triggerKind {
	const undone = "an undo is a decision of an operator, and no client can cause it: " +
		"`stockrewards action undo ID --reason TEXT --database URL`, with the id of an applied action"
	return []triggerKind{
		{"reward.executed", "KO", false, (*trigger).executed, "gives an award, and the brokerage buys it"},
		{"reward.failed", "MCD", true, (*trigger).failed, "gives an award, and the brokerage refuses its order"},
		{
			"reversal.completed", "KO", false, (*trigger).reversed,
			"gives an award, waits until it is bought, and takes it back",
		},
		{
			"corporate_action.announced", "", true, (*trigger).announced,
			"gives an award, and announces a dividend of a cent in 30 days",
		},
		{"corporate_action.applied", "", true, (*trigger).split, "gives an award, and the stock is split 11 for 10"},
		{
			"corporate_action.held", "", true, (*trigger).held,
			"gives an award, and the brokerage announces another split than it makes",
		},
		{
			"corporate_action.withdrawn", "", true, (*trigger).withdrawn,
			"gives an award, announces a dividend and withdraws it",
		},
		{"corporate_action.undone", "", false, nil, undone},
		{
			"test.ping", "", false, (*trigger).ping,
			"sends a test to each enabled webhook endpoint of the app; it is not in the feed",
		},
	}
}
