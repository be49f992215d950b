package rewards

import (
	"strings"
	"time"
)

// Alarm returns the alarm message for the action; "" for no alarm.
func (a Action) Alarm(now time.Time) string {
	text := a.String()
	switch {
	case a.State == ActionHeld && !a.HoldFrom.IsZero():
		text += ": the stock is not ordered; see `stockrewards action show " + a.ID + "`"
	case a.State == ActionHeld:
		text += ": see `stockrewards action show " + a.ID + "`"
	case a.State == ActionAnnounced && a.late(now):
		text += ": the broker has not changed the position yet; the stock is not ordered" + a.valuedLate()
	case a.State == ActionAnnounced && !a.HoldFrom.IsZero():
		text += ": the stock is not ordered from " + a.HoldFrom.Format(time.RFC3339)
	case a.State == ActionWithdrawn && a.Type.Holds() && !a.over(now):
	case (a.State == ActionApplied || a.State == ActionSwept) && strings.HasPrefix(a.Note, noteRevised):
	case (a.State == ActionApplied || a.State == ActionSwept) && strings.HasPrefix(a.Note, noteRebooked):
		text += ": compare the positions with `stockrewards audit --broker`"
	default:
		return ""
	}
	if a.Note != "" {
		text += "; " + a.Note
	}
	return text
}

// valuedLate says whether portfolios with the stock are valued while the broker is late: the price of new shares must
// be converted back.
func (a Action) valuedLate() string {
	r, err := a.UnitRatio()
	switch {
	case a.Type == ActionNameChange:
		return ""
	case err == nil && r.New > 0 && r.New != r.Old:
		return ", and valued in old shares"
	default:
		return "; a minute after the market opens portfolios with it answer 502"
	}
}

// lateBefore is how long before the opening of the ex-date an action without evidence is late: at 09:00 New York.
const lateBefore = 30 * time.Minute

func (a Action) late(now time.Time) bool {
	return !a.HoldFrom.IsZero() && a.Due(now) && !now.Before(a.ExDate.Open().Add(-lateBefore))
}
