package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// checkID checks the id of a row.
func (a *auditor) checkID(id string, again bool, row named) {
	a.t.row(checkIDs)
	switch {
	case !wellFormed(id):
		a.t.fail(checkIDs, row.name(), uuid(id), "a UUID of version 7")
	case again:
		a.t.fail(checkIDs, row.name(), "another row of that id", "one")
	}
}

// checkTenant checks that a row's app exists.
func (a *auditor) checkTenant(app string, row named) {
	a.t.row(checkTenancy)
	if !a.apps[app] {
		a.t.fail(checkTenancy, row.name(), "the app "+uuid(app), "an app that exists")
	}
}

// checkAsset checks that a row's asset is in the catalog.
func (a *auditor) checkAsset(asset int64, row named) {
	a.t.row(checkAssetKnown)
	if !a.assets[asset] {
		a.t.fail(checkAssetKnown, row.name(), "asset "+number(asset), "an asset of the catalog")
	}
}

// label is a row's name, made before.
type label string

func (l label) name() string { return string(l) }

// installation checks the small tables, and learns the apps and the assets.
func (a *auditor) installation(ctx context.Context) error {
	for _, pass := range []func(context.Context) error{
		a.readLog, a.readApps, a.readKeys, a.readAssets, a.readPrices, a.readLease, a.checkAllDecided,
	} {
		if err := pass(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) readApps(ctx context.Context) error {
	type app struct {
		id, name                    string
		suspended, rate, concurrent int64
	}
	return readAll(ctx, a, stream[app]{
		what: "apps", query: `SELECT id, name, suspended, requests_per_second, concurrent FROM apps ORDER BY id`,
		bind: func(p *app) []any { return []any{&p.id, &p.name, &p.suspended, &p.rate, &p.concurrent} },
		key:  func(p *app) key { return key{p.id} },
	}, func(p *app) {
		object := "app " + uuid(p.id)
		a.checkID(p.id, a.apps[p.id], label(object))
		a.checkDecided(object, nil, decidedField{"name", p.name}, decidedField{"suspended", yesNo(p.suspended)},
			decidedField{"requestsPerSecond", limit(p.rate)}, decidedField{"concurrent", limit(p.concurrent)})
		a.apps[p.id] = true
	})
}

// apiKey is a row of keys.
type apiKey struct {
	app, id, hash, label string
	expires, revoked     int64
}

func (k *apiKey) name() string { return "key " + uuid(k.id) + " of app " + uuid(k.app) }

func (a *auditor) readKeys(ctx context.Context) error {
	var last apiKey
	ids := make(map[string]bool)
	return readAll(ctx, a, stream[apiKey]{
		what: "keys", query: `SELECT app_id, id, hash, label, expires_at, revoked_at FROM keys ORDER BY hash`,
		bind: func(k *apiKey) []any { return []any{&k.app, &k.id, &k.hash, &k.label, &k.expires, &k.revoked} },
		key:  func(k *apiKey) key { return key{k.hash} },
	}, func(k *apiKey) {
		a.checkID(k.id, ids[k.id], k)
		ids[k.id] = true
		a.checkTenant(k.app, k)
		a.checkDecided("key "+uuid(k.id), nil, decidedField{"app", uuid(k.app)}, decidedField{"label", k.label},
			decidedField{"hash", hex.EncodeToString([]byte(k.hash))}, decidedField{"expires", instant(k.expires)},
			decidedField{"revoked", instant(k.revoked)})
		a.t.row(checkAPIKeys)
		switch {
		case len(k.hash) != sha256.Size:
			a.t.fail(checkAPIKeys, k.name(), "a hash of "+number(int64(len(k.hash)))+" bytes", "32")
		case k.hash == last.hash:
			a.t.fail(checkAPIKeys, k.name(), "the hash of "+last.name(), "a hash of its own")
		}
		last = *k
	})
}

// asset is a row of assets.
type asset struct {
	id, enabled int64
	symbol      string
}

func (a *auditor) readAssets(ctx context.Context) error {
	symbols := make(map[string]int64)
	return readAll(ctx, a, stream[asset]{
		what: "assets", query: `SELECT id, symbol, enabled FROM assets`,
		bind: func(s *asset) []any { return []any{&s.id, &s.symbol, &s.enabled} },
		key:  func(*asset) key { return key{} },
	}, func(s *asset) {
		row := "asset " + number(s.id)
		a.checkDecided(row, []decidedField{{"enabled", "yes"}}, decidedField{"enabled", yesNo(s.enabled)})
		a.t.row(checkAssetKnown)
		other, taken := symbols[s.symbol]
		switch {
		case s.symbol == "":
			a.t.fail(checkAssetKnown, row, "no symbol", "a symbol")
		case taken:
			a.t.fail(checkAssetKnown, row, "the symbol of asset "+number(other), "a symbol of its own")
		case a.assets[s.id]:
			a.t.fail(checkAssetKnown, row, "another row of that id", "one")
		}
		symbols[s.symbol], a.assets[s.id] = s.id, true
	})
}

func (a *auditor) readPrices(ctx context.Context) error {
	return readAll(ctx, a, stream[asset]{
		what: "prices", query: `SELECT asset_id FROM prices`,
		bind: func(p *asset) []any { return []any{&p.id} },
		key:  func(*asset) key { return key{} },
	}, func(p *asset) { a.checkAsset(p.id, label("price")) })
}

func (a *auditor) readLease(ctx context.Context) error {
	rows := 0
	err := readAll(ctx, a, stream[int64]{
		what: "lease", query: `SELECT epoch FROM lease`,
		bind: func(epoch *int64) []any { return []any{epoch} },
		key:  func(*int64) key { return key{} },
	}, func(epoch *int64) {
		a.t.row(checkLease)
		if *epoch < 0 {
			a.t.fail(checkLease, "lease", "epoch "+number(*epoch), "0 or more")
		}
		rows++
		if rows > 1 {
			a.t.fail(checkLease, "lease", "another one", "one")
		}
	})
	if rows == 0 {
		a.t.fail(checkLease, "lease", "none", "one")
	}
	return err
}
