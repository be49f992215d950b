package growth

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// generate generates the past day by day, and the rewards that wait at its end. It stops
// when write, which takes the rows, returns false.
func (p *past) generate(write func(batch) bool) error {
	o := p.options
	for n := range o.Days {
		b := new(batch)
		p.clock = p.midnight(n)
		p.addUsers(b, early(o.Users)+(o.Users-early(o.Users))*(n+1)/o.Days)
		if err := p.addDay(b, n); err != nil {
			return fmt.Errorf("day %d: %w", n, err)
		}
		if !write(*b) {
			return nil
		}
		p.progress(fmt.Sprintf("day %d of %d: %d rewards, %d users", n+1, o.Days, p.awards, p.users))
	}
	b := new(batch)
	p.addWaiting(b)
	if write(*b) {
		p.progress("holdings")
		p.sumHoldings(write)
	}
	return nil
}

// early returns how many users exist on the first day: a quarter.
func early(users int) int { return max(1, users/4) }

func (p *past) addUsers(b *batch, count int) {
	for ; p.users < count; p.users++ {
		app := 0
		if p.users > 0 {
			app = p.drawApp()
		}
		u := rewards.User{
			AppID: p.apps[app].ID, ID: rewards.NewID[rewards.User](p.ids),
			Email: fmt.Sprintf("User.%d@mail-%d.example", p.users, app),
		}
		if p.random.IntN(2) == 0 {
			u.ExternalID = "customer-" + p.hex(8)
		}
		p.userIDs[app] = append(p.userIDs[app], u.ID)
		b.user(&u)
	}
}

// closing is when the market closes; rewards come until then.
const closing = 20 * time.Hour

// addDay adds a day's rewards. A full pool is bought at once, the others at the close.
func (p *past) addDay(b *batch, n int) error {
	o := p.options
	count := o.Rewards*(n+1)/o.Days - o.Rewards*n/o.Days
	dawn := p.midnight(n)
	awards := make([]award, count)
	for i := range awards {
		p.advance(dawn.Add(closing / time.Duration(count) * time.Duration(i)))
		place := p.drawSkewed(len(p.stocks))
		p.award(&awards[i], place)
		p.pools[place] = append(p.pools[place], &awards[i])
		if len(p.pools[place]) < rewards.MaxMembers {
			continue
		}
		if err := p.buy(b, place); err != nil {
			return err
		}
	}
	p.advance(dawn.Add(closing))
	for place := range p.pools {
		if err := p.buy(b, place); err != nil {
			return err
		}
	}
	for i := range awards {
		b.reward(&awards[i])
	}
	return nil
}

// advance sets the clock to a time, unless that is earlier.
func (p *past) advance(t time.Time) {
	if t.After(p.clock) {
		p.clock = t
	}
}

// addWaiting adds the rewards that wait at the end, in the last minute.
func (p *past) addWaiting(b *batch) {
	p.advance(p.options.End.UTC().Add(-time.Minute))
	for range p.options.Waiting {
		var a award
		p.award(&a, p.drawSkewed(len(p.stocks)))
		b.reward(&a)
	}
}

// award makes a reward of a stock for a random user.
func (p *past) award(g *award, place int) {
	app := p.drawApp()
	if len(p.userIDs[app]) == 0 {
		app = 0 // has the first user
	}
	asset := &p.stocks[place]
	user := p.drawSkewed(len(p.userIDs[app]))
	r := rewards.NewReward{
		AppID: p.apps[app].ID, UserID: p.userIDs[app][user], IdempotencyKey: p.uuid(), Amount: p.amount(),
		Symbol: asset.Symbol, Source: p.source(), Metadata: p.metadata(), AssetID: asset.ID,
	}
	*g = award{
		Reward: rewards.Reward{
			AppID: r.AppID, ID: rewards.NewID[rewards.Reward](p.ids), UserID: r.UserID,
			IdempotencyKey: r.IdempotencyKey, Amount: r.Amount, AssetID: r.AssetID, Symbol: r.Symbol,
			Source: r.Source, Metadata: r.Metadata, Status: rewards.Recorded,
		},
		fingerprint: rewards.NewFingerprint(r, r.Metadata), app: app, user: user,
	}
	p.awards++
}

// amount draws an amount: round ones, parts of a price, a few large ones.
func (p *past) amount() money.USD {
	switch n := p.random.IntN(20); {
	case n < 10:
		return money.USD(1+p.random.IntN(20)) * money.Dollar / 2
	case n < 19:
		return money.USD(1+p.random.IntN(2_000)) * money.Cent
	default:
		return money.USD(1 + p.random.IntN(int(200*money.Dollar)))
	}
}

func (p *past) source() string {
	sources := [...]string{"purchase", "referral", "cashback", "signup_bonus", "quiz", "anniversary", ""}
	return sources[p.drawSkewed(len(sources))]
}

// metadata draws canonical metadata, which a third of the rewards have.
func (p *past) metadata() string {
	if p.random.IntN(3) > 0 {
		return ""
	}
	return fmt.Sprintf(`{"campaign":"spring-%d","orderId":%q,"tier":"gold"}`, p.random.IntN(10), p.hex(6))
}
