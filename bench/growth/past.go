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

type stock struct {
	rewards.Asset
	price money.Price
}

// past fills a store.
type past struct {
	options Options
	store   *store.Store
	lease   rewards.Lease
	bytes   *rand.ChaCha8
	random  *rand.Rand
	clock   time.Time

	prefix  string // of client order ids
	apps    []rewards.App
	keys    []Key
	stocks  []stock            // the most popular first
	userIDs [][]rewards.UserID // by app, the oldest first
	users   int                // users so far

	awards int
	orders int
}

func newPast(o Options) *past {
	p := &past{options: o, bytes: newRandom(o.Seed)}
	p.random = rand.New(p.bytes)
	p.clock = p.midnight(0)
	p.userIDs = make([][]rewards.UserID, o.Apps)
	return p
}

func (p *past) now() time.Time { return p.clock }

func (p *past) progress(text string) {
	if p.options.Progress != nil {
		p.options.Progress(text)
	}
}

// midnight returns the start of a day of the past, in UTC.
func (p *past) midnight(n int) time.Time {
	const oneDay = 24 * time.Hour
	last := p.options.End.UTC().Add(-settled).Truncate(oneDay)
	return last.Add(time.Duration(n-p.options.Days) * oneDay)
}

// install adds the catalog and the apps, and takes the lead.
func (p *past) install(ctx context.Context) error {
	apps, err := p.store.Apps(ctx)
	if err != nil {
		return err
	}
	if len(apps) > 0 {
		return errors.New("the store is not empty")
	}
	in, err := p.store.Installation(ctx)
	if err != nil {
		return err
	}
	p.prefix = "sr-" + in.ID + "-"
	if err := p.chooseStocks(ctx); err != nil {
		return err
	}
	for i := range p.options.Apps {
		if err := p.addApp(ctx, fmt.Sprintf("app-%d", i+1)); err != nil {
			return err
		}
	}
	p.lease, err = p.store.TakeLease(ctx, "growth", time.Second, true)
	return err
}

// chooseStocks seeds the catalog and chooses the stocks that rewards are for.
func (p *past) chooseStocks(ctx context.Context) error {
	entries, err := catalog.Entries()
	if err != nil {
		return err
	}
	assets, prices := make([]rewards.Asset, len(entries)), make(map[string]money.Price, len(entries))
	for i, e := range entries {
		assets[i], prices[e.Symbol] = rewards.Asset{Symbol: e.Symbol, Name: e.Name}, e.Price
	}
	if err := p.store.SeedAssets(ctx, assets); err != nil {
		return err
	}
	if assets, err = p.store.Assets(ctx); err != nil {
		return err
	}
	p.random.Shuffle(len(assets), func(i, j int) { assets[i], assets[j] = assets[j], assets[i] })
	for _, a := range assets[:min(p.options.Assets, len(assets))] {
		p.stocks = append(p.stocks, stock{a, prices[a.Symbol]})
	}
	return nil
}

func (p *past) addApp(ctx context.Context, name string) error {
	secret, err := rewards.NewKeySecret(rewards.TestKeyPrefix, p.bytes)
	if err != nil {
		return err
	}
	k := rewards.Key{Hash: rewards.HashKey(secret), Hint: rewards.KeyHint(rewards.TestKeyPrefix, secret)}
	a, _, err := p.store.As(rewards.Operator{Actor: "grow@bench", Command: "grow"}).CreateApp(ctx, name, k)
	if err != nil {
		return err
	}
	p.apps, p.keys = append(p.apps, a), append(p.keys, Key{a.ID, name, secret})
	return nil
}

// drawSkewed draws from 0 to n-1, the first ones most often.
func (p *past) drawSkewed(n int) int { return p.random.IntN(1 + p.random.IntN(n)) }

// drawApp draws an app, the first one in three of ten cases.
func (p *past) drawApp() int {
	const tenths = 3
	if n := len(p.apps) - 1; n > 0 && p.random.IntN(10) >= tenths {
		return 1 + p.drawSkewed(n)
	}
	return 0
}

// drawUser draws a user of an app. A hundredth of the users, the regulars, get a tenth of
// the rewards besides their own.
func (p *past) drawUser(app int) rewards.UserID {
	const tenth, hundredth = 10, 100
	ids := p.userIDs[app]
	if p.random.IntN(tenth) == 0 {
		return ids[p.random.IntN(1+len(ids)/hundredth)]
	}
	return ids[p.drawSkewed(len(ids))]
}

func (p *past) hex(size int) string {
	b := make([]byte, size)
	_, _ = p.bytes.Read(b) // never fails
	return hex.EncodeToString(b)
}

// uuid returns a random UUID, like those of clients and brokers.
func (p *past) uuid() string {
	var id rewards.ID[struct{}]
	_, _ = p.bytes.Read(id[:]) // never fails
	id[6], id[8] = 0x40|id[6]&0x0f, 0x80|id[8]&0x3f
	return id.String()
}
