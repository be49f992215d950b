package main

import (
	"context"
	"fmt"
	"strings"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/server"
	"stockrewards/internal/store"
)

type orderCommands struct {
	List        orderList        `cmd:"" help:"List orders, newest first."`
	Show        orderShow        `cmd:"" help:"Show an order with its members."`
	Resolve     orderResolve     `cmd:"" help:"Resolve an order that is quarantined, or that the broker keeps refusing, from the broker's records."`
	Adopt       orderAdopt       `cmd:"" help:"Adopt an order that only the broker knows, after an old backup was restored: its fill goes to waiting rewards."`
	Acknowledge orderAcknowledge `cmd:"" help:"Acknowledge an order at the broker that contradicts the database, so that ordering continues."`
}

type orderList struct {
	listFlags
	outputFlag
	State string `help:"List only orders in this state: planned, submitted, open, quarantined, resolved, settled or refused (default: all)."`
}

func (c *orderList) Run(ctx context.Context) error {
	var state rewards.OrderState
	if c.State != "" {
		var known bool
		if state, known = rewards.ParseOrderState(c.State); !known {
			return usageErrorf("--state %q: no such state", c.State)
		}
	}
	return c.list(ctx, func(s *store.Store) error {
		orders, err := s.Orders(ctx, state, rewards.Page[rewards.Order]{Limit: c.Limit})
		if err != nil {
			return err
		}
		const heading = "ID\tPLANNED\tSYMBOL\tNOTIONAL\tSTATE\tBROKER\tFILLED\tREASON"
		return listed(c.outputFlag, heading, orders, func(o rewards.Order) []string {
			return []string{
				o.ID.String(), moment(o.CreatedAt()), o.Symbol, o.Notional.String(), o.State.String(),
				o.BrokerStatus, o.FilledQty.String(), o.Reason,
			}
		})
	})
}

type orderShow struct {
	databaseFlag
	outputFlag
	ID string `arg:"" help:"The order's id."`
}

func (c *orderShow) Run(ctx context.Context) error {
	id, err := rewards.ParseID[rewards.Order](c.ID)
	if err != nil {
		return usageErrorf("ID: %w", err)
	}
	return c.with(ctx, func(s *store.Store) error {
		o, err := s.Order(ctx, id)
		if err != nil {
			return err
		}
		members, err := s.Members(ctx, id)
		if err != nil {
			return err
		}
		lines := orderLines(o)
		if r, found, err := s.Resolution(ctx, id); err != nil {
			return err
		} else if found {
			lines = append(lines, [2]string{
				"resolved by an operator", fmt.Sprintf("%s shares at %s: %s", r.FilledQty, r.Price, r.Reason),
			})
		}
		const heading = "REWARD\tUSER\tCARRIED\tAMOUNT"
		row := func(m rewards.Claim) []string {
			return []string{m.RewardID.String(), m.UserID.String(), m.Amount.String(), m.RewardAmount.String()}
		}
		if c.JSON {
			report := objectOf(lines)
			report["members"] = objects(heading, members, row)
			return printJSON(report)
		}
		for _, line := range lines {
			sayf("%-21s %s\n", line[0]+":", line[1])
		}
		return table(heading, members, row)
	})
}

// orderLines describes an order, each line with a label.
func orderLines(o rewards.Order) [][2]string {
	return [][2]string{
		{"order", o.ID.String()},
		{"client order id", o.ClientOrderID},
		{"symbol", o.Symbol},
		{"notional", o.Notional.String()},
		{"paid by the house", o.HousePays().String()},
		{"offered by the house", o.HouseOffers().String()},
		{"state", o.State.String()},
		{"reason", o.Reason},
		{"planned", moment(o.CreatedAt())},
		{"attempts", fmt.Sprint(o.Attempts)},
		{"first attempt", moment(o.FirstAttemptAt)},
		{"broker's id", o.BrokerID},
		{"broker's status", o.BrokerStatus},
		{"filled", o.FilledQty.String()},
		{"average price", o.FilledAvgPrice.String()},
		{"filled at", moment(o.FilledAt)},
		{"shares of the house", o.HouseShares.String()},
		{"settled", moment(o.SettledAt)},
	}
}

