package growth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// atOnce is how many rewards or users are stored in a transaction.
const atOnce = 1000

// closing is when the market closes; rewards come until then, and are bought then.
const closing = 20 * time.Hour

// generate makes the past day by day, and the rewards that wait at its end.
func (p *past) generate(ctx context.Context) error {
	o := p.options
	for n := range o.Days {
		p.clock = p.midnight(n)
		err := p.addUsers(ctx, early(o.Users)+(o.Users-early(o.Users))*(n+1)/o.Days)
		if err == nil {
			err = p.addRewards(ctx, o.Rewards*(n+1)/o.Days-p.awards, closing)
		}
		if err != nil {
			return fmt.Errorf("day %d: %w", n, err)
		}
		p.advance(p.midnight(n).Add(closing))
		for i := range p.stocks {
			if err := p.buy(ctx, &p.stocks[i]); err != nil {
				return fmt.Errorf("day %d: %s: %w", n, p.stocks[i].Symbol, err)
			}
		}
		for more := true; more; {
			var err error
			if more, err = p.store.SealSegment(ctx); err != nil {
				return fmt.Errorf("day %d: seal: %w", n, err)
			}
		}
		if err := vacuum(ctx, o.Database); err != nil {
			return fmt.Errorf("day %d: vacuum: %w", n, err)
		}
		p.progress(fmt.Sprintf("day %d of %d: %d rewards, %d users", n+1, o.Days, p.awards, p.users))
	}
	if err := p.store.DropLease(ctx, p.lease); err != nil {
		return err
	}
	const lately = time.Minute
	p.advance(o.End.UTC().Add(-lately))
	return p.addRewards(ctx, o.Waiting, lately/2)
}

// vacuum does what PostgreSQL's autovacuum does in a night, which is too short here: the open rewards of the next day
// take the pages of those that were bought.
func vacuum(ctx context.Context, database string) (err error) {
	if !onPostgres(database) {
		return nil
	}
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	_, err = conn.Exec(ctx, `VACUUM open_rewards`)
	return err
}

// advance sets the clock to a time, unless that is earlier.
func (p *past) advance(t time.Time) {
	if t.After(p.clock) {
		p.clock = t
	}
}

// early returns how many users exist on the first day: a quarter.
func early(users int) int { return max(1, users/4) }

func (p *past) addUsers(ctx context.Context, count int) error {
	for p.users < count {
		batch, apps := make([]rewards.User, min(count-p.users, atOnce)), make([]int, atOnce)
		for i := range batch {
			if p.users > 0 { // the first app has the first user
				apps[i] = p.drawApp()
			}
			batch[i] = rewards.User{
				AppID: p.apps[apps[i]].ID, Email: fmt.Sprintf("User.%d@mail-%d.example", p.users, apps[i]),
			}
			if p.random.IntN(2) == 0 {
				batch[i].ExternalID = "customer-" + p.hex(8)
			}
			p.users++
		}
		outcomes, err := p.store.CreateUsers(ctx, batch)
		if err != nil {
			return err
		}
		for i := range outcomes {
			p.userIDs[apps[i]] = append(p.userIDs[apps[i]], outcomes[i].User.ID)
		}
	}
	return nil
}

// addRewards records rewards in the time from now.
func (p *past) addRewards(ctx context.Context, count int, within time.Duration) error {
	from := p.clock
	for added := 0; added < count; {
		p.advance(from.Add(within / time.Duration(count) * time.Duration(added)))
		batch := make([]rewards.NewReward, min(count-added, atOnce))
		for i := range batch {
			batch[i] = p.award()
		}
		outcomes, err := p.store.RecordRewards(ctx, batch)
		if err != nil {
			return err
		}
		for i := range outcomes {
			if outcomes[i].Verdict != rewards.Created {
				return errors.New("a reward was not recorded")
			}
		}
		added += len(batch)
		p.awards += len(batch)
	}
	return nil
}

// award makes a reward of a random stock for a random user.
func (p *past) award() rewards.NewReward {
	app := p.drawApp()
	if len(p.userIDs[app]) == 0 {
		app = 0 // has the first user
	}
	asset := &p.stocks[p.drawSkewed(len(p.stocks))]
	r := rewards.NewReward{
		AppID: p.apps[app].ID, UserID: p.drawUser(app), IdempotencyKey: p.uuid(), Amount: p.amount(),
		Symbol: asset.Symbol, Source: p.source(), Metadata: p.metadata(), AssetID: asset.ID,
	}
	r.Canonical = r.Metadata
	r.Fingerprint = rewards.NewFingerprint(r, r.Canonical)
	return r
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
