package rewards

import "time"

// DeliveryStatus is the state of a Delivery.
type DeliveryStatus int

// The states of a delivery.
const (
	DeliveryPending   DeliveryStatus = iota + 1 // it will be tried
	DeliveryDelivered                           // the receiver accepted it
	DeliveryFailed                              // every retry failed, or a test was answered 410
)

// String returns the status as clients see it.
func (s DeliveryStatus) String() string {
	return [...]string{"", "pending", "delivered", "failed"}[s]
}

// ParseDeliveryStatus reads a status, or returns false for another string.
func ParseDeliveryStatus(text string) (DeliveryStatus, bool) {
	for s := DeliveryPending; s <= DeliveryFailed; s++ {
		if s.String() == text {
			return s, true
		}
	}
	return 0, false
}

// Delivery is one event for one endpoint: a failure, or one of the last that were delivered.
type Delivery struct {
	AppID      AppID
	EndpointID WebhookEndpointID
	Sequence   int64 // of the event; negative for a test, which is not in the feed
	EventID    EventID
	Type       string
	Number     int64 // the order in a list: microseconds when it was made, before the first attempt
	Status     DeliveryStatus
	Attempts   int
	StatusCode int    // of the last answer; 0: there was no answer
	Error      string // why the last attempt failed
	Answer     string // the beginning of the last answer's body, for operators
	TriedAt    time.Time
	NextAt     time.Time // while pending; zero: as soon as the endpoint is enabled
	Body       []byte    // what is sent, from the first attempt on; empty: not tried or delivered
}

// Test reports whether the delivery is a test.
func (d Delivery) Test() bool { return d.Sequence < 0 }

// Size returns the bytes of what has no fixed length.
func (d Delivery) Size() int { return len(d.Type) + len(d.Error) + len(d.Answer) + len(d.Body) }

// TypePing is the type of a test.
const TypePing = "test.ping"

// DeliveryPage selects a page of an endpoint's deliveries, newest first.
type DeliveryPage struct {
	Status DeliveryStatus // only these; 0: all
	Before DeliveryPlace  // only older ones; zero: from the newest
	Limit  int
}

// DeliveryPlace is a delivery's place in a list.
type DeliveryPlace struct{ Number, Sequence int64 }

// WebhookAnswer is the outcome of one attempt.
type WebhookAnswer struct {
	StatusCode int           // 0: there was no answer
	Error      string        // why the attempt failed; "" for a success
	Body       string        // the beginning of the answer's body
	RetryAfter time.Duration // what the receiver asks to wait; 0: nothing
}

// What receivers mean by the status of an answer (Standard Webhooks 1.0.0).
const (
	firstAccepted = 200
	lastAccepted  = 299
	statusGone    = 410
)

// Success reports whether the receiver accepted the event.
func (a WebhookAnswer) Success() bool {
	return a.StatusCode >= firstAccepted && a.StatusCode <= lastAccepted
}

// Gone reports whether the receiver wants no more events.
func (a WebhookAnswer) Gone() bool { return a.StatusCode == statusGone }

// RetrySchedule returns the pauses before each retry, unless an operator sets others.
func RetrySchedule() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
		14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
}

const (
	maxRetryAfter = 24 * time.Hour // of what a receiver may ask for
	jitterPart    = 10             // a retry is up to a tenth of its pause later
)

// After returns the delivery after an attempt that ended at the time at. random returns a number
// from 0 to n-1, and spreads the retries.
func (d Delivery) After(a WebhookAnswer, at time.Time, schedule []time.Duration, random func(n int64) int64) Delivery {
	d.Attempts++
	d.TriedAt, d.StatusCode, d.Error, d.Answer = at, a.StatusCode, a.Error, a.Body
	d.NextAt = time.Time{}
	switch {
	case a.Success():
		d.Status, d.Body, d.Answer = DeliveryDelivered, nil, ""
	case a.Gone() && !d.Test():
		d.Status = DeliveryPending // it comes again when the endpoint is enabled
	case a.Gone(), d.Attempts > len(schedule): // a test would be retried although the endpoint is disabled
		d.Status = DeliveryFailed
	default:
		pause := max(schedule[d.Attempts-1], min(a.RetryAfter, maxRetryAfter))
		d.Status, d.NextAt = DeliveryPending, at.Add(pause+time.Duration(random(int64(pause)/jitterPart+1)))
	}
	return d
}

// WebhookProgress is what was sent to an endpoint since it was stored last.
type WebhookProgress struct {
	Endpoint   WebhookEndpoint // with its cursor, and whether it fails; the rest is as it was read
	Shard      WebhookShard    // by whose right it was sent
	Deliveries []Delivery
	Trim       bool // delete the oldest of what was delivered
}

// Tests returns the deliveries of tests, which no cursor is about.
func (p WebhookProgress) Tests() (list []Delivery) {
	for _, d := range p.Deliveries {
		if d.Test() {
			list = append(list, d)
		}
	}
	return list
}

// Waiting returns the deliveries of events that wait for a retry.
func (p WebhookProgress) Waiting() (list []Delivery) {
	for _, d := range p.Deliveries {
		if d.Status == DeliveryPending && !d.Test() {
			list = append(list, d)
		}
	}
	return list
}

// Size returns the bytes of the deliveries that have no fixed length.
func (p WebhookProgress) Size() (bytes int) {
	for _, d := range p.Deliveries {
		bytes += d.Size()
	}
	return bytes
}

// WebhookCounts are numbers about endpoints.
type WebhookCounts struct {
	Enabled, Failing, Disabled int       // failing ones are enabled, and their last attempt failed
	Locked                     int       // that get nothing, because no key opens their secrets; not counted elsewhere
	Oldest                     time.Time // of the events that an enabled endpoint was not sent; zero: all were sent
}

// Add counts an endpoint. oldest is the time of the oldest event that it was not sent; zero: all were sent.
func (c *WebhookCounts) Add(e WebhookEndpoint, oldest time.Time) {
	switch {
	case e.Disabled != "":
		c.Disabled++
		return
	case e.FailingSince.IsZero():
		c.Enabled++
	default:
		c.Failing++
	}
	if !oldest.IsZero() && (c.Oldest.IsZero() || oldest.Before(c.Oldest)) {
		c.Oldest = oldest
	}
}
