package audit

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
)

// user is a row of users.
type user struct{ app, id, email, folded, externalID, seal string }

func userStream() stream[user] {
	return stream[user]{
		what:  "users",
		query: `SELECT app_id, id, email, email_folded, external_id, seal FROM users ORDER BY app_id, id`,
		bind:  func(u *user) []any { return []any{&u.app, &u.id, &u.email, &u.folded, &u.externalID, &u.seal} },
		key:   func(u *user) key { return key{u.app, u.id} },
	}
}

func (u *user) name() string { return userName(u.app, u.id) }

func userName(app, id string) string { return "user " + uuid(id) + " of app " + uuid(app) }

// lot is what a reward of a user brought.
type lot struct {
	app, user, reward string
	asset             int64
	high, low         int64 // of the sum of its allocated shares
	cost              int64 // its amount once it is executed
}

func (l *lot) columns() []any {
	return []any{&l.app, &l.user, &l.reward, &l.asset, &l.high, &l.low, &l.cost}
}

// lotStream reads what the pass over the rewards has kept by user.
func lotStream() stream[lot] {
	return stream[lot]{
		what: "rewards by user",
		bind: (*lot).columns,
		key:  func(l *lot) key { return key{l.app, l.user} },
	}
}

// addLot keeps what a reward brought its user.
func (a *auditor) addLot(v *rewardView) error {
	l := lot{
		app: v.app, user: v.user, reward: v.id, asset: v.asset, high: v.shares.hi, low: signed(v.shares.lo),
	}
	if v.status == executed {
		l.cost = v.amount
	}
	return a.lots.add(l.columns())
}

// holding is a row of holdings.
type holding struct {
	app, user                  string
	asset, quantity, costBasis int64
}

func (h *holding) name() string {
	return "holding of asset " + number(h.asset) + " of " + userName(h.app, h.user)
}

func holdingStream() stream[holding] {
	return stream[holding]{
		what: "holdings",
		query: `SELECT app_id, user_id, asset_id, quantity, cost_basis FROM holdings
			ORDER BY app_id, user_id, asset_id`,
		bind: func(h *holding) []any { return []any{&h.app, &h.user, &h.asset, &h.quantity, &h.costBasis} },
		key:  func(h *holding) key { return key{h.app, h.user} },
	}
}

// due is what a user should hold of one asset, and what is stored.
type due struct {
	shares, cost wide
	holdings     []holding
}

// userJoin is the merge of users with their rewards and holdings.
type userJoin struct {
	a        *auditor
	lots     *cursor[lot]
	holdings *cursor[holding]

	due map[int64]*due // of one user, by asset
}

// users checks that everybody holds what was allocated.
func (a *auditor) users(ctx context.Context) error {
	rows, err := open(ctx, a, userStream())
	if err != nil {
		return err
	}
	j := userJoin{a: a, due: make(map[int64]*due)}
	if j.lots, err = reopen(a, lotStream(), a.lots); err != nil {
		return err
	}
	if j.holdings, err = open(ctx, a, holdingStream()); err != nil {
		return err
	}
	var last key
	err = rows.each(func(u *user) error {
		k := rows.key(u)
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
	if err := j.lots.rest(j.strayLot); err != nil {
		return err
	}
	return j.holdings.rest(j.strayHolding)
}

// claim gathers what one user should hold and does, and compares.
func (j *userJoin) claim(k key) error {
	if err := j.lots.claim(k, j.lot, j.strayLot); err != nil {
		return err
	}
	err := j.holdings.claim(k, func(h *holding) {
		j.a.t.row(checkTenancy)
		d := j.dueOf(h.asset)
		d.holdings = append(d.holdings, *h)
		j.held(h)
	}, j.strayHolding)
	if err != nil || len(j.due) == 0 {
		return err
	}
	for _, asset := range slices.Sorted(maps.Keys(j.due)) {
		j.compare(holding{app: k[0], user: k[1], asset: asset}, j.due[asset])
	}
	clear(j.due)
	return nil
}

func (j *userJoin) dueOf(asset int64) *due {
	d := j.due[asset]
	if d == nil {
		d = new(due)
		j.due[asset] = d
	}
	return d
}

func (j *userJoin) lot(l *lot) {
	j.a.t.row(checkTenancy)
	d := j.dueOf(l.asset)
	d.shares = d.shares.plus(wide{hi: l.high, lo: unsigned(l.low)})
	d.cost.add(l.cost)
}

// compare checks the holding of one asset; without a row it is one of nothing.
func (j *userJoin) compare(h holding, d *due) {
	if len(d.holdings) > 1 {
		j.a.t.fail(checkHoldingSum, h.name(), number(int64(len(d.holdings)))+" rows", "one")
	}
	if len(d.holdings) > 0 {
		h = d.holdings[0]
	}
	j.a.t.row(checkHoldingSum)
	if !d.shares.is(h.quantity) || h.quantity < 0 {
		j.a.t.fail(checkHoldingSum, h.name(), shares(h.quantity), d.shares.shares()+" allocated")
	}
	j.a.t.row(checkCostBasis)
	if !d.cost.is(h.costBasis) {
		j.a.t.fail(checkCostBasis, h.name(), usd(h.costBasis), d.cost.usd()+" executed")
	}
}

// held counts a holding for custody.
func (j *userJoin) held(h *holding) {
	j.a.position(h.asset).held.add(h.quantity)
	j.a.checkAsset(h.asset, h)
}

func (j *userJoin) strayLot(l *lot) {
	j.noUser(rewardName(l.app, l.reward), l.app, l.user)
}

func (j *userJoin) strayHolding(h *holding) {
	j.noUser("holding of asset "+number(h.asset), h.app, h.user)
	j.held(h)
}

func (j *userJoin) noUser(row, app, user string) {
	j.a.t.row(checkTenancy)
	j.a.t.fail(checkTenancy, row, "the user "+uuid(user), "one of the app "+uuid(app))
}

// checkContact checks what identifies a user.
func (a *auditor) checkContact(u *user) {
	a.t.row(checkUsers)
	switch {
	case u.email == "" && u.externalID == "":
		a.t.fail(checkUsers, u.name(), "no email and no external id", "one of both")
	case u.folded != lower(u.email):
		a.t.fail(checkUsers, u.name(), strconv.Quote(u.folded), strconv.Quote(lower(u.email)))
	}
}

// checkSeal checks that what identifies a user is what was recorded: a version and the
// first bytes of a hash over the ids and the texts with their lengths.
func (a *auditor) checkSeal(u *user) {
	const version, sealBytes = "\x01", 16
	if u.seal == "" && a.beforeSeals(u.id) {
		return
	}
	a.t.row(checkUserSeal)
	sum := sha256.Sum256(appendText(appendText([]byte(u.app+u.id), u.email), u.externalID))
	if want := version + string(sum[:sealBytes]); u.seal != want {
		a.t.fail(checkUserSeal, u.name(), digits(u.seal), digits(want))
	}
}

// beforeSeals tells whether a row was made before rewards and users were sealed.
func (a *auditor) beforeSeals(id string) bool {
	return createdMillis(id)*microsPerMilli < a.decided.sealedFrom
}

// lower is a text with its ASCII letters in lower case.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}
