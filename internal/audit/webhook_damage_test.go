package audit_test

// webhookDamages damage endpoints, deliveries and shards.
func webhookDamages() []damage {
	return []damage{
		{"webhooks", "a cursor beyond the newest event", `UPDATE webhook_endpoints SET cursor = cursor + 1`},
		{"webhooks", "an endpoint without a secret", `UPDATE webhook_endpoints SET secret = x''`},
		{"webhooks", "deliveries of an endpoint that does not exist", `DELETE FROM webhook_endpoints WHERE id = @endpoint`},
		{"webhooks", "a delivery of another app", `UPDATE webhook_deliveries SET app_id = @second WHERE sequence > 0`},
		{"webhooks", "a delivery of an event that does not exist", `UPDATE webhook_deliveries SET sequence = sequence + 1 WHERE sequence > 0`},
		{"webhooks", "a shard that nobody can take", `DELETE FROM webhook_shards WHERE number = 7`},
		{"webhooks", "a shard twice", `INSERT INTO webhook_shards (number, holder, epoch, until) SELECT number, holder, epoch, until
			FROM webhook_shards WHERE number = 63`},
		{"tenancy webhooks", "an endpoint of no app", `UPDATE webhook_endpoints SET app_id = x'00000000000070008000000000000000'`},
	}
}
