package fuzz

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/ledger"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// books are those of one order, with external strings.
type books struct{ app, symbol, clientID, brokerID string }

func (b books) Apps(context.Context) ([]rewards.App, error) {
	return []rewards.App{{ID: id[rewards.App](1), Name: b.app}}, nil
}

func (b books) Assets(context.Context) ([]rewards.Asset, error) {
	return []rewards.Asset{{ID: 1, Symbol: b.symbol}}, nil
}

func (b books) Fills(_ context.Context, each func(rewards.Fill) error) error {
	return each(rewards.Fill{AssetID: 1, State: rewards.OrderSettled, Filled: money.Share, SettledAt: now()})
}

func (b books) Bookings(_ context.Context, each func(rewards.Booking) error) error {
	return each(rewards.Booking{
		Order: rewards.Order{
			ID: id[rewards.Order](4), AssetID: 1, ClientOrderID: b.clientID, BrokerID: b.brokerID, FilledAt: now(), SettledAt: now(),
			Notional: money.Dollar, FilledQty: money.Share, FilledAvgPrice: 1_000_000_000,
		},
		Lots: []rewards.Lot{{
			AppID: id[rewards.App](1), UserID: id[rewards.User](2), RewardID: id[rewards.Reward](3),
			Bought: rewards.Allocation{Amount: money.Dollar, Shares: money.Share},
		}},
	})
}

func (b books) Holdings(_ context.Context, each func(rewards.UserHolding) error) error {
	return each(rewards.UserHolding{
		AppID: id[rewards.App](1), UserID: id[rewards.User](2), AssetID: 1, Quantity: money.Share, CostBasis: money.Dollar,
	})
}

func (b books) Pending(context.Context, func(rewards.PendingReward) error) error { return nil }

func (b books) Acknowledged(context.Context) ([]rewards.AcknowledgedOrder, error) { return nil, nil }

// FuzzJournal uses any strings where an app, a broker or an operator can. The journal has the
// same lines and accounts as one without them: a string cannot become a line, a posting, an
// account or a tag.
func FuzzJournal(f *testing.F) {
	for _, text := range []string{
		"My app", "a\nb", "x  $5", "a;b: c", "), (", "\u2028", "\t", "", "!", "é", "~ monthly", "\x00", "\xff", "2026-01-01 * x", "  ", "a\r",
	} {
		f.Add(text, "AAPL", "sr-1", text)
		f.Add("app", "AAPL", text, "broker")
		f.Add("app", text, "sr-1", "broker")
	}
	f.Fuzz(func(t *testing.T, app, symbol, clientID, brokerID string) {
		var plain, written bytes.Buffer
		if _, err := ledger.Write(t.Context(), &written, books{app, symbol, clientID, brokerID}, nil); err != nil {
			return // a symbol that cannot be one
		}
		if _, err := ledger.Write(t.Context(), &plain, books{"x", symbol, "x", "x"}, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(skeleton(plain.String()), skeleton(written.String())); diff != "" {
			t.Errorf("(-plain +written):\n%s", diff)
		}
	})
}

// Switches implements ledger.Source: nothing changed the stock.
func (b books) Switches(context.Context) ([]rewards.Switch, error) { return nil, nil }

// Effects implements ledger.Source.
func (b books) Effects(context.Context, int64, func(rewards.Effect) error) error { return nil }

// CashInLieu implements ledger.Source.
func (b books) CashInLieu(context.Context) ([]rewards.CashInLieu, error) { return nil, nil }

// Receipts implements ledger.Source.
func (b books) Receipts(context.Context) ([]rewards.Receipt, error) { return nil, nil }

// Takings implements ledger.Source: nothing was taken back.
func (b books) Takings(context.Context, func(rewards.UserTaking) error) error { return nil }

// Corrections implements ledger.Source.
func (b books) Corrections(context.Context) ([]rewards.Correction, error) { return nil, nil }

// Stocks implements ledger.Source.
func (b books) Stocks(context.Context) ([]rewards.Stock, error) {
	return []rewards.Stock{{AssetID: 1, Booked: money.Share}}, nil
}

// skeleton is a journal without comments and codes.
func skeleton(journal string) []string {
	var lines []string
	for line := range strings.SplitSeq(journal, "\n") {
		line, tag, _ := strings.Cut(line, ";")
		name, _, _ := strings.Cut(tag, ":")
		if strings.HasPrefix(tag, " ") && strings.Contains(tag, ":") && len(name) < 14 {
			line += ";" + name // of a tag, the name
		}
		if before, rest, found := strings.Cut(line, "("); found {
			_, after, _ := strings.Cut(rest, ")")
			line = before + after
		} else {
			line = strings.Replace(line, "* buy", "*  buy", 1)
		}
		if strings.HasPrefix(line, "    ;broker-order") || strings.HasPrefix(line, "    ; broker-order") {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}
