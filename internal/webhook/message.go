package webhook

import (
	"cmp"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// message returns a body of Standard Webhooks. data is JSON.
func message(eventType string, at time.Time, data []byte) []byte {
	b := append([]byte(`{"type":"`), eventType...)
	b = append(b, `","timestamp":"`...)
	b = at.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, `","data":`...)
	return append(append(b, data...), '}')
}

// testMessage returns the body of a test.
func testMessage(d rewards.Delivery) []byte { return message(d.Type, d.EventID.Time(), []byte("{}")) }

// newestDelivered returns deliveries without the delivered ones that an endpoint would not keep. One that may be in the
// store already, as pending or failed, stays.
func newestDelivered(saving map[int64]outcome) (list []rewards.Delivery) {
	var delivered []rewards.Delivery
	for _, o := range saving {
		if o.Status == rewards.DeliveryDelivered && o.fresh {
			delivered = append(delivered, o.Delivery)
		} else {
			list = append(list, o.Delivery)
		}
	}
	slices.SortFunc(delivered, func(a, b rewards.Delivery) int {
		return cmp.Or(b.TriedAt.Compare(a.TriedAt), cmp.Compare(b.Sequence, a.Sequence))
	})
	return append(list, delivered[:min(len(delivered), rewards.KeptDeliveries)]...)
}
