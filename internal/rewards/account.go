package rewards

import (
	"fmt"
	"time"
)

// accountGrace is how long orders go on while the broker does not report its account,
// since it was last the right one.
const accountGrace = time.Minute

// AccountVerdict is whether orders may be sent to, and followed at, the broker.
type AccountVerdict int

// The verdicts.
const (
	AccountRight   AccountVerdict = iota // the account that the books belong to
	AccountOther                         // another one: its orders and its stock are not ours
	AccountUnknown                       // the broker has not reported it for too long
)

// JudgeAccount compares the account that the broker reported at the moment now, "" when
// it did not, with the one that the books belong to, which it was last at rightAt (zero:
// never since this process leads). Books that belong to none yet accept any.
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

// OtherAccount is what an operator reads about an account that is not ours.
func OtherAccount(pinned, reported string) string {
	return fmt.Sprintf("nothing is ordered or booked: the broker's account is %s, these books belong to %s; "+
		"restore the credentials or the address of the broker", reported, pinned)
}
