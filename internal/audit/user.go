package audit

import (
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strconv"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// user is a row of users.
type user struct{ app, id, email, folded, externalID, seal string }

func userStream() reader.Stream[user] {
	return reader.Stream[user]{
		What:  "users",
		Query: `SELECT app_id, id, email, email_folded, external_id, seal FROM users ORDER BY app_id, id`,
		Bind:  func(u *user) []any { return []any{&u.app, &u.id, &u.email, &u.folded, &u.externalID, &u.seal} },
		Key:   func(u *user) reader.Key { return reader.Key{u.app, u.id} },
	}
}

func (u *user) name() string { return userName(u.app, u.id) }

func userName(app, id string) string { return "user " + value.UUID(id) + " of app " + value.UUID(app) }

// lot is the shares that a reward bought for a user, in one generation of the asset.
type lot struct {
	app, user, reward string
	asset, generation int64
	high, low         int64 // of the sum of the allocated shares
	cost              int64 // the amount, with the lot that executed the reward
}

func (l *lot) columns() []any {
	return []any{&l.app, &l.user, &l.reward, &l.asset, &l.generation, &l.high, &l.low, &l.cost}
}

// lotStream reads the lots that addLot keeps.
func lotStream() reader.Stream[lot] {
	return reader.Stream[lot]{
		What: "rewards by user",
		Bind: (*lot).columns,
		Key:  func(l *lot) reader.Key { return reader.Key{l.app, l.user} },
	}
}

// addLot keeps the lots of a reward: one, unless its orders were settled in several generations.
func (a *auditor) addLot(v *rewardView) error {
	l := lot{app: v.app, user: v.user, reward: v.id, asset: v.asset}
	var shares value.Sum
	for i := range v.parts {
		p := &v.parts[i]
		if p.allocated() && p.generation != l.generation {
			if shares.Sign() != 0 {
				l.high, l.low = shares.High, int64(shares.Low)
				if err := a.lots.Add(l.columns()); err != nil {
					return err
				}
			}
			l.generation, shares = p.generation, value.Sum{}
		}
		shares.Add(p.shares)
	}
	if l.high, l.low = shares.High, int64(shares.Low); v.status == executed {
		l.cost = v.amount
	}
	return a.lots.Add(l.columns())
}

// holding is a row of holdings.
type holding struct {
	app, user                              string
	asset, quantity, costBasis, generation int64
}

func (h *holding) name() string {
	return "holding of " + value.Asset(h.asset) + " of " + userName(h.app, h.user)
}

func holdingStream() reader.Stream[holding] {
	return reader.Stream[holding]{
		What: "holdings",
		Query: `SELECT app_id, user_id, asset_id, quantity, cost_basis, generation FROM holdings
			ORDER BY app_id, user_id, asset_id`,
		Bind: func(h *holding) []any {
			return []any{&h.app, &h.user, &h.asset, &h.quantity, &h.costBasis, &h.generation}
		},
		Key: func(h *holding) reader.Key { return reader.Key{h.app, h.user} },
	}
}

// due is what a user must hold of an asset, and what the store has.
type due struct {
	lots     []bought // by generation
	changed  bought   // by the switches, and taken back
	holdings []holding
}

// bought is shares and what they cost.
type bought struct {
	generation   int64
	shares, cost value.Sum
}

// userJoin merges users with their lots, effects and holdings.
type userJoin struct {
	a         *auditor
	lots      *reader.Cursor[lot]
	changes   *reader.Cursor[effect]
	holdings  *reader.Cursor[holding]
	reversals *reader.Cursor[reversal]
	takings   *reader.Cursor[taking]

	// Of the current user:
	due     map[int64]*due // by asset
	effects []effect       // by switch
	backs   []reversal     // by award
	taken   []taking
	parts   []lot // by award, if something was taken back
	books   *books
}

// users checks every user, and that it holds what was allocated.
func (a *auditor) users() error {
	rows, err := reader.Open(a.r, userStream())
	if err != nil {
		return err
	}
	j := userJoin{a: a, due: make(map[int64]*due)}
	if j.lots, err = reader.OpenSorted(a.r, lotStream(), a.lots); err != nil {
		return err
	}
	if j.changes, err = reader.Open(a.r, effectStream()); err != nil {
		return err
	}
	if j.holdings, err = reader.Open(a.r, holdingStream()); err != nil {
		return err
	}
	if j.reversals, err = reader.Open(a.r, reversalStream()); err != nil {
		return err
	}
	if j.takings, err = reader.Open(a.r, takingStream()); err != nil {
		return err
	}
	var last reader.Key
	err = rows.Each(func(u *user) error {
		k := reader.Key{u.app, u.id}
		a.checkID(u.id, k == last, u)
		last = k
		a.checkTenant(u.app, u)
		a.checkContact(u)
		a.checkSeal(u)
		return j.claim(k)
	})
	if err != nil {
		return err
	}
	if err := j.lots.Rest(j.strayLot); err != nil {
		return err
	}
	return errors.Join(j.changes.Rest(j.strayEffect), j.holdings.Rest(j.strayHolding),
		j.reversals.Rest(j.strayReversal), j.takings.Rest(j.strayTaking))
}

// claim collects the lots, effects and holdings of a user and compares them.
func (j *userJoin) claim(k reader.Key) error {
	if err := j.claimReversals(k); err != nil {
		return err
	}
	if err := j.lots.Claim(k, j.addDue, j.strayLot); err != nil {
		return err
	}
	if err := j.changes.Claim(k, j.claimEffect, j.strayEffect); err != nil {
		return err
	}
	err := j.holdings.Claim(k, func(h *holding) {
		j.a.t.row(checkTenancy)
		d := entryOf(j.due, h.asset)
		d.holdings = append(d.holdings, *h)
		j.held(h)
	}, j.strayHolding)
	if err != nil || len(j.due)+len(j.backs) == 0 {
		return err
	}
	j.books = j.replayBooks(k)
	j.replay(k)
	for _, asset := range slices.Sorted(maps.Keys(j.due)) {
		j.compare(holding{app: k[0], user: k[1], asset: asset}, j.due[asset])
	}
	clear(j.due)
	j.effects, j.backs, j.taken, j.parts = j.effects[:0], j.backs[:0], j.taken[:0], j.parts[:0]
	return nil
}

func (j *userJoin) addDue(l *lot) {
	j.a.t.row(checkTenancy)
	d := entryOf(j.due, l.asset)
	i := slices.IndexFunc(d.lots, func(b bought) bool { return b.generation == l.generation })
	if i < 0 {
		i = len(d.lots)
		d.lots = append(d.lots, bought{generation: l.generation})
	}
	b := &d.lots[i]
	b.shares = b.shares.Plus(value.Sum{High: l.high, Low: uint64(l.low)})
	b.cost.Add(l.cost)
	if len(j.backs) > 0 {
		j.parts = append(j.parts, *l)
	}
}

// compare checks the holding of one asset. A missing row is a holding of zero.
func (j *userJoin) compare(h holding, d *due) {
	if len(d.holdings) > 1 {
		j.a.t.fail(checkHoldingSum, h.name(), value.Int(int64(len(d.holdings)))+" rows", "one")
	}
	if len(d.holdings) > 0 {
		h = d.holdings[0]
	}
	want := d.changed
	for i := range d.lots {
		want.shares, want.cost = want.shares.Plus(d.lots[i].shares), want.cost.Plus(d.lots[i].cost)
	}
	j.a.t.row(checkHoldingSum)
	if !want.shares.Is(h.quantity) || h.quantity < 0 {
		j.a.t.fail(checkHoldingSum, h.name(), value.Shares(h.quantity),
			want.shares.Shares()+", allocated, changed by corporate actions and not taken back")
	}
	j.a.t.row(checkCostBasis)
	if !want.cost.Is(h.costBasis) {
		j.a.t.fail(checkCostBasis, h.name(), value.USD(h.costBasis),
			want.cost.USD()+", executed, changed by corporate actions and not taken back")
	}
	if len(d.holdings) > 0 {
		j.a.checkGeneration(&h)
	}
}

// checkGeneration checks that a holding is in the units of its asset, or in those before if a sweep
// has not reached it.
func (a *auditor) checkGeneration(h *holding) {
	a.t.row(checkGenerations)
	want := a.generations[h.asset]
	if w := a.sweep; w != nil && w.asset == h.asset && !w.reached(reader.Key{h.app, h.user}) {
		want--
	}
	if h.generation != want {
		a.t.fail(checkGenerations, h.name(), "generation "+value.Int(h.generation), value.Int(want))
	}
}

// held adds a holding to its asset's position.
func (j *userJoin) held(h *holding) {
	j.a.position(h.asset).held.Add(h.quantity)
	j.a.checkAsset(h.asset, h)
	j.a.exposed[appAsset{h.app, h.asset}] = true
}

func (j *userJoin) strayLot(l *lot) {
	j.a.notInApp(rewardName(l.app, l.reward), l.app, "user", l.user)
}

func (j *userJoin) strayHolding(h *holding) {
	j.a.notInApp("holding of "+value.Asset(h.asset), h.app, "user", h.user)
	j.held(h)
}

// checkContact checks the email and the external id.
func (a *auditor) checkContact(u *user) {
	a.t.row(checkUsers)
	switch {
	case u.email == "" && u.externalID == "" && !a.erased(u):
		a.t.fail(checkUsers, u.name(), "no email and no external id",
			"at least one of them, or a log entry that erased the user")
	case u.folded != lower(u.email):
		a.t.fail(checkUsers, u.name(), strconv.Quote(u.folded), strconv.Quote(lower(u.email)))
	}
}

// erased reports whether an operator has erased the user at some time.
func (a *auditor) erased(u *user) bool {
	logged := a.decided.fields["user "+value.UUID(u.id)]
	return logged["erased"] == "yes" && logged["app"] == value.UUID(u.app)
}

// checkSeal recomputes the seal of a user: a version, and the first bytes of a hash of the ids
// and of the strings with their lengths.
func (a *auditor) checkSeal(u *user) {
	const version, sealBytes = "\x01", 16
	if u.seal == "" && a.beforeSeals(u.id) {
		return
	}
	a.t.row(checkUserSeal)
	sum := sha256.Sum256(appendString(appendString([]byte(u.app+u.id), u.email), u.externalID))
	if want := version + string(sum[:sealBytes]); u.seal != want {
		a.t.fail(checkUserSeal, u.name(), value.Hex(u.seal), value.Hex(want))
	}
}

// beforeSeals reports whether a row is older than the sealing of rewards and users.
func (a *auditor) beforeSeals(id string) bool { return value.Created(id) < a.decided.sealedFrom }

// lower returns s with its ASCII letters in lower case.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}
