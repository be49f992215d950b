package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"stockrewards/internal/rewards"
)

// readiness is the body of /readyz.
type readiness struct {
	Status   string    `json:"status"` // "ready" or "notReady"
	Reason   *warning  `json:"reason,omitempty"`
	Warnings []warning `json:"warnings"`
}

// warning is a problem for an operator. Its code is stable.
type warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

const (
	maxWarnings = 50
	maxMessage  = 300                // bytes
	maxLeaders  = 5                  // changes of the leader in five minutes that need no look
	expiresSoon = 7 * 24 * time.Hour // the remaining life of a certificate
)

// readyz answers 200 while rewards can be recorded. Other problems are warnings in its
// body. It answers within about two seconds, whatever hangs: load balancers wait for five.
func (a *Admin) readyz(w http.ResponseWriter, r *http.Request) {
	warnings := make(chan []warning, 1)
	go func() { warnings <- a.warnings(r.Context()) }()
	reason := a.notReady(r.Context())
	body, status := readiness{Status: "ready", Reason: reason, Warnings: <-warnings}, http.StatusOK
	if body.Reason != nil {
		body.Status, status = "notReady", http.StatusServiceUnavailable
	}
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, "cannot encode the answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have disconnected
}

// notReady is why rewards cannot be recorded; nil when they can.
func (a *Admin) notReady(ctx context.Context) *warning {
	if a.draining.Load() {
		return &warning{"draining", "the process is stopping"}
	}
	_, err := a.writes.get(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errSlow):
		return &warning{"books_slow", "a write to the database takes longer than " + writeTimeout.String()}
	}
	code, message := "books_not_writable", "the database cannot be written"
	if errors.Is(err, rewards.ErrClockAhead) {
		code = rewards.Alarm{Name: rewards.AlarmClockAhead}.Kind()
	}
	if e, ok := errors.AsType[*rewards.Error](err); ok {
		message = e.Message // the cause is in the log
	}
	return &warning{code, message}
}

// warnings lists the problems that do not stop recording.
func (a *Admin) warnings(ctx context.Context) []warning {
	list := []warning{}
	add := func(code, message string) {
		if len(list) < maxWarnings {
			list = append(list, warning{rewards.Excerpt(code, maxMessage), rewards.Excerpt(message, maxMessage)})
		}
	}
	v, err := a.overview.within(ctx, readBriefly)
	if err != nil {
		add("books_not_readable", "the database cannot be read; other warnings may be missing or old")
	}
	if v.Control.Paused != "" {
		add(rewards.AlarmPaused, v.Control.Paused)
	}
	if n := v.Control.Conflicts; n > 0 {
		add(rewards.AlarmConflict,
			fmt.Sprintf("%d orders at the broker contradict the database; ordering is stopped", n))
	}
	if n := v.Live[rewards.OrderQuarantined]; n > 0 {
		add("orders_quarantined", fmt.Sprintf("%d orders are quarantined; their stocks are not ordered", n))
	}
	if age, unusable := a.Market.PriceAge(); unusable > 0 {
		add("prices_not_usable", fmt.Sprintf("%d stocks have no usable price; the oldest price is %s old",
			unusable, age.Round(time.Second)))
	}
	if n := a.Worker.LeaderChanges(); n > maxLeaders {
		add("leader_changes", fmt.Sprintf("the leader of fulfillment has changed %d times in five minutes; "+
			"orders and bookings may be late", n))
	}
	if a.Certificate != nil {
		if expires := a.Certificate.NotAfter(ctx); expires.Sub(a.Now()) < expiresSoon {
			verb := "expires"
			if expires.Before(a.Now()) {
				verb = "expired"
			}
			add("certificate_expires", "the TLS certificate "+verb+" at "+expires.UTC().Format(time.RFC3339))
		}
	}
	if a.Webhooks != nil {
		if n := a.Webhooks.Count().Locked; n > 0 {
			add("webhook_key_missing",
				fmt.Sprintf("%d webhook endpoints get nothing: no key in the key file opens their secrets", n))
		}
	}
	if damaged := a.Store.DamagedFilters(); len(damaged) > 0 {
		add("filters_damaged", fmt.Sprintf("check the disk, and run `stockrewards audit`: %d filters of keys were "+
			"damaged, the first time %s", len(damaged), damaged[0]))
	}
	if c, err := a.database.get(ctx); err == nil {
		if c.weakness != "" {
			add("weak_commits", c.weakness)
		}
		if c.heldBack != "" {
			add("space_held_back", c.heldBack)
		}
		if c.idsLow != "" {
			add("transaction_ids_low", c.idsLow)
		}
	}
	for _, alarm := range v.Alarms {
		if code := alarm.Kind(); code != rewards.AlarmPaused && code != rewards.AlarmConflict { // added above
			add(code, strings.TrimPrefix(alarm.Name, code+":")+": "+alarm.Message)
		}
	}
	return list
}
