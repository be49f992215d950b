package fulfillment

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// How often the broker's account is compared with the account that the store belongs to.
const (
	accountEvery = 30 * time.Second
	accountRetry = 5 * time.Second // after another account, or none, was reported
	accountWait  = 3 * time.Second // for the broker's answer, while the last one counts
	// accountPatience is how long to wait for an answer without which nothing is ordered.
	accountPatience = 10 * time.Second
)

// account is what the worker knows of the broker's account.
type account struct {
	epoch   int64     // of the lease under which it was compared
	rightAt time.Time // when it was last the right one; zero: not under this lease
	nextAt  time.Time // when it is compared again
	alarm   string    // why nothing is ordered; "" when it may be
	message string
}

// checkAccount compares the broker's account when it is due: first when this process begins to
// lead, then every 30 seconds. It reports whether orders may be sent and polled. In another
// account our orders would not be found.
func (w *Worker) checkAccount(ctx context.Context) (bool, error) {
	if w.account.epoch != w.lease.Epoch {
		w.account = account{epoch: w.lease.Epoch}
	}
	var err error
	if wait := w.account.nextAt.Sub(w.now()); wait <= 0 || wait > accountEvery {
		err = w.compareAccount(ctx)
	}
	if w.account.alarm == "" {
		return true, err
	}
	w.alarms.raise(w.account.alarm, w.account.message)
	return false, err
}

func (w *Worker) compareAccount(ctx context.Context) error {
	pinned, err := w.store.PinnedAccount(ctx)
	if err != nil {
		return err
	}
	var reported rewards.BrokerAccount
	if pinned != "" {
		patience := accountPatience
		unanswered := rewards.JudgeAccount(pinned, "", w.account.rightAt, w.now().Add(accountWait))
		if unanswered == rewards.AccountRight {
			patience = accountWait
		}
		calling, cancel := context.WithTimeout(ctx, patience)
		reported, err = ask(calling, w, w.broker.Account)
		cancel()
	}
	now := w.now()
	w.account.alarm, w.account.message, w.account.nextAt = "", "", now.Add(accountRetry)
	switch rewards.JudgeAccount(pinned, reported.ID, w.account.rightAt, now) {
	case rewards.AccountOther:
		w.account.alarm, w.account.message = rewards.AlarmAccountDiffers, rewards.OtherAccount(pinned, reported.ID)
	case rewards.AccountUnknown:
		w.account.alarm, w.account.message = rewards.AlarmAccountUnknown, "nothing is ordered or booked: "+err.Error()
	case rewards.AccountRight:
		if err == nil {
			w.account.rightAt, w.account.nextAt = now, now.Add(accountEvery)
		}
	}
	return err
}

// keepAlarms raises again the alarms of what a step without a known account does not look at.
func (w *Worker) keepAlarms(ctx context.Context, live []rewards.Order) error {
	for _, o := range live {
		w.alarms.raiseOrder(o, w.now())
	}
	control, err := w.store.Control(ctx)
	if err == nil {
		w.raiseControl(control)
	}
	return err
}
