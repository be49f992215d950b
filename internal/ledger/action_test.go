package ledger_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/ledger"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	shared "stockrewards/test/world"
)

// history is a store in which corporate actions of every kind have happened.
type history struct {
	*audittest.World
	t *testing.T
}

// write writes the journal of a history.
func (h history) write(positions ...rewards.Position) string {
	h.t.Helper()
	var asked *ledger.Positions
	if len(positions) > 0 {
		asked = &ledger.Positions{List: positions, Asked: h.Now.Add(time.Second)}
	}
	var journal strings.Builder
	shared.Check(h.t, h.ReadLedger(h.t.Context(), func(ctx context.Context, reader store.LedgerReader) error {
		_, err := ledger.Write(ctx, &journal, reader, asked)
		return err
	}))
	return journal.String()
}

// TestCorporateActions checks the journal of every kind of corporate action by hledger: shares,
// their cost, and cash.
func TestCorporateActions(t *testing.T) {
	t.Parallel()
	h := history{audittest.History(t, audittest.NewFile), t}
	journal := h.write()
	if out, err := hledger(t, journal, "check", "--strict"); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, journal)
	}
	dee := "liabilities:users:" + rewards.AppID(h.IDs["second"]).String() + ":" + rewards.UserID(h.IDs["dee"]).String()
	for _, want := range []string{
		// A split changes no cost; a spin-off moves a seventh; a merger moves all.
		"assets:custody  0.081818181 XOM @@ $0\n",
		dee + "  0.000111111 NVDA @@ $0.1\n    " + dee + "  -0.000111111 NVDA @@ $0.085715\n    " + dee + "  -0.000037037 SPUN @@ $0.014285\n",
		dee + "  -0.000018518 XOM @@ $0.014285\n    " + dee + "  0.000037037 SPUN @@ $0.014285\n",
		"undo of the corporate action split-of-aapl\n",
		"equity:corporate-actions  -0.228170733 MSFT @@ $0\n", // its sweep goes on
		"liabilities:cash:" + strings.TrimPrefix(dee, "liabilities:users:") + "  $-0.07  ; reward: ",
		"income:house:actions  $-0.000001\n",
		"share of XOM\n    ; activity: paid\n    assets:cash:broker  $0.45\n    income:house:actions  $-0.45\n",
		"share of XOM\n    ; activity: returned\n    assets:cash:broker  $-0.44\n    income:house:actions  $0.44\n",
		"corrected by the broker\n    assets:custody  -0.000000005 AAPL @@ $0\n",
	} {
		if !strings.Contains(journal, want) {
			t.Errorf("the journal lacks %q:\n%s", want, journal)
		}
	}
	if strings.Contains(journal, "activity: canceled") {
		t.Errorf("the journal has cash that the broker canceled:\n%s", journal)
	}
	for _, account := range []string{"assets:custody", "liabilities:users", "equity:house"} { // a stock that ended
		out, err := hledger(t, journal, "balance", account, "cur:GONE", "--cost", "--no-total", "--format", "%(total)")
		if err != nil || strings.TrimSpace(out) != "" {
			t.Errorf("%s has %q of a stock that ended, %v", account, out, err)
		}
	}
}

