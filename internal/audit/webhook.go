package audit

import (
	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// webhookShards is the number of shards, which the schema creates.
const webhookShards = 64

// endpoint is a row of webhook_endpoints.
type endpoint struct {
	app, id    string
	cursor     int64
	secretSize int64
}

func (e *endpoint) name() string { return "webhook endpoint " + value.UUID(e.id) }

// delivery is a row of webhook_deliveries. The sequence of a test is negative.
type delivery struct {
	app, endpoint string
	sequence      int64
}

func (d *delivery) name() string {
	return "delivery " + value.Int(d.sequence) + " of webhook endpoint " + value.UUID(d.endpoint)
}

// webhooks checks the endpoints, their deliveries and the shards.
func (a *auditor) webhooks() error {
	newest := int64(0)
	if err := reader.Each(a.r, reader.Stream[int64]{
		What: "the newest event", Query: `SELECT last FROM event_counter`,
		Bind: func(last *int64) []any { return []any{last} },
	}, func(last *int64) { newest = *last }); err != nil {
		return err
	}
	endpoints, err := a.webhookEndpoints(newest)
	if err != nil {
		return err
	}
	if err := reader.Each(a.r, reader.Stream[delivery]{
		What: "deliveries", Query: `SELECT app_id, endpoint_id, sequence FROM webhook_deliveries`,
		Bind: func(d *delivery) []any { return []any{&d.app, &d.endpoint, &d.sequence} },
	}, func(d *delivery) {
		a.t.row(checkWebhooks)
		switch app, ok := endpoints[d.endpoint]; {
		case !ok || app != d.app:
			a.t.fail(checkWebhooks, d.name(), "no such endpoint of app "+value.UUID(d.app), "an endpoint that exists")
		case d.sequence > newest:
			a.t.fail(checkWebhooks, d.name(), "a later event than the newest", "at most "+value.Int(newest))
		}
	}); err != nil {
		return err
	}
	return a.webhookShards()
}

// webhookEndpoints returns the app of each endpoint.
func (a *auditor) webhookEndpoints(newest int64) (map[string]string, error) {
	found := make(map[string]string)
	return found, reader.Each(a.r, reader.Stream[endpoint]{
		What: "webhook endpoints", Query: `SELECT app_id, id, cursor, length(secret) FROM webhook_endpoints`,
		Bind: func(e *endpoint) []any { return []any{&e.app, &e.id, &e.cursor, &e.secretSize} },
	}, func(e *endpoint) {
		_, again := found[e.id]
		a.checkID(e.id, again, e)
		a.checkTenant(e.app, e)
		found[e.id] = e.app
		a.t.row(checkWebhooks)
		switch {
		case e.cursor < 0 || e.cursor > newest:
			a.t.fail(checkWebhooks, e.name(), "the cursor "+value.Int(e.cursor), "from 0 to "+value.Int(newest))
		case e.secretSize == 0:
			a.t.fail(checkWebhooks, e.name(), "no secret", "a sealed secret")
		}
	})
}

// webhookShards checks that each shard has one row.
func (a *auditor) webhookShards() error {
	rows := make(map[int64]int64)
	err := reader.Each(a.r, reader.Stream[int64]{
		What: "shards of webhooks", Query: `SELECT number FROM webhook_shards`,
		Bind: func(number *int64) []any { return []any{number} },
	}, func(number *int64) { rows[*number]++ })
	for number := range int64(webhookShards) {
		a.t.row(checkWebhooks)
		if rows[number] != 1 {
			a.t.fail(checkWebhooks, "shard "+value.Int(number)+" of webhooks", value.Int(rows[number])+" rows", "one")
		}
	}
	return err
}
