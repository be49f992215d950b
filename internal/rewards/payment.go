package rewards

import (
	"maps"
	"slices"
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

// PaidBy finds the payment for the action among activities, oldest first: the one nearest to the pay date, if it paid
// for no other action (spent has the ids of those that did), and is not nearer to the pay date of one of the others,
// which wait for their payments too. Activities of one group are one payment. Tax and fees of the group belong to it,
// and its part of those of the same day without a group. symbol is the stock's symbol now.
func (a Action) PaidBy(
	list []Activity, spent map[string]bool, symbol string, others ...Action,
) (p Payment, found bool) {
	spent = withCorrections(spent, list)
	list = withoutRevoked(list)
	kind := activityDividend
	if a.Type != ActionCashDividend {
		kind = activityMerger
	}
	all := bookedPayments(list, kind, spent)
	var main bookedPayment
	for _, n := range all {
		if n.spent || !a.mayPay(n.Activity, symbol) || !n.samePerShare(a.Rate) {
			continue
		}
		theirs := func(b Action) bool {
			return b.waitsLike(a) && b.mayPay(n.Activity, symbol) && n.samePerShare(b.Rate) &&
				b.apart(n.Activity) < a.apart(n.Activity)
		}
		if !slices.ContainsFunc(others, theirs) && (!found || a.apart(n.Activity) < a.apart(main.Activity)) {
			main, found = n, true
		}
	}
	if !found {
		return p, false
	}
	p = Payment{ActivityID: main.ID, Net: main.Net - taxOf(main, all, list, kind)}
	if main.Symbol != a.NewSymbol { // otherwise they are shares of the other stock
		p.Counted = max(main.Qty, -main.Qty)
	}
	return p, p.Net > 0
}

// bookedPayment is what the broker paid at once: its first activity, with the sums of all of its group.
type bookedPayment struct {
	Activity
	spent bool // it paid for an action
}

// bookedPayments lists what the broker paid, oldest first, before tax and fees.
func bookedPayments(list []Activity, kind string, spent map[string]bool) (all []bookedPayment) {
	for _, n := range list {
		if !n.pays(kind) {
			continue
		}
		one := bookedPayment{Activity: n, spent: spent[n.ID]}
		i := slices.IndexFunc(all, func(p bookedPayment) bool { return n.GroupID != "" && p.GroupID == n.GroupID })
		if i < 0 {
			all = append(all, one)
		} else {
			all[i].add(one)
		}
	}
	return withSpecial(all, kind)
}

// withSpecial adds what the broker booked under a special type, such as a return of capital, to the payment of that day
// and symbol, if there is one and it names no groups and no rates.
func withSpecial(all []bookedPayment, kind string) (list []bookedPayment) {
	main := func(p bookedPayment) bool { return p.Type == kind }
	for _, p := range all {
		if main(p) {
			list = append(list, p)
		}
	}
	for _, p := range all {
		if main(p) {
			continue
		}
		of := -1
		for i, other := range list {
			whole := p.GroupID == "" && other.GroupID == "" && (p.PerShare == "" || other.PerShare == "")
			if whole && main(other) && other.sameDay(p.Activity) {
				of = i
			}
		}
		if of < 0 {
			list = append(list, p)
		} else {
			list[of].add(p)
		}
	}
	return list
}

// add adds another part of a payment: of the same shares, or of others at the same rate.
func (p *bookedPayment) add(n bookedPayment) {
	p.spent = p.spent || n.spent
	p.Net += n.Net
	rate, errRate := money.ParsePrice(p.PerShare)
	other, errOther := money.ParsePrice(n.PerShare)
	ours, theirs := max(p.Qty, -p.Qty), max(n.Qty, -n.Qty)
	switch {
	case errRate != nil || errOther != nil:
		p.PerShare = ""
	case ours == theirs:
		p.PerShare = (rate + other).String()
	case rate != other:
		p.PerShare = ""
	}
	if p.Qty = ours; ours != theirs {
		p.Qty += theirs
	}
}

// pays reports whether the activity is cash for an action (alpaca: trading-api.json, ActivityType). A positive tax is
// one that was given back.
func (n Activity) pays(kind string) bool {
	switch n.Type {
	case "DIVFEE", "DIVFT", "DIVNRA", "DIVTW":
		return false
	default:
		return strings.HasPrefix(n.Type, kind) && n.Net > 0 && n.Problem == "" && n.Status != ActivityCanceled
	}
}

// taxOf returns the tax and fees of a payment, as an amount above 0.
func taxOf(p bookedPayment, all []bookedPayment, list []Activity, kind string) (sum money.USD) {
	for _, n := range list {
		if !strings.HasPrefix(n.Type, kind) || n.Net >= 0 || n.Status == ActivityCanceled {
			continue
		}
		switch {
		case n.GroupID != "" && n.GroupID == p.GroupID:
			sum -= n.Net
		case n.GroupID == "" && p.sameDay(n):
			sum += partOfTax(-n.Net, p, all)
		}
	}
	return sum
}

func (n Activity) sameDay(as Activity) bool { return n.Date == as.Date && n.Symbol == as.Symbol }

// partOfTax returns the part of a tax of a payment, in proportion to those of the same day and symbol. The
// parts of all add up to the tax.
func partOfTax(tax money.USD, p bookedPayment, all []bookedPayment) money.USD {
	var before, total money.USD
	for _, other := range all {
		if !other.sameDay(p.Activity) {
			continue
		}
		if other.ID == p.ID {
			before = total
		}
		total += other.Net
	}
	upTo := func(paid money.USD) money.USD {
		part, err := money.MulDiv(int64(tax), int64(paid), int64(total), money.Down)
		if err != nil {
			return tax
		}
		return money.USD(part)
	}
	return upTo(before+p.Net) - upTo(before)
}

// withCorrections adds the activities that correct or cancel one that paid for an action: they pay for no other one.
func withCorrections(spent map[string]bool, list []Activity) map[string]bool {
	all := maps.Clone(spent)
	for _, n := range list {
		if !n.Revokes() || n.Previous == "" {
			continue
		}
		for id := range spent {
			_, part, _ := strings.Cut(id, "::")
			if id == n.Previous || part != "" && part == n.Previous {
				all[n.ID] = true
			}
		}
	}
	return all
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
	gives := a.Type != ActionCashDividend && a.NewSymbol != "" && n.Symbol == a.NewSymbol
	about := n.Symbol == a.Symbol || n.Symbol == symbol || gives
	return about && n.Problem == "" && n.Status != ActivityCanceled && (n.Date == "" || n.Date >= a.ExDate)
}

// samePerShare reports whether the payment for a share is the announced one, if both are known. The broker pays whole
// cents and says how much that is for each share on average (alpaca: trading-api.json, per_share_amount), so the
// two differ by that rounding.
func (n Activity) samePerShare(rate string) bool {
	const (
		cent    = money.Dollar / 100
		rounded = money.Price(1_000) // a millionth of a dollar
	)
	paid, errPaid := money.ParsePrice(n.PerShare)
	announced, errAnnounced := money.ParsePrice(rate)
	if errPaid != nil || errAnnounced != nil || paid == announced {
		return true
	}
	apart := max(paid-announced, announced-paid) - rounded
	if apart <= 0 {
		return true
	}
	value, err := money.Value(max(n.Qty, -n.Qty), apart, money.Down)
	return err == nil && n.Qty != 0 && value <= cent
}

// Share returns a user's part of a payment: of Counted shares, rounded down to the millionth. It
// fails with money.ErrOverflow.
func (p Payment) Share(held money.Shares) (money.USD, error) {
	n, err := money.MulDiv(int64(p.Net), int64(held), int64(p.Counted), money.Down)
	return money.USD(min(n, int64(p.Net))), err
}

// SpinOffPrices finds the prices after a spin-off that the broker's activities name; 0 if they name none. symbols are
// others that the stock has, or has at the broker.
func (a Action) SpinOffPrices(list []Activity, symbols ...string) (source, target money.Price) {
	for _, n := range list {
		if n.Type != activitySpinOff || n.Problem != "" || n.Status == ActivityCanceled || n.Date < a.ExDate {
			continue
		}
		switch {
		case n.Symbol == a.NewSymbol:
			target = n.Price
		case n.Symbol == a.Symbol, slices.Contains(symbols, n.Symbol):
			source = n.Price
		}
	}
	return source, target
}

// NeedsActivities reports whether a spin-off may be applied by these positions, so that the prices of the broker's
// activities must be known if there are any.
func (a Action) NeedsActivities(s Standing) bool {
	return s.LiveOrder == "" && (!s.unchanged() || !a.ApprovedAt.IsZero())
}

// PaidInCash reports whether the broker's activities give the shares of the action's new stock for those that are
// booked, and pay in cash for all of them, or for their fraction of a share. When it paid for all, no position shows
// the action.
func (a Action) PaidInCash(list []Activity, c Conversion, booked money.Shares) (all, fraction bool) {
	given, err := c.Give.Of(booked)
	if err != nil || given <= 1 {
		return false, false
	}
	rest := given % money.Share
	came := false
	for _, n := range withoutRevoked(list) {
		if n.Symbol == a.NewSymbol && n.Problem == "" && n.Status != ActivityCanceled && n.Date >= a.ExDate {
			came = came || (n.Type == activitySpinOff || n.Type == activityMerger) && sameRounded(n.Qty, given)
			all = all || n.Net > 0 && sameRounded(-n.Qty, given)
			fraction = fraction || n.Net > 0 && rest > 1 && sameRounded(-n.Qty, rest)
		}
	}
	return came && all, came && fraction
}

// sameRounded reports whether two quantities differ by the broker's rounding at most.
func sameRounded(a, b money.Shares) bool { return a-b <= 1 && b-a <= 1 }

// Plain reports whether the activity is an ordinary fill, which its order shows as well.
func (n Activity) Plain() bool {
	return n.Type == "FILL" && (n.SubType == "fill" || n.SubType == "partial_fill")
}
