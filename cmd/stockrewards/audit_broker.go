package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stockrewards/internal/audit/brokercheck"
	"stockrewards/internal/rewards"
	"stockrewards/internal/server"
)

// exitIncomparable is the exit status of an audit that cannot read both sides.
const exitIncomparable = 3

// secondReading is the pause before breaks are confirmed: longer than `serve` takes to
// settle a fill.
const secondReading = 6 * time.Second

func (c *auditCommand) compareWithBroker(ctx context.Context) error {
	report, err := c.compare(ctx)
	if err != nil {
		return exitError{err, exitIncomparable}
	}
	if err = c.print(report); err == nil && !report.Clean {
		err = fmt.Errorf("%s: %d breaks", withoutPassword(c.Database), report.Totals.Breaks)
	}
	return err
}

// compare reads both sides, and a second time if there are breaks: work in progress is
// then complete.
func (c *auditCommand) compare(ctx context.Context) (brokercheck.Report, error) {
	var none brokercheck.Report
	ours, err := readStore(ctx, c.databaseFlag)
	if err != nil {
		return none, err
	}
	if ours.BrokerKind == "" {
		return none, errors.New("this database belongs to no broker yet: start `serve` first")
	}
	database, err := c.database()
	if err != nil {
		return none, err
	}
	if ours.BrokerKind == server.BrokerPaper && database.SQLite == "" {
		return none, errors.New("the embedded paper brokerage keeps its books beside an SQLite file only")
	}
	flags := brokerFlags{addressFlags: c.addressFlags, Broker: ours.BrokerKind}
	broker, err := flags.connect(ctx, database, ours.BrokerAccount)
	if err != nil {
		return none, err
	}
	first, err := c.compareOnce(ctx, broker)
	if err != nil || first.Clean {
		return first, errors.Join(err, broker.Close())
	}
	select {
	case <-ctx.Done():
		return none, errors.Join(ctx.Err(), broker.Close())
	case <-time.After(secondReading):
	}
	second, err := c.compareOnce(ctx, broker)
	return brokercheck.Confirmed(first, second), errors.Join(err, broker.Close())
}

// compareOnce reads the broker, the database, and recent orders at the broker again: see
// brokercheck.Theirs.
func (c *auditCommand) compareOnce(ctx context.Context, broker server.Connection) (brokercheck.Report, error) {
	var none brokercheck.Report
	theirs, account, err := readBroker(ctx, broker)
	if err != nil {
		return none, fmt.Errorf("cannot ask the broker: %w", err)
	}
	ours, err := readStore(ctx, c.databaseFlag)
	if err != nil {
		return none, err
	}
	if account != ours.BrokerAccount {
		return none, otherAccount(ours.BrokerKind, account, ours.BrokerAccount)
	}
	last, err := broker.Orders(ctx, brokercheck.LastSince(theirs.First), nil)
	if err != nil {
		return none, fmt.Errorf("cannot ask the broker: %w", err)
	}
	theirs.Last = plainOrders(last)
	for _, id := range ours.Missing(theirs) {
		b, err := broker.OrderByClientID(ctx, id)
		switch {
		case err == nil:
			theirs.Last = append(theirs.Last, plainOrders([]rewards.BrokerOrder{b})...)
		case rewards.BrokerKindOf(err) != rewards.BrokerNotFound:
			return none, fmt.Errorf("cannot ask the broker about %s: %w", id, err)
		}
	}
	return brokercheck.Compare(ours, theirs, time.Now()), nil
}

func readBroker(ctx context.Context, broker server.Connection) (s brokercheck.Theirs, account string, err error) {
	a, err := broker.Account(ctx)
	if err != nil {
		return s, "", err
	}
	orders, err := broker.Orders(ctx, time.Time{}, nil)
	if err != nil {
		return s, "", err
	}
	positions, err := broker.Positions(ctx)
	if err != nil {
		return s, "", err
	}
	s.First = plainOrders(orders)
	for _, p := range positions {
		s.Positions = append(s.Positions, brokercheck.Position(p))
	}
	return s, a.ID, nil
}

func plainOrders(orders []rewards.BrokerOrder) []brokercheck.Order {
	list := make([]brokercheck.Order, len(orders))
	for i, o := range orders {
		list[i] = brokercheck.Order{
			ClientOrderID: o.ClientOrderID, BrokerID: o.ID, AssetID: o.AssetID, Symbol: o.Symbol, Side: o.Side,
			Status: o.Status, Notional: o.Notional, FilledQty: o.FilledQty, AveragePrice: o.FilledAvgPrice,
			SubmittedAt: o.SubmittedAt, FilledAt: o.FilledAt, Problem: o.Problem,
		}
	}
	return list
}

func readStore(ctx context.Context, d databaseFlag) (*brokercheck.Ours, error) {
	opened, err := openAudited(ctx, d)
	if err != nil {
		return nil, err
	}
	ours, err := brokercheck.Read(ctx, opened)
	return ours, errors.Join(err, opened.Close())
}
