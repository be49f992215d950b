package storetest

import (
	"slices"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// TestVersion12 brings a store of schema version 12 up to date: one with holdings, and with actions
// in every state. exec runs a statement at that version; open migrates the store and opens it.
func TestVersion12(t *testing.T, exec func(query string, args ...any), open func() store.Engine) {
	t.Helper()
	app, first, second := rewards.AppID{1}, rewards.UserID{2}, rewards.UserID{3}
	const aapl, ko = 1, 2
	evening := time.Date(2026, 9, 20, 0, 0, 0, 0, time.UTC).UnixMicro()
	exec(`INSERT INTO apps (id, name) VALUES (?1, 'first')`, app[:])
	for _, u := range []rewards.UserID{first, second} {
		exec(`INSERT INTO users (app_id, id, email, email_folded, external_id) VALUES (?1, ?2, '', '', ?3)`,
			app[:], u[:], u.String())
	}
	for id, symbol := range map[int64]string{aapl: "AAPL", ko: "KO"} {
		exec(`INSERT INTO assets (id, symbol, name, used, hold_from) VALUES (?1, ?2, ?2, 1, ?3)`, id, symbol, 2-id)
	}
	exec(`INSERT INTO prices (asset_id, price, traded_at, confirmed_at) VALUES (1, 200, ?1, ?1)`, evening-1)
	exec(`INSERT INTO positions (asset_id, booked) VALUES (1, 100), (2, 5)`)
	exec(`INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis) VALUES (?1, ?2, 1, 20, 7), (?1, ?3, 1, 41, 8)`,
		app[:], first[:], second[:])
	order := rewards.OrderID{4}
	exec(`INSERT INTO orders (id, client_order_id, asset_id, symbol, notional, house, members_hash, state, attempts,
		first_attempt_at, settled_at) VALUES (?1, 'sr-1', 1, 'AAPL', 1000000, 0, ?2, 6, 1, 1, 1)`, order[:], make([]byte, 32))
	for state, id := range []string{1: "announced", 2: "held", 3: "resumed", 4: "withdrawn", 5: "passed"} {
		if state == 0 {
			continue
		}
		var resumed int64
		var reason string
		if id == "resumed" {
			resumed, reason = 9, "why"
		}
		asset := int64(ko)
		if id == "held" {
			asset = aapl
		}
		exec(`INSERT INTO actions (id, asset_id, type, symbol, new_symbol, old_rate, new_rate, rate, ex_date, process_date,
			revision, state, hold_from, first_seen, held_at, resumed_at, reason) VALUES (?1, ?2, 'forward_split', 'AAPL', '',
			'1', '4', '', '2026-09-21', '2026-09-21', 1, ?3, ?4, 6, ?5, ?6, ?7)`, id, asset, int64(state), evening,
			int64(state/2), resumed, reason)
		exec(`INSERT INTO announcements (action_id, revision, body, seen_at) VALUES (?1, 1, ?2, 6)`, id, "body of "+id)
	}
	exec(`INSERT INTO actions (id, asset_id, type, symbol, new_symbol, old_rate, new_rate, rate, ex_date, process_date,
		revision, state, hold_from, first_seen, held_at) VALUES ('doubt', 2, 'position', 'KO', '', '1', '2', '', '2026-09-21',
		'2026-09-21', 0, 2, 1, 6, 6)`)
	w := &World{engine: open()}
	w.now.Store(start)
	w.reopen(t)
	w.wantVersion13(t, time.UnixMicro(evening).UTC())
	exec(`UPDATE orders SET house = notional`) // the house's alone
	list, err := w.Holdings(t.Context(), app, second)
	check(t, err)
	wantEqual(t, "the holdings", []rewards.Holding{{AssetID: aapl, Quantity: 41, CostBasis: 8}}, list)
}

// wantVersion13 checks what was made of the store of version 12.
func (w *World) wantVersion13(t *testing.T, evening time.Time) {
	t.Helper()
	w.wantBooked(t, "brought up to date")
	w.wantRows(t, "billionths of the house", 44, `SELECT CAST(sum(quantity) AS bigint) FROM house_holdings`)
	w.wantRows(t, "stocks of apps", 1, `SELECT count(*) FROM app_assets WHERE asset_id = 1`)
	w.wantRows(t, "stocks of apps", 1, `SELECT count(*) FROM app_assets`)
	for id, state := range map[string]rewards.ActionState{
		"announced": rewards.ActionAnnounced, "held": rewards.ActionAnnounced, "resumed": rewards.ActionIgnored,
		"withdrawn": rewards.ActionWithdrawn, "passed": rewards.ActionPassed, "doubt": rewards.ActionHeld,
	} {
		a, bodies, err := w.Action(t.Context(), id)
		check(t, err)
		if a.State != state || a.DecidedAt.IsZero() != (state != rewards.ActionIgnored) {
			t.Errorf("the action %s is %s, decided at %s", id, a.State, a.DecidedAt)
		}
		if id != "doubt" && (len(bodies) != 1 || bodies[0].Body != "body of "+id || !a.Boundary.Equal(evening)) {
			t.Errorf("the action %s has the announcements %+v and counts from %s", id, bodies, a.Boundary)
		}
	}
	asset := w.Asset(t, "AAPL")
	if !asset.Hold.InForce(w.Now()) || asset.Hold.Units.From.IsZero() || asset.Hold.Units.Ratio.New != 0 {
		t.Errorf("held by %+v, want a hold with unknown units", asset.Hold)
	}
	lease, err := w.TakeLease(t.Context(), "tester", time.Hour, false)
	check(t, err)
	want := rewards.ActionHold{From: evening, Units: rewards.Units{From: evening, Ratio: rewards.Ratio{Old: 1, New: 4}}}
	wantEqual(t, "the hold under the first leader", want, w.Asset(t, "AAPL").Hold)
	w.lease = lease
	_, quotes, err := w.QuotedAssets(t.Context())
	check(t, err)
	if quotes[0].Price != 200 {
		t.Errorf("the price before the boundary is %s", quotes[0].Price)
	}
}

// TestVersion20 brings a store of schema version 20 up to date: one with a reward in each status, one of
// them bought in part. exec and open are as in TestVersion12.
func TestVersion20(t *testing.T, exec func(query string, args ...any), open func() store.Engine) {
	t.Helper()
	app, user, order := rewards.AppID{1}, rewards.UserID{2}, rewards.OrderID{3}
	exec(`INSERT INTO apps (id, name) VALUES (?1, 'first')`, app[:])
	exec(`INSERT INTO users (app_id, id, email, email_folded, external_id) VALUES (?1, ?2, '', '', 'x')`, app[:], user[:])
	exec(`INSERT INTO assets (id, symbol, name, used) VALUES (1, 'AAPL', 'Apple', 1)`)
	exec(`INSERT INTO orders (id, client_order_id, asset_id, symbol, notional, house, members_hash, state)
		VALUES (?1, 'sr-1', 1, 'AAPL', 5000000, 0, ?2, 1)`, order[:], make([]byte, 32))
	var all []rewards.Reward
	for i, r := range []rewards.Reward{
		{Status: rewards.Executed, Booked: 5_000_000, ExecutedAt: time.UnixMicro(9).UTC()},
		{Status: rewards.Failed, FailureReason: "canceled: by a client"},
		{Status: rewards.Executing},
		{Status: rewards.Executing, Booked: 2_000_000},
		{Status: rewards.Recorded},
		{Status: rewards.Recorded},
	} {
		r.AppID, r.ID, r.UserID, r.Amount = app, rewards.RewardID{0, byte(i), 15: 1}, user, 5_000_000
		r.AssetID, r.Symbol, r.IdempotencyKey = 1, "AAPL", string('a'+rune(i))
		waits := int64(0)
		if r.Status == rewards.Recorded || r.Booked == 2_000_000 {
			waits = 1
		}
		executed := int64(0)
		if !r.ExecutedAt.IsZero() {
			executed = r.ExecutedAt.UnixMicro()
		}
		exec(`INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint, amount, asset_id, symbol, source,
			metadata, status, waiting, booked, executed_at, failure_reason) VALUES (?1, ?2, ?3, ?4, ?5, 5000000, 1, 'AAPL',
			'', '', ?6, ?7, ?8, ?9, ?10)`, app[:], r.ID[:], user[:], r.IdempotencyKey, make([]byte, 33), int64(r.Status),
			waits, int64(r.Booked), executed, r.FailureReason)
		all = append(all, r)
	}
	exec(`INSERT INTO order_rewards (order_id, position, app_id, reward_id, amount) VALUES (?1, 0, ?2, ?3, 5000000)`,
		order[:], app[:], all[2].ID[:])
	w := &World{engine: open(), App: rewards.App{ID: app}, Users: []rewards.User{{ID: user, AppID: app}}}
	w.now.Store(start)
	w.reopen(t)
	slices.Reverse(all)
	wantEqual(t, "the rewards", all, w.walk(t, app, rewards.RewardFilter{}, 4))
	for _, status := range []rewards.Status{rewards.Recorded, rewards.Executing} {
		var want []rewards.Reward
		for _, r := range all {
			if r.Status == status {
				want = append(want, r)
			}
		}
		wantEqual(t, "the list", want, w.walk(t, app, rewards.RewardFilter{Status: status}, 4))
	}
	w.wantRows(t, "millionths wait", 13_000_000, `SELECT CAST(sum(pending) AS bigint) FROM open_rewards WHERE waiting = 1`)
	exec(`UPDATE rewards SET booked = 1 WHERE idempotency_key = 'e'`) // the older rules refused that
}
