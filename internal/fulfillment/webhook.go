package fulfillment

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// webhookWatch are the alarms of webhook endpoints, as last read.
type webhookWatch struct {
	next   time.Time // when they are read again
	alarms []rewards.Alarm
}

// watchWebhooks raises the alarms of endpoints that fail or that the service disabled.
func (w *Worker) watchWebhooks(ctx context.Context) error {
	const every = 10 * time.Second
	now := w.now()
	if !now.Before(w.webhooks.next) {
		endpoints, err := w.store.AllWebhookEndpoints(ctx)
		if err != nil {
			w.alarms.partial = true
			return err
		}
		w.webhooks = webhookWatch{next: now.Add(every)}
		for _, e := range endpoints {
			if alarm, raised := e.Alarm(now); raised {
				w.webhooks.alarms = append(w.webhooks.alarms, alarm)
			}
		}
	}
	for _, alarm := range w.webhooks.alarms {
		w.alarms.raise(alarm.Name, alarm.Message)
	}
	return nil
}
