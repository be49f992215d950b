package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"

	"stockrewards/internal/rewards"
)

// readiness is the body of /readyz.
type readiness struct {
	Status   string   `json:"status"` // "ready" or "notReady"
	Reason   *warning `json:"reason,omitempty"`
	Warnings warnings `json:"warnings"`
}

// readyz answers 200 while rewards can be recorded. Other problems are warnings in its
// body. It answers within about two seconds, whatever hangs: load balancers wait for five.
func (a *Admin) readyz(w http.ResponseWriter, r *http.Request) {
	list := make(chan warnings, 1)
	go func() { list <- a.warnings(r.Context()) }()
	reason := a.notReady(r.Context())
	body, status := readiness{Status: "ready", Reason: reason, Warnings: <-list}, http.StatusOK
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
