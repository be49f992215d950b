package growth

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// make makes the past, a day at a time, and what waits at its end. give takes what
// is to be written and tells whether to go on.
func (p *past) make(give func(batch) bool) error {
	o := p.options
	for n := range o.Days {
		b := new(batch)
		p.clock = p.dawn(n)
		p.grow(b, early(o.Users)+(o.Users-early(o.Users))*(n+1)/o.Days)
		if err := p.day(b, n); err != nil {
			return fmt.Errorf("day %d: %w", n, err)
		}
		if !give(*b) {
			return nil
		}
		p.say(fmt.Sprintf("day %d of %d: %d rewards, %d users", n+1, o.Days, p.events, p.born))
	}
	b := new(batch)
	p.await(b)
	if give(*b) {
		p.say("holdings")
		p.books(give)
	}
	return nil
}

// early is how many of the users are there from the start: a quarter.
func early(users int) int { return max(1, users/4) }

// grow makes users until there are so many.
func (p *past) grow(b *batch, count int) {
	for ; p.born < count; p.born++ {
		app := 0
		if p.born > 0 {
			app = p.drawApp()
		}
		u := rewards.User{
			AppID: p.apps[app].ID, ID: rewards.NewID[rewards.User](p.ids),
			Email: fmt.Sprintf("User.%d@mail-%d.example", p.born, app),
		}
		if p.random.IntN(2) == 0 {
			u.ExternalID = "customer-" + p.text(8)
		}
		p.people[app] = append(p.people[app], u.ID)
		b.user(&u)
	}
}

// The hours of a day of the past: rewards come until the market's close.
const closing = 20 * time.Hour

// day gives a day's rewards; a pool that is full is bought at once, the others at
// the close.
func (p *past) day(b *batch, n int) error {
	o := p.options
	count := o.Rewards*(n+1)/o.Days - o.Rewards*n/o.Days
	dawn := p.dawn(n)
	given := make([]gift, count)
	for i := range given {
		p.turn(dawn.Add(closing / time.Duration(count) * time.Duration(i)))
		place := p.favour(len(p.given))
		p.gift(&given[i], place)
		p.pools[place] = append(p.pools[place], &given[i])
		if len(p.pools[place]) < rewards.MaxMembers {
			continue
		}
		if err := p.buy(b, place); err != nil {
			return err
		}
	}
	p.turn(dawn.Add(closing))
	for place := range p.pools {
		if err := p.buy(b, place); err != nil {
			return err
		}
	}
	for i := range given {
		b.reward(&given[i])
	}
	return nil
}

// turn sets the clock, never back.
func (p *past) turn(t time.Time) {
	if t.After(p.clock) {
		p.clock = t
	}
}

// await gives the rewards that wait at the end, in the last minute.
func (p *past) await(b *batch) {
	p.turn(p.options.End.UTC().Add(-time.Minute))
	for range p.options.Waiting {
		var g gift
		p.gift(&g, p.favour(len(p.given)))
		b.reward(&g)
	}
}

// gift gives an asset to somebody.
func (p *past) gift(g *gift, place int) {
	app := p.drawApp()
	if len(p.people[app]) == 0 {
		app = 0 // which had the first user
	}
	asset := &p.given[place]
	user := p.favour(len(p.people[app]))
	r := rewards.NewReward{
		AppID: p.apps[app].ID, UserID: p.people[app][user], IdempotencyKey: p.uuid(), Amount: p.amount(),
		Symbol: asset.Symbol, Source: p.source(), Metadata: p.metadata(), AssetID: asset.ID,
	}
	*g = gift{
		Reward: rewards.Reward{
			AppID: r.AppID, ID: rewards.NewID[rewards.Reward](p.ids), UserID: r.UserID,
			IdempotencyKey: r.IdempotencyKey, Amount: r.Amount, AssetID: r.AssetID, Symbol: r.Symbol,
			Source: r.Source, Metadata: r.Metadata, Status: rewards.Recorded,
		},
		fingerprint: rewards.NewFingerprint(r, r.Metadata), app: app, user: user,
	}
	p.events++
}

// amount is an amount that apps give: round ones, parts of a price, a few large.
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
	return sources[p.favour(len(sources))]
}

// metadata is on a third of the rewards, in its canonical form.
func (p *past) metadata() string {
	if p.random.IntN(3) > 0 {
		return ""
	}
	return fmt.Sprintf(`{"campaign":"spring-%d","orderId":%q,"tier":"gold"}`, p.random.IntN(10), p.text(6))
}
