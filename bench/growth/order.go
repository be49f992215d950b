package growth

import (
	"cmp"
	"slices"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// How many orders in a thousand are not filled.
const (
	refused  = 5
	canceled = 5 // after a partial fill
)

const refusal = "asset_not_tradable: the asset is not tradable"

// The duration of an order's steps.
const (
	toSend   = 4 * time.Millisecond
	toFill   = 130 * time.Millisecond
	toSettle = 170 * time.Millisecond
	toNext   = time.Second
)

func (p *past) buy(b *batch, place int) error {
	limits := rewards.PlanLimits{
		MaxNotional: rewards.LowestMaxNotional, DailyLeft: 1 << 60,
		HouseLeft: 1 << 60, HousePerApp: 1 << 60, TopUp: true,
	}
	for len(p.pools[place]) > 0 {
		pool := p.pools[place]
		first := pool[:min(len(pool), rewards.MaxMembers)]
		waiting, awards := make([]rewards.Waiting, len(first)), make(map[rewards.RewardID]*award, len(first))
		for i, g := range first {
			waiting[i] = rewards.Waiting{AppID: g.AppID, RewardID: g.ID, Pending: g.Amount - g.Booked}
			awards[g.ID] = g
		}
		plan, _, err := rewards.PlanOrder(rewards.Queues(waiting), rewards.MaxMembers, limits)
		if err != nil {
			return err
		}
		carried := make([]*award, len(plan.Members))
		for i, m := range plan.Members {
			carried[i] = awards[m.RewardID]
			delete(awards, m.RewardID)
		}
		if err := p.order(b, place, plan, carried); err != nil {
			return err
		}
		rest := make([]*award, 0, len(pool))
		for i, g := range pool {
			if _, waits := awards[g.ID]; i >= len(first) || waits || g.Status == rewards.Executing {
				rest = append(rest, g)
			}
		}
		p.pools[place] = rest
	}
	return nil
}

func (p *past) order(b *batch, place int, plan rewards.Plan, carried []*award) error {
	asset := &p.stocks[place]
	o := rewards.Order{
		ID: rewards.NewID[rewards.Order](p.ids), ClientOrderID: p.prefix + p.hex(12), AssetID: asset.ID,
		Symbol: asset.Symbol, Notional: plan.Notional, House: plan.House,
		MembersHash: rewards.HashMembers(plan.Members), Attempts: 1, State: rewards.OrderSubmitted,
	}
	o.FirstAttemptAt = o.CreatedAt().Add(toSend)
	o.NextAttemptAt = o.FirstAttemptAt.Add(rewards.Backoff(1))
	p.spend(&o)
	claims := make([]rewards.Claim, len(carried))
	for i, g := range carried {
		claims[i] = rewards.Claim{
			Member: plan.Members[i], UserID: g.UserID, RewardAmount: g.Amount, Booked: g.Booked, BookedShares: g.shares,
		}
	}
	booked, err := p.execute(&o, asset, claims)
	if err != nil {
		return err
	}
	o.State, o.Reason, o.HouseShares = booked.State, booked.Reason, booked.HouseShares
	o.SettledAt = o.FirstAttemptAt.Add(toSettle)
	b.order(&o)
	b.results(&o.ID, booked.Results)
	for i := range booked.Results {
		p.book(carried[i], place, &booked.Results[i])
	}
	p.advance(p.clock.Add(toNext))
	return nil
}

// execute makes the broker refuse the order, fill it, or fill half of it.
func (p *past) execute(o *rewards.Order, asset *stock, claims []rewards.Claim) (rewards.Settlement, error) {
	const thousand = 1000
	fate := p.random.IntN(thousand)
	begun := slices.ContainsFunc(claims, func(c rewards.Claim) bool { return c.Booked > 0 })
	if fate < refused && !begun {
		o.Deadline = o.FirstAttemptAt.Add(closing)
		return rewards.Refuse(claims, refusal)
	}
	price, err := money.MulDiv(int64(asset.price), int64(80+p.random.IntN(41)), 100, money.Down)
	if err != nil {
		return rewards.Settlement{}, err
	}
	answer := rewards.BrokerOrder{
		ID: p.uuid(), ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Side: "buy", Status: "filled",
		Notional: o.Notional, FilledAvgPrice: money.Price(price), FilledAt: o.FirstAttemptAt.Add(toFill),
	}
	cost := o.Notional
	if fate >= thousand-canceled {
		cost, answer.Status = o.Notional/2, "canceled"
	}
	if answer.FilledQty, err = money.SharesFor(cost, answer.FilledAvgPrice); err != nil {
		return rewards.Settlement{}, err
	}
	at := answer.FilledAt
	merged, err := o.Merge(answer, at)
	if err != nil {
		return rewards.Settlement{}, err
	}
	*o = merged
	return rewards.Settle(merged, claims, at)
}

func (p *past) spend(o *rewards.Order) {
	date := o.CreatedAt().Truncate(24 * time.Hour)
	d := p.spent[date]
	d.notional += o.Notional
	d.house += o.House
	p.spent[date] = d
}

// book writes a result into its reward and keeps what it adds to the user's holding.
func (p *past) book(g *award, place int, r *rewards.Result) {
	g.Status, g.FailureReason, g.ExecutedAt = r.Status, r.Reason, r.ExecutedAt
	g.Booked += r.Bought.Amount
	g.shares += r.Bought.Shares
	l := lot{app: g.app, user: g.user, asset: p.stocks[place].ID, shares: r.Bought.Shares}
	if r.Status == rewards.Executed {
		l.cost = r.RewardAmount
	}
	if r.Status != rewards.Failed && (l.shares > 0 || l.cost > 0) {
		p.lots = append(p.lots, l)
	}
}

// lot is what one order added to a user's holding.
type lot struct {
	app, user int
	asset     rewards.AssetID
	shares    money.Shares
	cost      money.USD
}

func (l lot) compare(other lot) int {
	return cmp.Or(cmp.Compare(l.app, other.app), cmp.Compare(l.user, other.user), cmp.Compare(l.asset, other.asset))
}

// sumHoldings sums the lots to holdings, in order of their key, and writes the spending
// of the days.
func (p *past) sumHoldings(write func(batch) bool) {
	const rowsInBatch = 50_000
	slices.SortFunc(p.lots, lot.compare)
	b := new(batch)
	for first := 0; first < len(p.lots); {
		sum, next := p.lots[first], first+1
		for ; next < len(p.lots) && sum.compare(p.lots[next]) == 0; next++ {
			sum.shares += p.lots[next].shares
			sum.cost += p.lots[next].cost
		}
		first = next
		b.holding(p.apps[sum.app].ID, p.userIDs[sum.app][sum.user], &sum)
		if len(b[holdings]) == rowsInBatch {
			if !write(*b) {
				return
			}
			b = new(batch)
		}
	}
	for date, d := range p.spent {
		b.day(date, d)
	}
	write(*b)
}
