package growth

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"stockrewards/internal/catalog"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// listed is an asset that is given, with the level of its price.
type listed struct {
	rewards.Asset
	price money.Price
}

// past is the history under way.
type past struct {
	options Options
	bytes   *rand.ChaCha8
	random  *rand.Rand
	clock   time.Time
	ids     *rewards.IDs

	prefix string // of client order ids
	apps   []rewards.App
	keys   []Key
	given  []listed           // most popular first
	people [][]rewards.UserID // by app, oldest first
	born   int                // users so far

	pools  [][]*gift // by the place in given: what waits, oldest first
	spent  map[time.Time]day
	lots   []lot
	events int
}

// day is what was ordered on a UTC day.
type day struct{ notional, house money.USD }

// gift is a reward with what an order must know of it.
type gift struct {
	rewards.Reward
	fingerprint rewards.Fingerprint
	app, user   int // places in apps and people
	shares      money.Shares
}

func newPast(o Options) *past {
	p := &past{options: o, bytes: newRandom(o.Seed), spent: make(map[time.Time]day)}
	p.random = rand.New(p.bytes)
	p.clock = p.dawn(0)
	p.ids = rewards.NewIDs(p.now, p.bytes)
	p.people = make([][]rewards.UserID, o.Apps)
	return p
}

func (p *past) now() time.Time { return p.clock }

func (p *past) say(text string) {
	if p.options.Progress != nil {
		p.options.Progress(text)
	}
}

// dawn is the start of a day of the past, in UTC.
func (p *past) dawn(n int) time.Time {
	const oneDay = 24 * time.Hour
	last := p.options.End.UTC().Add(-settled).Truncate(oneDay)
	return last.Add(time.Duration(n-p.options.Days) * oneDay)
}

// found makes what a new installation has: settings, catalog, apps with their keys.
func (p *past) found(ctx context.Context) error {
	engine, err := openEngine(ctx, p.options.Database)
	if err != nil {
		return err
	}
	s, err := store.New(ctx, engine, p.now, p.bytes)
	if err != nil {
		return errors.Join(err, engine.Close())
	}
	return errors.Join(p.furnish(ctx, s), s.Close())
}

func (p *past) furnish(ctx context.Context, s *store.Store) error {
	there, err := s.Apps(ctx)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return errors.New("there are books already")
	}
	in, err := s.Installation(ctx)
	if err != nil {
		return err
	}
	p.prefix = "sr-" + in.ID + "-"
	if err := p.list(ctx, s); err != nil {
		return err
	}
	for i := range p.options.Apps {
		if err := p.app(ctx, s, fmt.Sprintf("App %d", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// list seeds the catalog and chooses what is given.
func (p *past) list(ctx context.Context, s *store.Store) error {
	entries, err := catalog.Entries()
	if err != nil {
		return err
	}
	assets, prices := make([]rewards.Asset, len(entries)), make(map[string]money.Price, len(entries))
	for i, e := range entries {
		assets[i], prices[e.Symbol] = rewards.Asset{Symbol: e.Symbol, Name: e.Name}, e.Price
	}
	if err := s.SeedAssets(ctx, assets); err != nil {
		return err
	}
	if assets, err = s.Assets(ctx); err != nil {
		return err
	}
	p.random.Shuffle(len(assets), func(i, j int) { assets[i], assets[j] = assets[j], assets[i] })
	for _, a := range assets[:min(p.options.Assets, len(assets))] {
		p.given = append(p.given, listed{a, prices[a.Symbol]})
	}
	p.pools = make([][]*gift, len(p.given))
	return nil
}

func (p *past) app(ctx context.Context, s *store.Store, name string) error {
	secret, err := rewards.NewKeySecret(rewards.TestKeyPrefix, p.bytes)
	if err != nil {
		return err
	}
	k := rewards.Key{Hash: rewards.HashKey(secret), Hint: rewards.KeyHint(rewards.TestKeyPrefix, secret)}
	a, _, err := s.As(rewards.Operator{Actor: "grow@bench", Command: "grow"}).CreateApp(ctx, name, k)
	if err != nil {
		return err
	}
	p.apps, p.keys = append(p.apps, a), append(p.keys, Key{a.ID, name, secret})
	return nil
}

// favour draws from n, the first ones by far most often.
func (p *past) favour(n int) int { return p.random.IntN(1 + p.random.IntN(n)) }

// drawApp draws an app: three tenths are the first one's.
func (p *past) drawApp() int {
	const tenths = 3
	if n := len(p.apps) - 1; n > 0 && p.random.IntN(10) >= tenths {
		return 1 + p.favour(n)
	}
	return 0
}

// text is random bytes in hexadecimal digits.
func (p *past) text(size int) string {
	const most = 32
	var b [most]byte
	_, _ = p.bytes.Read(b[:size]) // it never fails
	return hex.EncodeToString(b[:size])
}

// uuid is a random UUID, as clients and brokers make them.
func (p *past) uuid() string {
	var id rewards.ID[struct{}]
	_, _ = p.bytes.Read(id[:]) // it never fails
	id[6], id[8] = 0x40|id[6]&0x0f, 0x80|id[8]&0x3f
	return id.String()
}
