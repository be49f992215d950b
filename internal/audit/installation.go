package audit

import (
	"crypto/sha256"
	"encoding/hex"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// checkID checks the id of a row; again means that an earlier row has the same id.
func (a *auditor) checkID(id string, again bool, row named) {
	a.t.row(checkIDs)
	switch {
	case !value.IsUUIDv7(id):
		a.t.fail(checkIDs, row.name(), value.UUID(id), "a UUID of version 7")
	case again:
		a.t.fail(checkIDs, row.name(), "another row with the id", "one")
	}
}

// checkTenant checks that a row's app exists.
func (a *auditor) checkTenant(app string, row named) {
	a.t.row(checkTenancy)
	if !a.apps[app] {
		a.t.fail(checkTenancy, row.name(), "the app "+value.UUID(app), "an app that exists")
	}
}

// notInApp reports a row whose reward or user does not exist in its app.
func (a *auditor) notInApp(row, app, what, id string) {
	a.t.row(checkTenancy)
	a.t.fail(checkTenancy, row, "the "+what+" "+value.UUID(id), "a "+what+" of the app "+value.UUID(app))
}

// checkAsset checks that a row's asset is in the catalog.
func (a *auditor) checkAsset(asset int64, row named) {
	a.t.row(checkAssetKnown)
	if !a.assets[asset] {
		a.t.fail(checkAssetKnown, row.name(), value.Asset(asset), "an asset of the catalog")
	}
}

// installation checks the small tables and collects the apps and the assets.
func (a *auditor) installation() error {
	for _, pass := range []func() error{
		a.readLog, a.readApps, a.readKeys, a.readBudgets, a.readActions, a.readSwitches, a.readAssets, a.checkActions,
		a.noteRenames, a.readPrices, a.readLease,
	} {
		if err := pass(); err != nil {
			return err
		}
	}
	a.checkAllDecided()
	return nil
}

func (a *auditor) readApps() error {
	type app struct {
		id, name                               string
		suspended, rate, concurrent, dividends int64
	}
	return reader.Each(a.r, reader.Stream[app]{
		What: "apps", Query: `SELECT id, name, suspended, requests_per_second, concurrent, dividends FROM apps`,
		Bind: func(p *app) []any {
			return []any{&p.id, &p.name, &p.suspended, &p.rate, &p.concurrent, &p.dividends}
		},
	}, func(p *app) {
		object := "app " + value.UUID(p.id)
		a.checkID(p.id, a.apps[p.id], label(object))
		a.checkDecided(object, nil, decidedField{"name", p.name}, decidedField{"suspended", yesNo(p.suspended)},
			decidedField{"requestsPerSecond", limit(p.rate)}, decidedField{"concurrent", limit(p.concurrent)},
			decidedField{"dividends", a.decided.policy(object, p.dividends)})
		a.apps[p.id] = true
	})
}

// apiKey is a row of keys.
type apiKey struct {
	app, id, hash, label string
	expires, revoked     int64
}

func (k *apiKey) name() string { return "key " + value.UUID(k.id) + " of app " + value.UUID(k.app) }

func (a *auditor) readKeys() error {
	var last apiKey
	ids := make(map[string]bool)
	return reader.Each(a.r, reader.Stream[apiKey]{
		What: "keys", Query: `SELECT app_id, id, hash, label, expires_at, revoked_at FROM keys ORDER BY hash`,
		Bind: func(k *apiKey) []any { return []any{&k.app, &k.id, &k.hash, &k.label, &k.expires, &k.revoked} },
		Key:  func(k *apiKey) reader.Key { return reader.Key{k.hash} },
	}, func(k *apiKey) {
		a.checkID(k.id, ids[k.id], k)
		ids[k.id] = true
		a.checkTenant(k.app, k)
		a.checkDecided("key "+value.UUID(k.id), nil, decidedField{"app", value.UUID(k.app)},
			decidedField{"label", k.label}, decidedField{"hash", hex.EncodeToString([]byte(k.hash))},
			decidedField{"expires", instant(k.expires)}, decidedField{"revoked", instant(k.revoked)})
		a.t.row(checkAPIKeys)
		switch {
		case len(k.hash) != sha256.Size:
			a.t.fail(checkAPIKeys, k.name(), "a hash of "+value.Int(int64(len(k.hash)))+" bytes", "32")
		case k.hash == last.hash:
			a.t.fail(checkAPIKeys, k.name(), "the hash of "+last.name(), "another hash")
		}
		last = *k
	})
}

func (a *auditor) readAssets() error {
	type asset struct {
		id, enabled, generation int64
		symbol                  string
	}
	symbols := make(map[string]int64)
	return reader.Each(a.r, reader.Stream[asset]{
		What: "assets", Query: `SELECT id, symbol, enabled, generation FROM assets`,
		Bind: func(s *asset) []any { return []any{&s.id, &s.symbol, &s.enabled, &s.generation} },
	}, func(s *asset) {
		row, enabled := value.Asset(s.id), "yes"
		if s.enabled == 0 && a.givenSymbol(s.id, s.symbol) {
			enabled = "no"
		}
		a.checkDecided(row, []decidedField{{"enabled", enabled}}, decidedField{"enabled", yesNo(s.enabled)})
		a.t.row(checkGenerations)
		if n := int64(len(a.ofAsset[s.id])); s.generation != n {
			a.t.fail(checkGenerations, row, "generation "+value.Int(s.generation),
				value.Int(n)+", the count of its switches")
		}
		a.generations[s.id] = s.generation
		a.t.row(checkAssetKnown)
		other, taken := symbols[s.symbol]
		switch {
		case s.symbol == "":
			a.t.fail(checkAssetKnown, row, "no symbol", "a symbol")
		case taken:
			a.t.fail(checkAssetKnown, row, "the symbol of "+value.Asset(other), "another symbol")
		case a.assets[s.id]:
			a.t.fail(checkAssetKnown, row, "another row with the id", "one")
		}
		symbols[s.symbol], a.assets[s.id], a.symbols.of[s.id] = s.id, true, s.symbol
	})
}

func (a *auditor) readPrices() error {
	type price struct{ asset, generation int64 }
	return reader.Each(a.r, reader.Stream[price]{
		What: "prices", Query: `SELECT asset_id, generation FROM prices`,
		Bind: func(p *price) []any { return []any{&p.asset, &p.generation} },
	}, func(p *price) {
		a.checkAsset(p.asset, label("price"))
		a.t.row(checkGenerations)
		if newest := a.generations[p.asset]; p.generation < 0 || p.generation > newest {
			a.t.fail(checkGenerations, "price of "+value.Asset(p.asset), "generation "+value.Int(p.generation),
				"from 0 to "+value.Int(newest))
		}
	})
}

func (a *auditor) readLease() error {
	rows := 0
	err := reader.Each(a.r, reader.Stream[int64]{
		What: "lease", Query: `SELECT epoch FROM lease`,
		Bind: func(epoch *int64) []any { return []any{epoch} },
	}, func(epoch *int64) {
		a.t.row(checkLease)
		if *epoch < 0 {
			a.t.fail(checkLease, "lease", "epoch "+value.Int(*epoch), "0 or more")
		}
		rows++
		if rows > 1 {
			a.t.fail(checkLease, "lease", "another row", "one")
		}
	})
	if rows == 0 {
		a.t.fail(checkLease, "lease", "no row", "one")
	}
	return err
}
