package rewards

import (
	"fmt"
	"time"
)

// accountGrace is how long ordering continues after the last confirmation of the account,
// while the broker does not report it.
const accountGrace = time.Minute

// AccountVerdict reports whether orders may be sent to the broker and polled there.
type AccountVerdict int

// The verdicts.
const (
	AccountRight   AccountVerdict = iota // the account that the store is pinned to
	AccountOther                         // another account: its orders and positions are not ours
	AccountUnknown                       // the broker has not reported its account for too long
)

// JudgeAccount compares the account reported at the time now ("" if the broker did not
// report it) with the pinned one. rightAt is when the pinned account was last reported; zero
// means never since this process leads. A store that is not pinned accepts any account.
func JudgeAccount(pinned, reported string, rightAt, now time.Time) AccountVerdict {
	switch {
	case pinned == "" || reported == pinned:
		return AccountRight
	case reported != "":
		return AccountOther
	case rightAt.IsZero() || now.Sub(rightAt) >= accountGrace:
		return AccountUnknown
	}
	return AccountRight
}

// OtherAccount returns the alarm message for AccountOther.
func OtherAccount(pinned, reported string) string {
	return fmt.Sprintf("nothing is ordered or booked: the broker's account is %s, the store belongs to %s; "+
		"restore the broker's credentials or address", reported, pinned)
}
