package growth

import (
	"context"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// How many orders in a thousand are not filled.
const (
	refused  = 5
	canceled = 5 // after a partial fill
	thousand = 1000
)

const refusal = "asset_not_tradable: the asset is not tradable"

// The duration of an order's steps.
const (
	toSend   = 4 * time.Millisecond
	toFill   = 130 * time.Millisecond
	toSettle = 170 * time.Millisecond
	toNext   = time.Second
)

// buy orders everything that waits for a stock.
func (p *past) buy(ctx context.Context, s *stock) error {
	begun := false // the last order was canceled, and one of its rewards may have a part
	for {
		o, hold, err := p.store.PlanOrder(ctx, p.lease, rewards.PlanRequest{
			FilledUntil: p.clock, Asset: s.Asset, ClientOrderIDPrefix: p.prefix, Apps: len(p.apps),
			Limits: rewards.PlanLimits{
				MaxNotional: rewards.LowestMaxNotional, DailyLeft: 1 << 60,
				HouseLeft: 1 << 60, HousePerApp: 1 << 60, TopUp: true,
			},
		})
		if err != nil || hold != rewards.NoHold {
			return err
		}
		p.orders++
		p.advance(p.clock.Add(toSend))
		o, err = p.store.BeginAttempt(ctx, p.lease, o, p.clock.Add(rewards.Backoff(1)), p.clock.Add(closing))
		if err != nil {
			return err
		}
		switch fate := p.random.IntN(thousand); {
		case fate < refused && !begun:
			err = p.refuse(ctx, o)
		case fate >= thousand-canceled:
			begun, err = true, p.fill(ctx, o, s, "canceled", o.Notional/2)
		default:
			begun, err = false, p.fill(ctx, o, s, "filled", o.Notional)
		}
		if err != nil {
			return err
		}
		p.advance(p.clock.Add(toNext))
	}
}

// refuse makes the broker refuse an order.
func (p *past) refuse(ctx context.Context, o rewards.Order) error {
	book := func(claims []rewards.Claim, _ money.Shares) (rewards.Settlement, error) {
		return rewards.Refuse(claims, refusal)
	}
	return p.settle(ctx, rewards.OrderEnd{From: o.State, Order: o, Book: book})
}

// fill makes the broker end an order with a status, when it has bought for this cost.
func (p *past) fill(ctx context.Context, o rewards.Order, s *stock, status string, cost money.USD) error {
	price, err := money.MulDiv(int64(s.price), int64(80+p.random.IntN(41)), 100, money.Down)
	if err != nil {
		return err
	}
	report := rewards.BrokerOrder{
		ID: p.uuid(), ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Side: "buy", Status: status,
		Notional: o.Notional, FilledAvgPrice: money.Price(price), FilledAt: o.FirstAttemptAt.Add(toFill),
	}
	if report.FilledQty, err = money.SharesFor(cost, report.FilledAvgPrice); err != nil {
		return err
	}
	p.advance(report.FilledAt)
	open, err := o.Merge(report, p.clock)
	if err != nil {
		return err
	}
	if err := p.store.SaveOrder(ctx, p.lease, o.State, open); err != nil {
		return err
	}
	p.advance(o.FirstAttemptAt.Add(toSettle))
	book := func(claims []rewards.Claim, house money.Shares) (rewards.Settlement, error) {
		return rewards.Settle(open, claims, house, p.clock)
	}
	return p.settle(ctx, rewards.OrderEnd{From: open.State, Order: open, Book: book})
}

func (p *past) settle(ctx context.Context, end rewards.OrderEnd) error {
	_, err := p.store.SettleOrders(ctx, p.lease, end)
	return err
}
