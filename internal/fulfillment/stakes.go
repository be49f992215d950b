package fulfillment

import (
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// stakes are the stocks of a comparison: what the store has booked, and the broker's positions.
type stakes struct {
	booked   map[rewards.AssetID]rewards.BookedPosition
	owed     map[rewards.AssetID]money.Shares // by the house
	byID     map[string]rewards.Position
	bySymbol map[string]rewards.Position
}

func newStakes(
	booked []rewards.BookedPosition, positions []rewards.Position, shortages []rewards.Shortage,
) stakes {
	s := stakes{
		booked:   make(map[rewards.AssetID]rewards.BookedPosition, len(booked)),
		owed:     make(map[rewards.AssetID]money.Shares, len(shortages)),
		byID:     make(map[string]rewards.Position, len(positions)),
		bySymbol: make(map[string]rewards.Position, len(positions)),
	}
	for _, b := range booked {
		s.booked[b.AssetID] = b
	}
	for _, p := range positions {
		s.byID[p.AssetID], s.bySymbol[p.Symbol] = p, p
	}
	for _, h := range shortages {
		s.owed[h.Asset.ID] = h.Owed
	}
	return s
}

// stake is all shares of a stock, of which the broker has theirs.
func (s stakes) stake(id rewards.AssetID, theirs money.Shares) rewards.Stake {
	b := s.booked[id]
	return rewards.Stake{Booked: b.Quantity, Owed: s.owed[id], Theirs: theirs, Accepted: b.Accepted}
}

// position is the broker's position in a stock; the zero value without one.
func (s stakes) position(brokerID, symbol string) rewards.Position {
	if p, found := s.byID[brokerID]; found && brokerID != "" {
		return p
	}
	return s.bySymbol[symbol]
}

// renamed is the broker's position in a stock that has another symbol by one of the actions already.
func (s stakes) renamed(theirs rewards.Position, by []rewards.Action) rewards.Position {
	for _, a := range by {
		if renamed, moved := s.bySymbol[a.NewSymbol]; moved && a.Renames() && theirs.Qty == 0 {
			theirs = renamed
		}
	}
	return theirs
}

// judging is a comparison in which due actions are judged.
type judging struct {
	stakes

	live  []rewards.Order
	clock rewards.MarketClock
}

// buying returns the last live order of two stocks that the broker may have bought for; the zero value without one.
func (at judging) buying(stock, target rewards.AssetID) (last rewards.Order) {
	for _, o := range at.live {
		if o.MayHaveBought() && (o.AssetID == stock || o.AssetID == target) {
			last = o
		}
	}
	return last
}
