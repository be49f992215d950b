package faults

import (
	"maps"
	"slices"
	"time"
)

// The operations of the Trading API that a fault can affect.
const (
	OpSubmit    = "submit"
	OpLookup    = "lookup"
	OpList      = "list"
	OpCancel    = "cancel"
	OpPositions = "positions"
	OpAccount   = "account"
	OpAssets    = "assets"
	OpClock     = "clock"
	OpCalendar  = "calendar"
	OpPrices    = "prices"
	OpActions   = "announcements"
	OpOther     = "other"

	opTrading = "trading" // all but prices and announcements
	opAll     = "all"
)

func operations() []string {
	return []string{
		OpSubmit, OpLookup, OpList, OpCancel, OpPositions, OpAccount, OpAssets, OpClock,
		OpCalendar, OpPrices, OpActions, OpOther, opTrading, opAll,
	}
}

// The kinds that strike a request or its answer.
const (
	LostRequest   = "lost-request"
	LostAnswer    = "lost-answer"
	LateRequest   = "late-request"
	LateAnswer    = "late-answer"
	CutAnswer     = "cut-answer"
	ErrorAnswer   = "error"
	RateLimit     = "rate-limit"
	EmptyBody     = "empty-body"
	HTMLBody      = "html-body"
	Duplicate     = "duplicate"
	NoBuyingPower = "no-buying-power"
	Outage        = "outage"
)

// The kinds that strike an order when it is accepted. The books have the true life of
// all of them; the answers about those of the second group are wrong.
const (
	LateVisibility      = "late-visibility"
	Reject              = "reject"
	RejectLater         = "reject-later"
	Cancel              = "cancel"
	Expire              = "expire"
	PartialThenFilled   = "partial-then-filled"
	PartialThenCanceled = "partial-then-canceled"
	PartialThenExpired  = "partial-then-expired"

	FillAfterCancel = "fill-after-cancel"
	ShrinkingFill   = "shrinking-fill"
	WrongSymbol     = "wrong-symbol"
	WrongSide       = "wrong-side"
	WrongNotional   = "wrong-notional"
	UnknownStatus   = "unknown-status"
	ZeroPrice       = "zero-price"
	AbsurdPrice     = "absurd-price"
)

// The kinds that strike the price of a stock.
const (
	ZeroQuote    = "zero-quote"
	AbsurdQuote  = "absurd-quote"
	MissingQuote = "missing-quote"
	StaleQuote   = "stale-quote"
)

// The kinds that strike a corporate action when it is announced. The first group falsifies
// what is listed of it; the second group changes what it does.
const (
	LateAnnouncement      = "late-announcement"
	WrongRatio            = "wrong-ratio"
	ReversedRatio         = "reversed-ratio"
	DuplicateAnnouncement = "duplicate-announcement"
	Revised               = "revised"

	LatePosition     = "late-position"
	CashInLieu       = "cash-in-lieu"
	FractionReversed = "fraction-reversed"
	RoundUp          = "round-up"
	WrongDirection   = "wrong-direction"
	NewAssetID       = "new-asset-id"
)

// target is what a kind of fault strikes.
type target int

const (
	targetRequest target = iota
	targetOrder
	targetVisibility // whether an order is listed and found
	targetQuote
	targetAction
)

// kind is a row of the table of kinds.
type kind struct {
	target   target
	defaults Fault
}

func kinds() map[string]kind {
	request := func(on string, f Fault) kind { f.On = []string{on}; return kind{targetRequest, f} }
	order := func(f Fault) kind { return kind{targetOrder, f} }
	quote := kind{targetQuote, Fault{}}
	action := func(by time.Duration) kind { return kind{targetAction, Fault{By: by}} }
	const half = 50
	return map[string]kind{
		LostRequest:   request(opTrading, Fault{}),
		LostAnswer:    request(opTrading, Fault{}),
		LateRequest:   request(opTrading, Fault{By: 15 * time.Second}),
		LateAnswer:    request(opTrading, Fault{By: 15 * time.Second}),
		CutAnswer:     request(opTrading, Fault{}),
		ErrorAnswer:   request(opTrading, Fault{Status: 500}),
		RateLimit:     request(opTrading, Fault{By: time.Second}),
		EmptyBody:     request(opTrading, Fault{Status: 200, Carried: true}),
		HTMLBody:      request(opTrading, Fault{Status: 502}),
		Duplicate:     request(OpSubmit, Fault{}),
		NoBuyingPower: request(OpSubmit, Fault{}),
		Outage:        request(opAll, Fault{}),

		LateVisibility:      {targetVisibility, Fault{By: time.Minute}},
		Reject:              order(Fault{}),
		RejectLater:         order(Fault{By: time.Second}),
		Cancel:              order(Fault{By: time.Second}),
		Expire:              order(Fault{}),
		PartialThenFilled:   order(Fault{By: 5 * time.Second, Share: half}),
		PartialThenCanceled: order(Fault{By: 5 * time.Second, Share: half}),
		PartialThenExpired:  order(Fault{Share: half}),
		FillAfterCancel:     order(Fault{By: 10 * time.Second}),
		ShrinkingFill:       order(Fault{By: 5 * time.Second, Share: half}),
		WrongSymbol:         order(Fault{}),
		WrongSide:           order(Fault{}),
		WrongNotional:       order(Fault{}),
		UnknownStatus:       order(Fault{}),
		ZeroPrice:           order(Fault{}),
		AbsurdPrice:         order(Fault{}),

		LateAnnouncement:      action(0), // until an hour after it happened
		WrongRatio:            action(0),
		ReversedRatio:         action(0),
		DuplicateAnnouncement: action(2 * 24 * time.Hour),
		Revised:               action(time.Hour),
		LatePosition:          action(6 * time.Hour),
		CashInLieu:            action(0),
		FractionReversed:      action(4 * 24 * time.Hour),
		RoundUp:               action(0),
		WrongDirection:        action(0),
		NewAssetID:            action(0),

		ZeroQuote: quote, AbsurdQuote: quote, MissingQuote: quote, StaleQuote: quote,
	}
}

// Kinds returns all kinds of faults in alphabetical order.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds())) }
