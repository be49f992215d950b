package ledger

import (
	"context"

	"stockrewards/internal/rewards"
)

// writeTakings writes a transaction for each reversal that took shares: they go from the user to the
// house, at their cost. What the app owes for the award stays.
func writeTakings(ctx context.Context, j *journal, source Source, t *totals) error {
	var last rewards.ReversalID
	return source.Takings(ctx, func(k rewards.UserTaking) error {
		if k.Quantity == 0 {
			return nil // a cost without shares cannot be posted
		}
		if k.ReversalID != last {
			j.header(k.At, "", "taken back")
			j.tag("reversal", k.ReversalID.String())
			t.note(k.At)
			last = k.ReversalID
		}
		symbol := t.symbols[k.AssetID]
		j.posting(userAccount(k.AppID, k.UserID), atCost(k.Quantity, symbol, k.Basis))
		j.posting(house, atCost(-k.Quantity, symbol, k.Basis))
		if k.Basis != 0 {
			t.costOf(k.AssetID)[t.generationAfter(k.AssetID, k.After)] += k.Basis
		}
		return nil
	})
}

// generationAfter returns the generation of a stock after the switch of that number.
func (t *totals) generationAfter(asset rewards.AssetID, number int64) (n int64) {
	for i := range t.switches {
		if w := &t.switches[i]; w.AssetID == asset && w.Number <= number {
			n++
		}
	}
	return n
}
