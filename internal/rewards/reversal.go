package rewards

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// ReversalID identifies a reversal.
type ReversalID = ID[Reversal]

// ReversalState says what became of a reversal.
type ReversalState int

// The states of a reversal.
const (
	ReversalPending   ReversalState = iota + 1 // it completes with the end of its award
	ReversalCompleted                          // final
	ReversalOrdered                            // an operator ordered it for an executed award; the worker completes it
)

// String returns the state as clients read it (additions, section 1).
func (s ReversalState) String() string {
	if s == ReversalCompleted {
		return "completed"
	}
	return "pending"
}

// Reversal takes an award back, or a part of it (additions, section 1).
type Reversal struct {
	AppID          AppID
	ID             ReversalID
	RewardID       RewardID
	UserID         UserID
	IdempotencyKey string // unique among the app's reversals
	Amount         money.USD
	Reason         string // "" if not given
	State          ReversalState
	Quantity       money.Shares // that went to the house, of the award's stock or its successor
	After          int64        // number of the last switch when the shares were taken
	CompletedAt    time.Time    // zero until completed
}

// CreatedAt returns when the reversal was recorded, to the millisecond.
func (r Reversal) CreatedAt() time.Time { return r.ID.Time() }

// Object returns the reversal's name in the operator log.
func (r Reversal) Object() string { return "reversal " + r.ID.String() }

// LogState returns the reversal for the operator log.
func (r Reversal) LogState() State {
	return State{{"reward", r.RewardID.String()}, {"amount", r.Amount.String()}, {"status", r.State.String()}}
}

// Reversed is what the reversals of one award have taken back.
type Reversed struct {
	Number int
	Amount money.USD
}

// ReversedBy adds up the reversals of an award.
func ReversedBy(list []Reversal) (r Reversed) {
	for _, v := range list {
		r = r.With(v)
	}
	return r
}

// With is r after one more reversal.
func (r Reversed) With(v Reversal) Reversed { return Reversed{r.Number + 1, r.Amount + v.Amount} }

// The limits of reversals. An order completes those of its members in one transaction, which everybody waits for.
const (
	MaxReversals        = 1_000  // MaxReversals is the most reversals of an award. The last one takes all that is left.
	MaxPendingReversals = 10_000 // MaxPendingReversals is the most that are not complete, of an app.
)

// TooManyPending returns the error for a reversal beyond MaxPendingReversals.
func TooManyPending() error {
	return &Error{
		Code:    CodeTooMany,
		Message: fmt.Sprintf("%d reversals of the app wait until their rewards are bought", MaxPendingReversals),
		Err:     Exceeded{Limit: MaxPendingReversals, Wait: time.Minute},
	}
}

// MaxReversalReason is the longest reason of a reversal, in characters.
const MaxReversalReason = 200

// NewReversal is a valid request to take an award back.
type NewReversal struct {
	ID             ReversalID // that it gets
	AppID          AppID
	RewardID       RewardID
	IdempotencyKey string
	Amount         money.USD // 0: all that is left
	Reason         string
}

// operatorKey begins the idempotency keys of operators.
const operatorKey = "operator:"

// OperatorReversal is an operator's request to take an award back. Its key is not a client's.
func OperatorReversal(r Reward, id ReversalID, amount money.USD, reason string) NewReversal {
	return NewReversal{
		ID: id, AppID: r.AppID, RewardID: r.ID, IdempotencyKey: operatorKey + id.String(), Amount: amount,
		Reason: reason,
	}
}

// CheckRepeated fails with CodeConflict when an operator has taken the same part of the award back for the same reason.
// A command has no idempotency key, and may be repeated because its answer was lost.
func (n NewReversal) CheckRepeated(earlier []Reversal) error {
	for _, v := range earlier {
		if v.Amount == n.Amount && v.Reason == n.Reason && strings.HasPrefix(v.IdempotencyKey, operatorKey) {
			message := fmt.Sprintf("reversal %s has taken back %s for the same reason; "+
				"to take as much back once more, give another reason",
				v.ID, v.Amount)
			return &Error{Code: CodeConflict, Message: message}
		}
	}
	return nil
}

