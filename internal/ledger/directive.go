package ledger

import (
	"context"

	"stockrewards/internal/rewards"
)

// preamble explains the journal to its reader.
const preamble = `; The books of the Stock Rewards Service, for hledger. Dates are UTC days of the fills.
;
; assets:custody                      shares at the broker, at what they cost
; assets:cash:broker                  dollars spent at the broker (deposits are not in these books)
; assets:receivable:APP:USER:STOCK    dollars that an app owes for what was bought for its user
;                                     (its payments are not in these books)
; liabilities:users:APP:USER          shares held for a user, at what they cost
; equity:house                        shares of the house: what it paid for, and what rounding leaves
; expenses:house:top-up               dollars that the house added to an order
; expenses:house:too-small            dollars of rewards that came to no shares: no app is charged
; income:house:shares                 dollars of awards that the house's own shares paid for
; liabilities:cash:APP:USER           dollars that the broker paid for a user's shares: dividends and mergers
; income:house:actions                dollars of these that the house keeps
; equity:corporate-actions            shares of a corporate action that is under way, and cost without shares
;
; Checked by: hledger -f FILE check --strict. The last line says that the journal is complete.`

// writeDirectives declares commodities and accounts.
func writeDirectives(ctx context.Context, j *journal, source Source, t *totals) error {
	j.line("%s", preamble)
	j.line("")
	for _, status := range []rewards.Status{rewards.Recorded, rewards.Executing} {
		w := t.waiting[status]
		j.line("; Not bought yet, and not booked: %s of %d rewards that are %s.", dollars(w.dollars), w.rewards, status)
	}
	j.line("")
	j.line("decimal-mark .")
	j.line("commodity $1000.000000")
	for _, symbol := range t.commodities() {
		j.line("commodity 1000.000000000 %s", commodity(symbol))
	}
	j.line("")
	for _, account := range []string{
		custody, acknowledged, cash, receivable, users, house, topUp, tooSmall, sold, owed, income, actions,
	} {
		j.line("account %s", account)
	}
	apps, err := source.Apps(ctx)
	if err != nil {
		return err
	}
	for _, app := range apps {
		j.line("account %s  ; %s", receivableOfApp(app.ID), clean(app.Name))
	}
	var last holder
	err = source.Holdings(ctx, func(h rewards.UserHolding) error {
		if user := (holder{app: h.AppID, user: h.UserID}); user != last {
			j.line("account %s", userAccount(h.AppID, h.UserID))
			if len(t.receipts) > 0 {
				j.line("account %s", owedTo(h.AppID, h.UserID))
			}
			last = user
		}
		j.line("account %s", t.accountOf(holder{h.AppID, h.UserID, h.AssetID}))
		return nil
	})
	for _, h := range t.sortedUncounted() {
		j.line("account %s", t.accountOf(h))
	}
	return err
}