type orderResolve struct {
	databaseFlag
	brokerFlags
	ID        string `arg:"" help:"The order's id."`
	Filled    string `placeholder:"QTY" help:"Set the number of shares bought, with up to 9 decimals."`
	Price     string `placeholder:"P" help:"Set their average price in dollars."`
	NotBought bool   `help:"Resolve that nothing was bought; the rewards go into the next order."`
	Reason    string `required:"" placeholder:"TEXT" help:"Give the evidence for the decision, which is stored with the order."`
}

func (c *orderResolve) resolution() (rewards.Resolution, error) {
	r := rewards.Resolution{Reason: strings.TrimSpace(c.Reason)}
	if c.NotBought {
		if c.Filled != "" || c.Price != "" {
			return r, usageErrorf("--not-bought excludes --filled and --price")
		}
		return r, nil
	}
	var err error
	if r.FilledQty, err = money.ParseShares(c.Filled); err != nil || r.FilledQty <= 0 {
		const must = "a number of shares greater than 0, with at most 9 decimals (or use --not-bought)"
		return r, numberError("--filled", c.Filled, err, must)
	}
	if r.Price, err = money.ParsePrice(c.Price); err != nil || r.Price <= 0 {
		return r, numberError("--price", c.Price, err, "a price in dollars of at least 0.000000001")
	}
	return r, nil
}

// Run resolves the order, unless the broker's answer contradicts the decision.
func (c *orderResolve) Run(ctx context.Context) error {
	r, err := c.resolution()
	if err != nil {
		return err
	}
	id, err := rewards.ParseID[rewards.Order](c.ID)
	if err != nil {
		return usageErrorf("ID: %w", err)
	}
	return c.operate(ctx, "order resolve", required(r.Reason), func(s *store.Operator) error {
		o, err := s.Order(ctx, id)
		if err != nil {
			return err
		}
		if o.State == rewards.OrderQuarantined || o.State == rewards.OrderSubmitted {
			if r, err = c.checkWithBroker(ctx, s.Store, o, r); err != nil {
				return err
			}
		}
		return said(s.ResolveOrder(ctx, id, r), "resolved; `serve` settles it\n")
	})
}

// checkWithBroker compares the decision with the broker's answer, whose fill time it adds.
func (c *orderResolve) checkWithBroker(
	ctx context.Context, s *store.Store, o rewards.Order, r rewards.Resolution,
) (rewards.Resolution, error) {
	levels, err := s.PriceLevels(ctx, o.AssetID)
	if err != nil {
		return r, err
	}
	err = c.withBroker(ctx, c.databaseFlag, s, func(broker server.Connection) error {
		b, err := broker.OrderByClientID(ctx, o.ClientOrderID)
		if err != nil && rewards.BrokerKindOf(err) != rewards.BrokerNotFound {
			return fmt.Errorf("cannot ask the broker, so nothing is decided: %w", err)
		}
		if err != nil {
			return nil //nolint:nilerr // the broker does not know the order: nothing to contradict
		}
		if why := r.ContradictedBy(o, b, levels...); why != "" {
			return fmt.Errorf("refused: %s", why)
		}
		r = r.WithFillTime(b)
		return nil
	})
	return r, err
}

type orderAcknowledge struct {
	databaseFlag
	ClientOrderID string `arg:"" help:"The client order id, from fulfillment status."`
	Reason        string `required:"" placeholder:"TEXT" help:"Give your findings and actions, which are stored with the order."`
}

func (c *orderAcknowledge) Run(ctx context.Context) error {
	return c.operate(ctx, "order acknowledge", required(c.Reason), func(s *store.Operator) error {
		return said(s.AcknowledgeConflict(ctx, c.ClientOrderID, c.Reason), "acknowledged\n")
	})
}

type orderAdopt struct {
	databaseFlag
	brokerFlags
	ClientOrderID string `arg:"" help:"The client order id, from fulfillment status."`
	Reason        string `required:"" placeholder:"TEXT" help:"Give your findings, which are stored with the order."`
}

func (c *orderAdopt) Run(ctx context.Context) error {
	return c.operate(ctx, "order adopt", required(c.Reason), func(s *store.Operator) error {
		return c.withBroker(ctx, c.databaseFlag, s.Store, func(broker server.Connection) error {
			b, err := broker.OrderByClientID(ctx, c.ClientOrderID)
			if err != nil {
				return fmt.Errorf("cannot find the order at the broker, so nothing is done: %w", err)
			}
			o, err := s.AdoptOrder(ctx, b, c.Reason)
			return said(err, "adopted as order %s; `serve` polls and settles it\n", o.ID)
		})
	})
}