// Fingerprint identifies the content of the request. An absent amount differs from every amount.
func (n NewReversal) Fingerprint() Fingerprint {
	b := append(append(make([]byte, 0, 128), n.AppID[:]...), n.RewardID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(n.Amount))
	return fingerprint(fingerprintWithKey, appendText(appendText(b, n.IdempotencyKey), n.Reason))
}

// KeyedReversal is a stored reversal with the fingerprint of the request that created it.
type KeyedReversal struct {
	Fingerprint Fingerprint
	Reversal
}

// ReversalOutcome is the outcome of one request to take an award back.
type ReversalOutcome struct {
	Reversal Reversal // as stored
	Replayed bool     // an earlier request created it
	Refused  error    // why nothing was stored; nil if it was
}

// Replay answers the request when its key holds a reversal. A stored reversal with the request's id
// comes from an attempt of the same request whose commit was ambiguous.
func (n NewReversal) Replay(stored KeyedReversal) ReversalOutcome {
	if stored.Fingerprint != n.Fingerprint() {
		return ReversalOutcome{Refused: &Error{
			Code: CodeConflict, Message: "idempotencyKey was already used with a different payload",
			Details: KeyDetails{n.IdempotencyKey},
		}}
	}
	return ReversalOutcome{Reversal: stored.Reversal, Replayed: stored.ID != n.ID}
}

// RewardDetails names a reward and its status.
type RewardDetails struct {
	RewardID RewardID
	Status   Status
}

// LeftDetails is how much of an award can still be taken back.
type LeftDetails struct{ Left money.USD }

// Decide returns the reversal of r, with an unused key. reversed is what the award's earlier reversals took.
// It fails with CodeConflict for a failed award, and with CodeUnprocessable when less than the amount is
// left, and for more than MaxReversals.
func (n NewReversal) Decide(r Reward, reversed Reversed) (Reversal, error) {
	if r.Status == Failed {
		return Reversal{}, &Error{
			Code: CodeConflict, Message: "the reward has failed: there is nothing to take back",
			Details: RewardDetails{r.ID, r.Status},
		}
	}
	left, amount := r.Amount-reversed.Amount, n.Amount
	if amount == 0 {
		amount = left
	}
	if amount > left || left == 0 {
		message := "less than amountUsd is left of the reward"
		if left == 0 {
			message = "nothing is left of the reward"
		}
		return Reversal{}, &Error{Code: CodeUnprocessable, Message: message, Details: LeftDetails{left}}
	}
	if reversed.Number >= MaxReversals-1 && amount < left {
		message := fmt.Sprintf("a reward has at most %d reversals: the last one takes all that is left", MaxReversals)
		return Reversal{}, &Error{Code: CodeUnprocessable, Message: message, Details: LeftDetails{left}}
	}
	return Reversal{
		AppID: n.AppID, ID: n.ID, RewardID: r.ID, UserID: r.UserID, IdempotencyKey: n.IdempotencyKey,
		Amount: amount, Reason: n.Reason, State: ReversalPending,
	}, nil
}

// Cancels reports whether the reversal cancels r: nothing is left, and r is in no order.
func (r Reversal) Cancels(of Reward, reversed Reversed) bool {
	return of.Status == Recorded && reversed.Amount+r.Amount == of.Amount
}

// FailureText is why the award that the reversal cancels has failed.
func (r Reversal) FailureText() string {
	if r.Reason == "" {
		return "the reward was taken back before it was bought"
	}
	return r.Reason
}

// Complete returns the reversal as completed at now with the shares that were taken.
func (r Reversal) Complete(quantity money.Shares, after int64, now time.Time) Reversal {
	r.State, r.Quantity, r.After = ReversalCompleted, quantity, after
	r.CompletedAt = notBefore(now, r.CreatedAt())
	return r
}

// ReversalFilter restricts a list of reversals. Nil and zero members do not restrict.
type ReversalFilter struct {
	RewardID *RewardID
	UserID   *UserID
	State    ReversalState // ReversalPending or ReversalCompleted
}

// Matches reports whether the filter has the reversal.
func (f ReversalFilter) Matches(r Reversal) bool {
	return (f.RewardID == nil || *f.RewardID == r.RewardID) && (f.UserID == nil || *f.UserID == r.UserID) &&
		(f.State == 0 || (f.State == ReversalCompleted) == (r.State == ReversalCompleted))
}
