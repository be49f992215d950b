package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

const (
	maxWarnings = 50
	maxMessage  = 300                // bytes
	maxLeaders  = 5                  // changes of the leader in five minutes that need no look
	expiresSoon = 7 * 24 * time.Hour // the remaining life of a certificate
)

// warning is a problem for an operator. Its code is stable.
type warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// warnings are at most maxWarnings problems.
type warnings []warning

func (l *warnings) add(code, message string) {
	if len(*l) < maxWarnings {
		*l = append(*l, warning{rewards.Excerpt(code, maxMessage), rewards.Excerpt(message, maxMessage)})
	}
}

// addCount adds a problem that n things have, if any. The message begins with the number.
func (l *warnings) addCount(code string, n int, message string) {
	if n > 0 {
		l.add(code, fmt.Sprint(n, " ", message))
	}
}

// addSome adds a problem that has a message.
func (l *warnings) addSome(code, message string) {
	if message != "" {
		l.add(code, message)
	}
}

// byCode counts them by their codes, as labels of a metric.
func (l warnings) byCode() map[string]int {
	n := make(map[string]int)
	for _, w := range l {
		n[boundedKind(w.Code)]++
	}
	return n
}

// warnings lists the problems that do not stop recording.
func (a *Admin) warnings(ctx context.Context) warnings {
	list := warnings{}
	v, err := a.overview.within(ctx, readBriefly)
	if err != nil {
		list.add("books_not_readable", "the database cannot be read; other warnings may be missing or old")
	}
	list.addSome(rewards.AlarmPaused, v.Control.Paused)
	list.addCount(rewards.AlarmConflict, v.Control.Conflicts,
		"orders at the broker contradict the database; ordering is stopped")
	list.addCount("orders_quarantined", v.Live[rewards.OrderQuarantined],
		"orders are quarantined; their stocks are not ordered")
	a.addOfProcess(ctx, &list)
	a.addOfDatabase(ctx, &list)
	for _, alarm := range v.Alarms {
		code, message := alarm.Kind(), alarm.Message
		if of, found := strings.CutPrefix(alarm.Name, code+":"); found {
			message = of + ": " + message
		}
		if code != rewards.AlarmPaused && code != rewards.AlarmConflict { // added above
			list.add(code, message)
		}
	}
	return list
}

// addOfProcess adds the problems that this process knows without the database.
func (a *Admin) addOfProcess(ctx context.Context, list *warnings) {
	age, unusable := a.Market.PriceAge()
	list.addCount("prices_not_usable", unusable,
		"stocks have no usable price; the oldest price is "+age.Round(time.Second).String()+" old")
	if n := a.Worker.LeaderChanges(); n > maxLeaders {
		list.add("leader_changes", fmt.Sprintf("the leader of fulfillment has changed %d times in five minutes; "+
			"orders and bookings may be late", n))
	}
	if a.Certificate != nil {
		expires, verb := a.Certificate.NotAfter(ctx), "expires"
		if expires.Before(a.Now()) {
			verb = "expired"
		}
		if expires.Sub(a.Now()) < expiresSoon {
			list.add("certificate_expires",
				"the TLS certificate "+verb+" at "+expires.UTC().Format(time.RFC3339))
		}
	}
	if a.Webhooks != nil {
		list.addCount("webhook_key_missing", a.Webhooks.Count().Locked,
			"webhook endpoints get nothing: no key in the key file opens their secrets")
	}
}

// addOfDatabase adds the problems of the database server and of its disk.
func (a *Admin) addOfDatabase(ctx context.Context, list *warnings) {
	if damaged := a.Store.DamagedFilters(); len(damaged) > 0 {
		list.add("filters_damaged", fmt.Sprintf("check the disk, and run `stockrewards audit`: %d filters of keys "+
			"were damaged, the first time %s", len(damaged), damaged[0]))
	}
	if c, err := a.database.get(ctx); err == nil {
		list.addSome("weak_commits", c.weakness)
		list.addSome("space_held_back", c.heldBack)
		list.addSome("transaction_ids_low", c.idsLow)
	}
}
