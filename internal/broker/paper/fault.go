package paper

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// A Fault makes the brokerage misbehave. It is told as one line: its kind, then
// settings, as in
//
//	lost-answer on=submit chance=5% times=10
//
// docs/paper-brokerage.md lists the kinds and what each setting means for them.
type Fault struct {
	Kind    string        // one of Kinds
	On      []string      // the operations that it befalls; one of Operations each
	Symbol  string        // only orders or prices of this stock; empty: of all
	Chance  int64         // millionths; 0 and a million: always
	Skip    int           // how often it passes by first
	Times   int           // how often it strikes; 0: without end
	For     time.Duration // how long it is there, by the brokerage's clock; 0: without end
	By      time.Duration // a delay
	Share   int64         // percent of an order that is filled before it goes wrong
	Status  int           // of the answer
	Carried bool          // the request is carried out although the answer says otherwise
}

// The operations that a fault can befall.
const (
	opSubmit    = "submit"
	opLookup    = "lookup"
	opList      = "list"
	opCancel    = "cancel"
	opPositions = "positions"
	opAccount   = "account"
	opAssets    = "assets"
	opClock     = "clock"
	opCalendar  = "calendar"
	opPrices    = "prices"
	opActions   = "announcements"
	opOther     = "other"
	opTrading   = "trading" // all but prices and announcements
	opAll       = "all"
)

// Operations lists the operations that a fault can befall.
func Operations() []string {
	return []string{
		opSubmit, opLookup, opList, opCancel, opPositions, opAccount, opAssets, opClock,
		opCalendar, opPrices, opActions, opOther, opTrading, opAll,
	}
}

// group is where in the brokerage a kind of fault strikes.
type group int

const (
	groupWire  group = iota // a request or its answer
	groupOrder              // an order's life, or what is told of it
	groupHide               // whether an order is shown
	groupQuote              // a price
)

// The kinds of faults.
const (
	lostRequest   = "lost-request"
	lostAnswer    = "lost-answer"
	lateRequest   = "late-request"
	lateAnswer    = "late-answer"
	cutAnswer     = "cut-answer"
	errorAnswer   = "error"
	rateLimit     = "rate-limit"
	emptyBody     = "empty-body"
	htmlBody      = "html-body"
	duplicate     = "duplicate"
	noBuyingPower = "no-buying-power"
	outage        = "outage"

	lateVisibility      = "late-visibility"
	reject              = "reject"
	rejectLater         = "reject-later"
	cancelOrder         = "cancel"
	expireOrder         = "expire"
	partialThenFilled   = "partial-then-filled"
	partialThenCanceled = "partial-then-canceled"
	partialThenExpired  = "partial-then-expired"
	fillAfterCancel     = "fill-after-cancel"
	shrinkingFill       = "shrinking-fill"
	wrongSymbol         = "wrong-symbol"
	wrongSide           = "wrong-side"
	wrongNotional       = "wrong-notional"
	unknownStatus       = "unknown-status"
	zeroPrice           = "zero-price"
	absurdPrice         = "absurd-price"

	zeroQuote    = "zero-quote"
	absurdQuote  = "absurd-quote"
	missingQuote = "missing-quote"
	staleQuote   = "stale-quote"
)

// kind is what is special about a kind of fault.
type kind struct {
	group    group
	defaults Fault
}

// kinds is the table of all kinds with their defaults.
func kinds() map[string]kind {
	wire := func(on string, f Fault) kind { f.On = []string{on}; return kind{groupWire, f} }
	order := func(f Fault) kind { return kind{groupOrder, f} }
	quote := kind{groupQuote, Fault{}}
	const half = 50
	return map[string]kind{
		lostRequest:   wire(opTrading, Fault{}),
		lostAnswer:    wire(opTrading, Fault{}),
		lateRequest:   wire(opTrading, Fault{By: 15 * time.Second}),
		lateAnswer:    wire(opTrading, Fault{By: 15 * time.Second}),
		cutAnswer:     wire(opTrading, Fault{}),
		errorAnswer:   wire(opTrading, Fault{Status: 500}),
		rateLimit:     wire(opTrading, Fault{By: time.Second}),
		emptyBody:     wire(opTrading, Fault{Status: 200, Carried: true}),
		htmlBody:      wire(opTrading, Fault{Status: 502}),
		duplicate:     wire(opSubmit, Fault{}),
		noBuyingPower: wire(opSubmit, Fault{}),
		outage:        wire(opAll, Fault{}),

		lateVisibility:      {groupHide, Fault{By: time.Minute}},
		reject:              order(Fault{}),
		rejectLater:         order(Fault{By: time.Second}),
		cancelOrder:         order(Fault{By: time.Second}),
		expireOrder:         order(Fault{}),
		partialThenFilled:   order(Fault{By: 5 * time.Second, Share: half}),
		partialThenCanceled: order(Fault{By: 5 * time.Second, Share: half}),
		partialThenExpired:  order(Fault{Share: half}),
		fillAfterCancel:     order(Fault{By: 10 * time.Second}),
		shrinkingFill:       order(Fault{By: 5 * time.Second, Share: half}),
		wrongSymbol:         order(Fault{}),
		wrongSide:           order(Fault{}),
		wrongNotional:       order(Fault{}),
		unknownStatus:       order(Fault{}),
		zeroPrice:           order(Fault{}),
		absurdPrice:         order(Fault{}),

		zeroQuote: quote, absurdQuote: quote, missingQuote: quote, staleQuote: quote,
	}
}

