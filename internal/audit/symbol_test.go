package audit_test

import (
	"fmt"
	"testing"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/rewards"
)

// syncAssets syncs the catalog with a broker's list: symbols by identifier.
func syncAssets(t *testing.T, w *audittest.World, symbols map[string]string) {
	t.Helper()
	var theirs []rewards.BrokerAsset
	for id, symbol := range symbols {
		theirs = append(theirs, rewards.BrokerAsset{
			ID: id, Symbol: symbol, Name: symbol, Active: true, Tradable: true, Fractionable: true,
		})
	}
	_, err := w.SyncAssets(t.Context(), func(ours []rewards.Asset) (rewards.AssetSync, error) {
		return rewards.SyncAssets(ours, theirs, rewards.SyncFilter{}), nil
	})
	check(t, err)
}

// TestRenamedWhileItWaits audits awards that wait for stocks with other symbols now: two that swapped theirs, one whose
// symbol another stock has, and those that corporate actions renamed. None may wait for another stock.
func TestRenamedWhileItWaits(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.NewWorld(t, in)
		ann := w.User(w.App("first"), "ann", "ann@example.com", "")
		list := make(map[string]string)
		for symbol := range w.Catalog {
			list[symbol+"-id"] = symbol
			w.Give(symbol, ann, symbol, dollar, "", "")
		}
		syncAssets(t, w, list)
		list["NVDA-id"], list["TSLA-id"] = "TSLA", "NVDA"
		list["AAPL-id"] = "APPL"
		delete(list, "MSFT-id")
		list["another"] = "MSFT" // the one that waits becomes MSFT.OLD
		syncAssets(t, w, list)
		w.Act("name", rewards.Terms{Type: "name_change", Symbol: "KO", NewSymbol: "COKE"}, "", "0", 0)
		w.Act("again", rewards.Terms{Type: "name_change", Symbol: "XOM", NewSymbol: "EXXN"}, "", "0", 0)
		_, err := w.UndoAction(t.Context(), "again")
		check(t, err)
		w.SweepOpen()
		w.Agree()
		list["AAPL-id"], list["KO-id"], list["XOM-id"] = "AAAA", "COLA", "XOM"
		syncAssets(t, w, list)
		if r := run(t, w.Where); !r.OK() {
			t.Errorf("the audit fails:\n%s", text(t, r))
		}
		c := w.Copy(t)
		c.Exec(`UPDATE assets SET symbol = 'BRK.A.OLD2' WHERE symbol = 'BRK.A'`) // as when another stock gets BRK.A by an action
		if r := run(t, c.Where); !r.OK() {
			t.Errorf("after another stock got the symbol the audit fails:\n%s", text(t, r))
		}
		c.Restore()
		for symbol, another := range map[string]string{"AAPL": "KO", "KO": "AAPL", "MSFT": "NVDA", "XOM": "BRK.A", "BRK.A": "MSFT"} {
			t.Run(symbol, func(t *testing.T) {
				c.Exec(fmt.Sprintf(`UPDATE rewards SET asset_id = %d WHERE symbol = '%s'`, w.Catalog[another].ID, symbol))
				wantViolations(t, run(t, c.Where), "asset_known")
			})
			c.Restore()
		}
	})
}
