package rewards

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// Payment is the cash that the broker paid for an action: net of tax and fees.
type Payment struct {
	ActivityID string // of the payment itself
	Net        money.USD
	Counted    money.Shares // that the broker counted; 0 if it did not say
}

// The broker's types of activities that pay cash.
const (
	activityDividend = "DIV"
	activityMerger   = "MA"
	activitySpinOff  = "SPIN"

	ActivityCashInLieu = "CIL"
)

// The broker's states of activities that correct or cancel another one.
const (
	ActivityCorrect  = "correct"
	ActivityCanceled = "canceled"
)

// Revokes reports whether the activity corrects or cancels another one that is no fill.
func (n Activity) Revokes() bool {
	return n.Type != "FILL" && (n.Status == ActivityCorrect || n.Status == ActivityCanceled)
}

// PaidBy finds the payment for the action among activities, oldest first, that paid for no other action: the one
// nearest to the pay date, if it is not nearer to that of one of the others, which wait for their payments too. Tax and
// fees of the same group, or of the same day where the broker names no group, belong to it. symbol is the stock's
// symbol now.
func (a Action) PaidBy(list []Activity, symbol string, others ...Action) (p Payment, found bool) {
	list = withoutRevoked(list)
	kind := activityDividend
	if a.Type != ActionCashDividend {
		kind = activityMerger
	}
	var main Activity
	for _, n := range list {
		if n.Type != kind || n.Net <= 0 || !a.mayPay(n, symbol) || !n.samePerShare(a.Rate) {
			continue
		}
		theirs := func(b Action) bool {
			return b.waitsLike(a) && b.mayPay(n, symbol) && n.samePerShare(b.Rate) && b.apart(n) < a.apart(n)
		}
		if !slices.ContainsFunc(others, theirs) && (!found || a.apart(n) < a.apart(main)) {
			main, found = n, true
		}
	}
	if !found {
		return p, false
	}
	p = Payment{ActivityID: main.ID, Counted: max(main.Qty, -main.Qty)}
	for _, n := range list {
		counts := n.sameGroup(main) && strings.HasPrefix(n.Type, kind) && n.Status != ActivityCanceled
		if counts && (n.ID == main.ID || n.Net < 0) {
			p.Net += n.Net
		}
	}
	return p, p.Net > 0
}

// sameGroup reports whether both are parts of one payment: by the broker's group, or without groups by day and symbol.
func (n Activity) sameGroup(of Activity) bool {
	if n.GroupID != "" {
		return n.GroupID == of.GroupID
	}
	return n.Date == of.Date && n.Symbol == of.Symbol
}