// TestActionsBookAcknowledgedShares: a corporate action books all that the broker has of its stock, also what an
// acknowledged order bought. A later order stays outside the books, and that of a stock without an action.
func TestActionsBookAcknowledgedShares(t *testing.T) {
	t.Parallel()
	h := history{audittest.NewWorld(t, audittest.NewFile), t}
	user := h.User(h.App("first"), "ann", "a@b.co", "")
	acknowledge := func(symbol string, shares money.Shares) {
		lost := rewards.BrokerConflict{
			ClientOrderID: "sr-x-" + symbol + shares.String(), Symbol: symbol, FilledQty: shares, Detail: "unknown",
		}
		shared.Check(t, h.SaveReconciliation(t.Context(), h.Lease, []rewards.BrokerConflict{lost}, h.Now))
		shared.Check(t, h.AcknowledgeConflict(t.Context(), lost.ClientOrderID, "ours"))
		h.Now = h.Now.Add(time.Minute)
	}
	for _, symbol := range []string{"AAPL", "KO"} {
		h.Give(symbol, user, symbol, 10*money.Dollar, "", "")
		h.Fill(symbol, symbol, 200*audittest.PerUSD) // 0.05
		acknowledge(symbol, 20_000_000)
	}
	split := rewards.Terms{Type: rewards.ActionForwardSplit, Symbol: "AAPL", OldRate: "1", NewRate: "2"}
	h.Act("split", split, "", "0", -40_000_000)
	acknowledge("AAPL", 7_000_000)
	journal := h.write(rewards.Position{Symbol: "AAPL", Qty: 147_000_000}, rewards.Position{Symbol: "KO", Qty: 70_000_000})
	if out, err := hledger(t, journal, "check", "--strict"); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, journal)
	}
	for account, want := range map[string]string{
		"assets:custody:acknowledged": "0.007000000 AAPL 0.020000000 KO",
		"equity:house":                "-0.047000000 AAPL -0.020000000 KO",
	} {
		out, err := hledger(t, journal, "balance", account, "--no-total", "--format", "%(total)")
		if got := strings.Join(strings.Fields(out), " "); err != nil || got != want {
			t.Errorf("%s has %q, want %q, %v\n%s", account, got, want, err, journal)
		}
	}
}

// TestDividendsOfTheHouse books parts that no award reinvests: as the house's income when that was the app's policy at
// the payment, whatever it is now, and otherwise as owed.
func TestDividendsOfTheHouse(t *testing.T) {
	t.Parallel()
	h := history{audittest.History(t, audittest.NewFile), t}
	db := audittest.SQL(t, h.Where)
	audittest.Exec(t, db, `UPDATE effects SET reward_id = x'' WHERE switch = 7`)
	const kept = "income:house:actions  $-0.490001\n"
	if journal := h.write(); strings.Contains(journal, kept) {
		t.Errorf("the house keeps what is owed:\n%s", journal)
	}
	audittest.Exec(t, db, `UPDATE apps SET dividends = 2`)
	h.Now = h.Now.Add(time.Minute)
	apps, err := h.Apps(t.Context())
	shared.Check(t, err)
	for _, policy := range []rewards.DividendPolicy{rewards.DividendsHouse, rewards.DividendsReinvest} {
		for _, a := range apps {
			shared.Check(t, h.SetDividends(t.Context(), a.ID.String(), policy))
		}
		if journal := h.write(); !strings.Contains(journal, kept) {
			t.Errorf("the house does not keep all, and the policy is now %s:\n%s", policy, journal)
		}
	}
}

// TestHledgerFindsWrongActions plants errors in what corporate actions did.
func TestHledgerFindsWrongActions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ statement, word string }{
		"another effect":       {`UPDATE effects SET after = after + 1 WHERE switch = 1`, "liabilities:users"},
		"no effect":            {`DELETE FROM effects WHERE switch = 1`, "liabilities:users"},
		"another cost":         {`UPDATE effects SET basis_after = basis_after + 1 WHERE switch = 8 AND asset_id = 1`, "assets:receivable"},
		"another sum":          {`UPDATE switches SET users_after = users_after + 1 WHERE number = 1`, "assets:custody"},
		"another position":     {`UPDATE switches SET position = position + 1 WHERE number = 1`, "assets:custody"},
		"booked shares":        {`UPDATE positions SET booked = booked + 1 WHERE asset_id = 7`, "assets:custody"},
		"a share of the house": {`UPDATE house_holdings SET quantity = quantity + 1 WHERE asset_id = 7`, "equity:house"},
		"a part of the cash":   {`UPDATE effects SET cash = cash + 1 WHERE switch = 7`, "could not balance"},
		"the sum of the parts": {`UPDATE payouts SET shared = shared + 1 WHERE switch = 4`, "could not balance"},
		"another correction":   {`UPDATE order_corrections SET change = change + 1`, "assets:custody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := history{audittest.History(t, audittest.NewFile), t}
			if audittest.Exec(t, audittest.SQL(t, h.Where), test.statement) == 0 {
				t.Fatal("nothing changed")
			}
			if out, err := hledger(t, h.write(), "check", "--strict"); err == nil || !strings.Contains(out, test.word) {
				t.Errorf("hledger does not report %q: %v\n%s", test.word, err, out)
			}
		})
	}
}
