package rewards

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"stockrewards/internal/money"
)

// UserActivity is a signed change of a user's holding of a stock (additions, section 6). The changes
// of a stock add up to its holding.
type UserActivity struct {
	Place      ActivityPlace
	Type       string // ActivityAward, ActivityReversal, or the type of a corporate action
	Symbol     string // of the stock, now
	Quantity   money.Shares
	CostBasis  money.USD
	Price      money.Price // of an award's part; else 0
	RewardID   RewardID    // zero: none
	ReversalID ReversalID  // zero: none
	ActionID   string      // of a corporate action that clients see; "": none
}

// The types of entries that are not of a corporate action.
const (
	ActivityAward    = "award" // a part of an award that was bought
	ActivityReversal = "reversal"
)

// ActivityKind says what an entry of a user's activity is of. Of two entries at one moment, the one of
// the higher kind is newer.
type ActivityKind byte

// The kinds.
const (
	ActivityOfAward    ActivityKind = iota + 1 // Key: the ids of the reward and of the order
	ActivityOfAction                           // Key: the number of the switch, and the asset
	ActivityOfReversal                         // Key: the id of the reversal, and the asset
)

// ActivityKey is what an entry is of, unique among the user's entries of its kind.
type ActivityKey [32]byte

// AwardKey is the key of an award's part.
func AwardKey(reward RewardID, order OrderID) (k ActivityKey) {
	copy(k[copy(k[:], reward[:]):], order[:])
	return k
}

// Award returns the reward and the order of an award's part.
func (k ActivityKey) Award() (reward RewardID, order OrderID) {
	copy(order[:], k[copy(reward[:], k[:]):])
	return reward, order
}

// actionKey is the key of what a switch did to a holding.
func actionKey(number int64, asset AssetID) (k ActivityKey) {
	binary.BigEndian.PutUint64(k[:], uint64(number))
	binary.BigEndian.PutUint64(k[8:], uint64(asset))
	return k
}

// Action returns the switch and the asset of an action's effect.
func (k ActivityKey) Action() (number int64, asset AssetID) {
	return int64(binary.BigEndian.Uint64(k[:])), AssetID(binary.BigEndian.Uint64(k[8:]))
}

// ReversalKey is the key of what a reversal took.
func ReversalKey(id ReversalID, asset AssetID) (k ActivityKey) {
	binary.BigEndian.PutUint64(k[copy(k[:], id[:]):], uint64(asset))
	return k
}

// Reversal returns the reversal and the asset of what was taken.
func (k ActivityKey) Reversal() (id ReversalID, asset AssetID) {
	return id, AssetID(binary.BigEndian.Uint64(k[copy(id[:], k[:]):]))
}

// ActivityPlace is the place of an entry in a user's activity, which is sorted by moment, kind and
// key.
type ActivityPlace struct {
	At   time.Time // when it was booked, to the microsecond
	Kind ActivityKind
	Key  ActivityKey
}

// Compare returns a positive number if p is newer than other.
func (p ActivityPlace) Compare(other ActivityPlace) int {
	return cmp.Or(p.At.Compare(other.At), cmp.Compare(p.Kind, other.Kind), bytes.Compare(p.Key[:], other.Key[:]))
}

// Append appends the place in its binary form.
func (p ActivityPlace) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(p.At.UnixMicro()))
	return append(append(b, byte(p.Kind)), p.Key[:]...)
}

// ParseActivityPlace reads what Append wrote; the zero value for anything else.
func ParseActivityPlace(b []byte) (p ActivityPlace) {
	const stamp = 8
	if len(b) != stamp+1+len(p.Key) {
		return p
	}
	p.At, p.Kind = time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), ActivityKind(b[stamp])
	copy(p.Key[:], b[stamp+1:])
	return p
}

// ActivityPage selects a page of a user's activity, newest first.
type ActivityPage struct {
	Before ActivityPlace // only older entries; zero: from the newest
	Limit  int
}

// Bound returns the exclusive upper bound of the entries of one kind on the page: a moment in
// microseconds, and a key at that moment.
func (p ActivityPage) Bound(kind ActivityKind) (at int64, key ActivityKey) {
	switch at = p.Before.At.UnixMicro(); {
	case p.Before.Kind == 0:
		return math.MaxInt64, key
	case kind == p.Before.Kind:
		return at, p.Before.Key
	case kind < p.Before.Kind: // all of them at that moment are older
		return at + 1, key
	default:
		return at, key
	}
}

// Merge returns the page of the entries in several lists, each of which has the newest of its kind.
func (p ActivityPage) Merge(lists ...[]UserActivity) []UserActivity {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b UserActivity) int { return b.Place.Compare(a.Place) })
	return all[:min(len(all), p.Limit)]
}

// ID returns the entry's id, which follows from what the entry is of: a UUID of version 7, with its time.
func (a UserActivity) ID(app AppID, user UserID) (id ID[UserActivity]) {
	h := sha256.New()
	h.Write(app[:])
	h.Write(user[:])
	h.Write([]byte{byte(a.Place.Kind)})
	h.Write(a.Place.Key[:])
	const millisBytes = 6
	sum := h.Sum(binary.BigEndian.AppendUint64(nil, uint64(a.Place.At.UnixMilli()))[8-millisBytes:])
	copy(id[:], sum)
	id[6], id[8] = 0x70|id[6]&0x0f, 0x80|id[8]&0x3f
	return id
}

// Activity returns the entry of an effect of a switch by an action of a type. symbol is the stock's
// now. An action that was not announced has its ratio's type, and no id, as clients do not see it.
func (e Effect) Activity(w Switch, kind ActionType, symbol string) UserActivity {
	a := UserActivity{
		Place: ActivityPlace{At: w.At, Kind: ActivityOfAction, Key: actionKey(w.Number, e.AssetID)},
		Type:  string(kind), Symbol: symbol, Quantity: e.After - e.Before, CostBasis: e.BasisAfter - e.BasisBefore,
		ActionID: w.ActionID,
	}
	if kind == ActionPosition {
		a.Type, a.ActionID = string(ActionForwardSplit), ""
		if e.After < e.Before != w.IsUndo() {
			a.Type = string(ActionReverseSplit)
		}
	}
	return a
}

// Activity lists what changed a user's holdings, newest first (additions, section 6).
func (s *Service) Activity(ctx context.Context, app AppID, user UserID, p ActivityPage) ([]UserActivity, error) {
	return s.store.Activity(ctx, app, user, p)
}