// withoutRevoked leaves out the activities that others of the list correct or cancel.
func withoutRevoked(list []Activity) []Activity {
	revoked := make(map[string]bool)
	for _, n := range list {
		if n.Revokes() && n.Previous != "" {
			revoked[n.Previous] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(n Activity) bool {
		_, part, _ := strings.Cut(n.ID, "::")
		return revoked[n.ID] || part != "" && revoked[part]
	})
}

// waitsLike reports whether another action of the stock waits for a payment of the same kind.
func (a Action) waitsLike(b Action) bool {
	return a.ID != b.ID && a.AssetID == b.AssetID && a.Type == b.Type
}

// apart is how many days an activity is from the day on which the action should be paid. It is 0 for one without a day.
func (a Action) apart(n Activity) int {
	due, err := time.Parse(time.DateOnly, string(max(a.PayDate, a.ExDate)))
	day, dayErr := time.Parse(time.DateOnly, string(n.Date))
	if err != nil || dayErr != nil {
		return 0
	}
	return int(due.Sub(day).Abs() / (24 * time.Hour))
}

func (a Action) mayPay(n Activity, symbol string) bool {
	about := n.Symbol == a.Symbol || n.Symbol == symbol || a.NewSymbol != "" && n.Symbol == a.NewSymbol
	return about && n.Problem == "" && n.Status != ActivityCanceled && (n.Date == "" || n.Date >= a.ExDate)
}

// samePerShare reports whether the payment for a share is the announced one, if both are known.
func (n Activity) samePerShare(rate string) bool {
	paid, errPaid := money.ParsePrice(n.PerShare)
	announced, errAnnounced := money.ParsePrice(rate)
	return errPaid != nil || errAnnounced != nil || paid == announced
}

// Share returns a user's part of a payment: of Counted shares, rounded down to the millionth. It
// fails with money.ErrOverflow.
func (p Payment) Share(held money.Shares) (money.USD, error) {
	n, err := money.MulDiv(int64(p.Net), int64(held), int64(p.Counted), money.Down)
	return money.USD(min(n, int64(p.Net))), err
}

// SpinOffPrices finds the prices after a spin-off that the broker's activities name; 0 if they
// name none.
func (a Action) SpinOffPrices(list []Activity) (source, target money.Price) {
	for _, n := range list {
		if n.Type != activitySpinOff || n.Problem != "" || n.Status == ActivityCanceled || n.Date < a.ExDate {
			continue
		}
		switch n.Symbol {
		case a.Symbol:
			source = n.Price
		case a.NewSymbol:
			target = n.Price
		}
	}
	return source, target
}

// PaidInCash reports whether the broker's activities give the shares of the action's new stock for those that are
// booked, and pay for all of them in cash: then no position shows the action.
func (a Action) PaidInCash(list []Activity, c Conversion, booked money.Shares) bool {
	given, err := c.Give.Of(booked)
	if err != nil || given <= 1 {
		return false
	}
	came, paid := false, false
	for _, n := range list {
		if n.Symbol == a.NewSymbol && n.Problem == "" && n.Status != ActivityCanceled && n.Date >= a.ExDate {
			came = came || n.Type == activitySpinOff && sameRounded(n.Qty, given)
			paid = paid || n.Net > 0 && sameRounded(-n.Qty, given)
		}
	}
	return came && paid
}

// sameRounded reports whether two quantities differ by the broker's rounding at most.
func sameRounded(a, b money.Shares) bool { return a-b <= 1 && b-a <= 1 }

// DividendPolicy says what becomes of the cash that the users of an app get.
type DividendPolicy int

// The policies.
const (
	DividendsReinvest DividendPolicy = iota + 1 // an award of the same stock
	DividendsHouse                              // the house keeps it
)

// String returns the policy as commands name it.
func (p DividendPolicy) String() string {
	if p == DividendsHouse {
		return "house"
	}
	return "reinvest"
}

// Plain reports whether the activity is an ordinary fill, which its order shows as well.
func (n Activity) Plain() bool {
	return n.Type == "FILL" && (n.SubType == "fill" || n.SubType == "partial_fill")
}

// State returns the policy for the operator log.
func (p DividendPolicy) State() State { return State{{"dividends", p.String()}} }

// Payout is a payment that is shared among the users whom a switch recorded. The house keeps what
// is left.
type Payout struct {
	Payment
	ActionID string
	Switch   int64 // number
	Shared   money.USD
	At       time.Time
	SharedAt time.Time // when every part was computed; zero: not yet
	PaidAt   time.Time // when every part was paid out; zero: not yet
}

// Awardable reports whether the cash may become an award: there is some, and not more than an award may have.
func (e Effect) Awardable() bool { return e.Cash > 0 && e.Cash <= MaxAmountDollars*money.Dollar }

// CashAward returns the award that a user's cash becomes: of the action's stock, or of the
// acquirer's after a merger, or of no stock (0) when it stays cash. attempt is from 1; the key of a later one has its
// number. It has the announced symbol, so that a repetition after a rename is the same request.
func (a Action) CashAward(e Effect, stock AssetID, attempt int) NewReward {
	source, symbol := "dividend", a.Symbol
	if a.Type != ActionCashDividend {
		source, symbol = "merger", a.NewSymbol
	}
	key := source + ":" + a.ID + ":" + e.UserID.String()
	if attempt > 1 {
		key += ":" + strconv.Itoa(attempt)
	}
	metadata := `{"corporateActionId":` + strconv.Quote(a.ID) + `}`
	r := NewReward{
		AppID: e.AppID, UserID: e.UserID, IdempotencyKey: key, Amount: e.Cash, Symbol: symbol, Source: source,
		Metadata: metadata, Canonical: metadata, AssetID: stock, Uncounted: true,
	}
	r.Fingerprint = NewFingerprint(r, metadata)
	return r
}
