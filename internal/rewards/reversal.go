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

// SumOfReversals is the dollars that reversals have taken back.
func SumOfReversals(list []Reversal) (sum money.USD) {
	for _, v := range list {
		sum += v.Amount
	}
	return sum
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

// Decide returns the reversal of r, with an unused key. reversed is the sum of the award's earlier
// reversals. It fails with CodeConflict for a failed award, and with CodeUnprocessable when less
// than the amount is left.
func (n NewReversal) Decide(r Reward, reversed money.USD) (Reversal, error) {
	if r.Status == Failed {
		return Reversal{}, &Error{
			Code: CodeConflict, Message: "the reward has failed: there is nothing to take back",
			Details: RewardDetails{r.ID, r.Status},
		}
	}
	left, amount := r.Amount-reversed, n.Amount
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
	return Reversal{
		AppID: n.AppID, ID: n.ID, RewardID: r.ID, UserID: r.UserID, IdempotencyKey: n.IdempotencyKey,
		Amount: amount, Reason: n.Reason, State: ReversalPending,
	}, nil
}

// Cancels reports whether the reversal cancels r: nothing is left, and r is in no order.
func (r Reversal) Cancels(of Reward, reversed money.USD) bool {
	return of.Status == Recorded && reversed+r.Amount == of.Amount
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
