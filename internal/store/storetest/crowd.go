package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// fractions compares fractions by their value.
func fractions() gocmp.Option {
	return gocmp.Comparer(func(a, b rewards.Fraction) bool { return a.String() == b.String() })
}

// crowd is a world with many holders of AAPL, of KO and of both, in two apps.
type crowd struct {
	*World

	beside       *store.Store // without anything in memory
	users        []rewards.User
	planted      portfolios // what they have without any activity
	aapl, ko, ts rewards.AssetID
	houses       map[rewards.AssetID]money.Shares
}

// portfolios are the holdings of users, by asset.
type portfolios map[rewards.UserID][]rewards.Holding

// newCrowd gives shares to new users: dust, none, and some of any number of billionths.
func newCrowd(t *testing.T, w *World, size int) *crowd {
	t.Helper()
	c := &crowd{
		World: w, aapl: w.Asset(t, "AAPL").ID, ko: w.Asset(t, "KO").ID, ts: w.Asset(t, "TSLA").ID,
		houses: make(map[rewards.AssetID]money.Shares),
	}
	c.beside = w.another(t)
	apps := []rewards.AppID{w.App.ID, w.NewApp(t, "second").ID}
	batch := make([]rewards.User, size)
	for i := range batch {
		batch[i] = rewards.User{AppID: apps[i%len(apps)], ExternalID: fmt.Sprint("holder-", i)}
	}
	outcomes, err := w.CreateUsers(t.Context(), batch)
	check(t, err)
	var rows [][]any
	sums := make(map[rewards.AssetID]money.Shares)
	random := rand.New(rand.NewPCG(16, uint64(size)))
	add := func(u rewards.User, asset rewards.AssetID) {
		quantity, cost := money.Shares(random.Int64N(50*int64(money.Share))), random.Int64N(9_000_000_000)
		switch random.IntN(8) {
		case 0:
			quantity, cost = money.Shares(random.IntN(12)), random.Int64N(4)
		case 1:
			quantity, cost = 0, 0 // what a merger leaves
		}
		sums[asset] += quantity
		rows = append(rows, []any{u.AppID[:], u.ID[:], int64(asset), int64(quantity), cost})
	}
	for i := range outcomes {
		u := outcomes[i].User
		c.users = append(c.users, u)
		for place, asset := range []rewards.AssetID{c.aapl, c.ko, c.ts} {
			if held := [...][3]bool{{true}, {true, true}, {true, false, true}, {false, true}, {true, true, true}, {}}[i%6]; held[place] {
				add(u, asset)
			}
		}
	}
	for asset := range sums {
		c.houses[asset] = money.Shares(random.Int64N(int64(money.Share)))
	}
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.ExecEach(ctx, `INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis)
			VALUES (?1, ?2, ?3, ?4, ?5)`, rows); err != nil {
			return err
		}
		for asset, sum := range sums {
			if _, err := tx.Exec(ctx, `INSERT INTO positions (asset_id, booked) VALUES (?1, ?2)`, int64(asset),
				int64(sum+c.houses[asset])); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO house_holdings (asset_id, quantity) VALUES (?1, ?2)`, int64(asset),
				int64(c.houses[asset])); err != nil {
				return err
			}
		}
		return nil
	}))
	c.wantBooked(t, "at first")
	c.planted = c.read(t, c.beside)
	return c
}

// another opens a second store on the engine, which keeps no holdings in memory.
func (w *World) another(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.New(t.Context(), struct{ store.Engine }{w.engine}, w.Now, rand.NewChaCha8([32]byte{2}))
	check(t, err)
	return s
}

// read reads the holdings of all users at once.
func (c *crowd) read(t *testing.T, s *store.Store) portfolios {
	t.Helper()
	const readers = 50
	lists := make([][]rewards.Holding, len(c.users))
	var group sync.WaitGroup
	for first := range readers {
		group.Go(func() {
			for i := first; i < len(c.users); i += readers {
				list, err := s.Holdings(t.Context(), c.users[i].AppID, c.users[i].ID)
				if err != nil {
					t.Error(err)
				}
				lists[i] = sorted(slices.Clone(list))
			}
		})
	}
	group.Wait()
	all := make(portfolios, len(c.users))
	for i, u := range c.users {
		all[u.ID] = lists[i]
	}
	return all
}

func sorted(list []rewards.Holding) []rewards.Holding {
	slices.SortFunc(list, func(a, b rewards.Holding) int { return cmp.Compare(a.AssetID, b.AssetID) })
	return list
}

// of finds the holding of an asset, or adds an empty one.
func (p portfolios) of(u rewards.UserID, asset rewards.AssetID) *rewards.Holding {
	i := slices.IndexFunc(p[u], func(h rewards.Holding) bool { return h.AssetID == asset })
	if i < 0 {
		p[u] = append(p[u], rewards.Holding{AssetID: asset})
		i = len(p[u]) - 1
	}
	return &p[u][i]
}

// get returns the holding of an asset, or the zero value.
func (p portfolios) get(u rewards.UserID, asset rewards.AssetID) (found rewards.Holding) {
	for _, h := range p[u] {
		if h.AssetID == asset {
			found = h
		}
	}
	return found
}

// has reports whether the user has a holding of the asset, even an empty one.
func (p portfolios) has(u rewards.UserID, asset rewards.AssetID) bool {
	return slices.ContainsFunc(p[u], func(h rewards.Holding) bool { return h.AssetID == asset })
}

func (p portfolios) clone() portfolios {
	next := make(portfolios, len(p))
	for u, list := range p {
		next[u] = slices.Clone(list)
	}
	return next
}

// converted returns what every user has after the conversion of the asset's holdings.
func (p portfolios) converted(t *testing.T, asset rewards.AssetID, by rewards.Conversion) portfolios {
	t.Helper()
	next := p.clone()
	for u := range p {
		if !p.has(u, asset) {
			continue
		}
		h := next.of(u, asset)
		kept, given, err := by.Apply(*h)
		check(t, err)
		kept.Generation++
		*h = kept
		if !given.IsEmpty() {
			target := next.of(u, by.Target)
			target.Quantity, target.CostBasis = target.Quantity+given.Quantity, target.CostBasis+given.CostBasis
			sorted(next[u])
		}
	}
	return next
}

// undone returns what every user has after the change from before to after was taken back.
func (p portfolios) undone(asset rewards.AssetID, before, after portfolios) portfolios {
	next := p.clone()
	for u := range p {
		for i := range next[u] {
			h := &next[u][i]
			was, is := before.get(u, h.AssetID), after.get(u, h.AssetID)
			h.Quantity = max(0, h.Quantity-(is.Quantity-was.Quantity))
			h.CostBasis = max(0, h.CostBasis-(is.CostBasis-was.CostBasis))
			if h.AssetID == asset {
				h.Generation++
			}
		}
	}
	return next
}

// wantHoldings checks what every reader sees.
func (c *crowd) wantHoldings(t *testing.T, when string, want portfolios) {
	t.Helper()
	for reader, s := range map[string]*store.Store{"this process": c.Store, "another one": c.beside} {
		got := c.read(t, s)
		wrong := 0
		for i, u := range c.users {
			if slices.Equal(got[u.ID], want[u.ID]) {
				continue
			}
			wrong++
			if wrong <= 3 {
				t.Errorf("%s, %s reads of user %d:\n%+v, want\n%+v", when, reader, i, got[u.ID], want[u.ID])
			}
		}
		if wrong > 0 {
			t.Fatalf("%s, %s reads %d of %d users wrong", when, reader, wrong, len(c.users))
		}
	}
	c.wantActivity(t, when, want)
}

// wantBooked checks that the users and the house have the booked shares of each stock.
func (w *World) wantBooked(t *testing.T, when string) {
	t.Helper()
	check(t, w.engine.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error {
			var asset, booked, users, house int64
			err := row.Scan(&asset, &booked, &users, &house)
			if users+house != booked {
				t.Errorf("%s, stock %d: the users have %d, the house %d; booked are %d", when, asset, users, house, booked)
			}
			return err
		}, `SELECT p.asset_id, p.booked,
			CAST(coalesce((SELECT sum(h.quantity) FROM holdings h WHERE h.asset_id = p.asset_id), 0) AS bigint),
			coalesce((SELECT o.quantity FROM house_holdings o WHERE o.asset_id = p.asset_id), 0) FROM positions p `+unbounded)
	}))
}

// wantStored checks the stored holdings, which no sweep lags behind.
func (c *crowd) wantStored(t *testing.T, when string, want portfolios) {
	t.Helper()
	got := make(portfolios, len(c.users))
	for _, u := range c.users {
		got[u.ID] = nil
	}
	check(t, c.engine.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error {
			var u blob
			var h rewards.Holding
			err := row.Scan(&u, (*int64)(&h.AssetID), (*int64)(&h.Quantity), (*int64)(&h.CostBasis), &h.Generation)
			if id := rewards.UserID(u); want[id] != nil {
				got[id] = append(got[id], h)
			}
			return err
		}, `SELECT user_id, asset_id, quantity, cost_basis, generation FROM holdings ORDER BY app_id, user_id, asset_id `+unbounded)
	}))
	wantEqual(t, "stored "+when, want, got, gocmp.Transformer("hex", rewards.UserID.String))
}

// wantEffects checks that a switch has exactly one row of effects for each holding of its stock, and
// for each of the target that changed.
func (c *crowd) wantEffects(t *testing.T, s rewards.Switch, before, after portfolios) {
	t.Helper()
	var want []rewards.Effect
	users := slices.SortedFunc(slices.Values(c.users), func(a, b rewards.User) int {
		return cmp.Or(bytes.Compare(a.AppID[:], b.AppID[:]), bytes.Compare(a.ID[:], b.ID[:]))
	})
	for _, u := range users {
		for _, asset := range []rewards.AssetID{c.aapl, c.ko, c.ts} {
			was, is := before.get(u.ID, asset), after.get(u.ID, asset)
			was = rewards.Holding{Quantity: was.Quantity, CostBasis: was.CostBasis}
			is = rewards.Holding{Quantity: is.Quantity, CostBasis: is.CostBasis}
			if asset == s.AssetID && (was != is || was.Quantity != 0 || was.CostBasis != 0) || asset == s.Target && was != is {
				e := rewards.Effect{
					AppID: u.AppID, UserID: u.ID, AssetID: asset, Before: was.Quantity, After: is.Quantity,
					BasisBefore: was.CostBasis, BasisAfter: is.CostBasis,
				}
				if asset == s.AssetID {
					e.Entitled = e.Before
				}
				want = append(want, e)
			}
		}
	}
	wantEqual(t, fmt.Sprint("effects of switch ", s.Number), want, c.effects(t, s.Number))
}

// effects reads the effects of a switch, in the order of app, user and stock.
func (w *World) effects(t *testing.T, number int64) (list []rewards.Effect) {
	t.Helper()
	check(t, w.engine.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error {
			var app, user, reward blob
			var e rewards.Effect
			err := row.Scan(&app, &user, (*int64)(&e.AssetID), (*int64)(&e.Before), (*int64)(&e.After),
				(*int64)(&e.BasisBefore), (*int64)(&e.BasisAfter), (*int64)(&e.Entitled), (*int64)(&e.Cash), &reward)
			copy(e.AppID[:], app)
			copy(e.UserID[:], user)
			copy(e.RewardID[:], reward)
			list = append(list, e)
			return err
		}, `SELECT app_id, user_id, asset_id, before, after, basis_before, basis_after, entitled, cash, reward_id FROM effects
			WHERE switch = ?1 `+unbounded, number)
	}))
	slices.SortFunc(list, func(a, b rewards.Effect) int {
		return cmp.Or(bytes.Compare(a.AppID[:], b.AppID[:]), bytes.Compare(a.UserID[:], b.UserID[:]), cmp.Compare(a.AssetID, b.AssetID))
	})
	return list
}