// Kinds lists the kinds of faults in alphabetical order.
func Kinds() []string {
	var names []string
	for name := range kinds() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ParseFault reads the line that tells of a fault. It fails with the word that it
// does not understand.
func ParseFault(line string) (Fault, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return Fault{}, fmt.Errorf("an empty fault: a kind is needed, one of %s", strings.Join(Kinds(), ", "))
	}
	k, known := kinds()[words[0]]
	if !known {
		return Fault{}, fmt.Errorf("fault %q: must be one of %s", words[0], strings.Join(Kinds(), ", "))
	}
	f := k.defaults
	f.Kind = words[0]
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		if err := f.set(k.group, name, value); err != nil {
			return Fault{}, fmt.Errorf("fault %s: %q: %w", f.Kind, word, err)
		}
	}
	return f, nil
}

// set reads one setting.
func (f *Fault) set(g group, name, value string) (err error) {
	const most = 1_000_000_000
	switch name {
	case "on":
		if f.On = strings.Split(value, ","); g != groupWire {
			return errors.New("this kind does not befall requests")
		}
		for _, op := range f.On {
			if !slices.Contains(Operations(), op) {
				return fmt.Errorf("%q must be one of %s", op, strings.Join(Operations(), ", "))
			}
		}
	case "symbol":
		f.Symbol = value
	case "chance":
		f.Chance, err = parseChance(value)
	case "skip":
		f.Skip, err = parseCount(value, 0, most)
	case "times":
		f.Times, err = parseCount(value, 1, most)
	case "share":
		var n int
		n, err = parseCount(value, 1, 99)
		f.Share = int64(n)
	case "status":
		f.Status, err = parseCount(value, 200, 599)
	case "carried":
		f.Carried, err = strconv.ParseBool(value)
	case "for":
		f.For, err = parseDuration(value)
	case "by":
		f.By, err = parseDuration(value)
	default:
		return errors.New("must be on, symbol, chance, skip, times, for, by, share, status or carried")
	}
	return err
}

func parseCount(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("must be a number from %d to %d", least, most)
	}
	return n, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("must be a duration such as 1.5s, 10m or 4h")
	}
	return d, nil
}

// parseChance reads percents, such as "5%" or "0.01%", as millionths.
func parseChance(text string) (int64, error) {
	const perMillionth = 100 // a percent of one reads as a million
	number, isPercent := strings.CutSuffix(text, "%")
	percent, err := money.ParseUSD(number)
	if err != nil || !isPercent || percent < perMillionth || percent > 100*money.Dollar || percent%perMillionth != 0 {
		return 0, errors.New("must be a percentage such as 5% or 0.01%")
	}
	return int64(percent) / perMillionth, nil
}

// String is the line that tells of the fault; what is as usual is left out.
func (f Fault) String() string {
	usual := kinds()[f.Kind].defaults
	var b strings.Builder
	b.WriteString(f.Kind)
	tell := func(name string, told bool, value any) {
		if told {
			fmt.Fprintf(&b, " %s=%v", name, value)
		}
	}
	tell("on", !slices.Equal(f.On, usual.On), strings.Join(f.On, ","))
	tell("symbol", f.Symbol != "", f.Symbol)
	tell("chance", f.Chance != 0, money.USD(f.Chance*100).String()+"%")
	tell("skip", f.Skip != 0, f.Skip)
	tell("times", f.Times != 0, f.Times)
	tell("for", f.For != 0, f.For)
	tell("by", f.By != usual.By, f.By)
	tell("share", f.Share != usual.Share, f.Share)
	tell("status", f.Status != usual.Status, f.Status)
	tell("carried", f.Carried != usual.Carried, f.Carried)
	return b.String()
}
