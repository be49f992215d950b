package wire

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/broker/paper/books"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/broker/paper/random"
	"stockrewards/internal/money"
)

// notice is an announcement as the market data API lists it, or as a fault falsifies it.
type notice struct {
	id, kind, processDate string
	announcement
}

// notices returns what is listed of an action at a time: nothing, one announcement, or two by
// a fault.
func notices(a *books.Action, now time.Time) ([]notice, error) {
	if a.State == books.ActionWithdrawn {
		return nil, nil
	}
	if late, struck := a.Suffers(faults.LateAnnouncement); struck {
		from := a.PostedAt.Add(late.By)
		if late.By == 0 {
			from = a.HappensAt.Add(time.Hour)
		}
		if now.Before(from) {
			return nil, nil
		}
	}
	n, err := announced(a, now)
	if err != nil {
		return nil, err
	}
	list := []notice{{a.ID, a.Type, a.ProcessDate, n}}
	if second, struck := a.Suffers(faults.DuplicateAnnouncement); struck {
		list = append(list, list[0].repeated(second.By))
	}
	return list, nil
}

// announced returns the announcement of an action, with the rates that a fault gives it.
func announced(a *books.Action, now time.Time) (n announcement, err error) {
	if err := json.Unmarshal([]byte(a.Body), &n); err != nil {
		return nil, err
	}
	if _, struck := a.Suffers(faults.WrongRatio); struck {
		n.falsify()
	}
	if revised, struck := a.Suffers(faults.Revised); struck && !now.Before(a.HappensAt.Add(revised.By)) {
		n.falsify()
	}
	if _, struck := a.Suffers(faults.ReversedRatio); struck {
		if from, to, paired := n.ratio(); paired {
			n[from], n[to] = n[to], n[from]
		}
	}
	return n, nil
}

// ratio returns the names of the members with the ratio of shares, and false for none.
func (n announcement) ratio() (from, to string, paired bool) {
	for _, pair := range [][2]string{
		{memberOldRate, memberNewRate}, {memberSourceRate, memberNewRate}, {memberAcquireeRate, memberAcquirerRate},
	} {
		if n[pair[0]] != nil && n[pair[1]] != nil {
			return pair[0], pair[1], true
		}
	}
	return "", "", false
}

// falsify doubles a rate: the larger one of a ratio, or the only one.
func (n announcement) falsify() {
	name := memberRate
	if from, to, paired := n.ratio(); paired {
		if name = to; n.rate(from) > n.rate(to) {
			name = from
		}
	}
	n[name] = jsontext.Value(money.Shares(2 * n.rate(name)).String()) //nolint:mnd // double
}

// repeated returns the notice under another id, with all dates later by a duration.
func (n notice) repeated(by time.Duration) notice {
	second := notice{random.UUID("duplicate of " + n.id), n.kind, "", make(announcement, len(n.announcement))}
	for name, value := range n.announcement {
		if day, err := time.Parse(time.DateOnly, n.str(name)); err == nil && strings.HasSuffix(name, "date") {
			value = quoted(day.Add(by).Format(time.DateOnly))
		}
		second.announcement[name] = value
	}
	second.announcement["id"] = quoted(second.id)
	second.processDate = second.str(memberProcess)
	return second
}
