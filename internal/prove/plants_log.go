package prove

// logPlants is damage of the operator log.
func logPlants() []Plant {
	return []Plant{
		breaking("operator_log", "another actor", `UPDATE operator_log SET actor = 'bob' WHERE number = 2`),
		breaking("operator_log", "another command", `UPDATE operator_log SET command = 'x' WHERE number = 2`),
		breaking("operator_log", "another object", `UPDATE operator_log SET object = 'x' WHERE number = 2`),
		breaking("operator_log", "another time", `UPDATE operator_log SET at = at + 1 WHERE number = 2`),
		breaking("operator_log", "another state before", `UPDATE operator_log SET state_before = 'a="b"'
			WHERE number = 2`),
		breaking("operator_log", "another state",
			`UPDATE operator_log SET state_after = replace(state_after, 'no', 'yes') WHERE number = 1`),
		breaking("operator_log", "another hash", `UPDATE operator_log SET hash = zeroblob(33)
			WHERE number = (SELECT max(number) FROM operator_log)`),
		breaking("operator_log", "another hash before", `UPDATE operator_log SET previous = zeroblob(33)
			WHERE number = 2`),
		breaking("operator_log", "the first one gone", `DELETE FROM operator_log WHERE number = 1`),
		breaking("operator_log", "one gone", `DELETE FROM operator_log WHERE number = 3`),
		breaking("operator_log", "the newest one gone", `DELETE FROM operator_log
			WHERE number = (SELECT max(number) FROM operator_log)`),
		breaking("operator_log", "all gone", `DELETE FROM operator_log`),
		breaking("operator_log", "one more", `INSERT INTO operator_log SELECT number + 1, at, actor, command, object,
			state_before, state_after, reason, hash, hash FROM operator_log
			WHERE number = (SELECT max(number) FROM operator_log)`),
		breaking("operator_log", "another head", `UPDATE settings SET value = '9:00' WHERE name = 'log_head'`),
		breaking("operator_log", "no head", `DELETE FROM settings WHERE name = 'log_head'`),
	}
}

// sealPlants is damage of what identifies users and requests, all columns of it together.
func sealPlants() []Plant {
	return []Plant{
		breaking("fingerprint", "idempotency key", `UPDATE rewards SET idempotency_key = 'another-key'
			WHERE id = @cy-recorded`),
		breaking("fingerprint", "app", `UPDATE rewards SET app_id = @first WHERE id = @cy-recorded`),
		breaking("fingerprint", "the older version", `UPDATE rewards SET fingerprint =
			CAST(x'01' || substr(fingerprint, 2) AS BLOB) WHERE id = @cy-recorded`),
		breaking("user_seal", "email", `UPDATE users SET email = 'x', email_folded = 'x'
			WHERE id = @ann`),
		breaking("user_seal", "email's case", `UPDATE users SET email = upper(email) WHERE id = @ann`),
		breaking("user_seal", "external id", `UPDATE users SET external_id = 'x' WHERE id = @dee`),
		breaking("user_seal", "external id gone", `UPDATE users SET external_id = '' WHERE id = @bob`),
		breaking("user_seal", "no seal", `UPDATE users SET seal = x'' WHERE id = @bob`),
		breaking("user_seal", "another seal", `UPDATE users SET seal = zeroblob(17) WHERE id = @bob`),
	}
}

// decisionPlants is damage of what operators decide.
func decisionPlants() []Plant {
	return []Plant{
		breaking("operator_state", "no suspension any more", `UPDATE apps SET suspended = 0 WHERE id = @suspended`),
		breaking("operator_state", "suspended by hand", `UPDATE apps SET suspended = 1 WHERE id = @first`),
		breaking("operator_state", "a limit by hand", `UPDATE apps SET concurrent = 9 WHERE id = @first`),
		breaking("operator_state", "a limit taken away", `UPDATE apps SET requests_per_second = 0 WHERE id = @second`),
		breaking("operator_state", "an app renamed", `UPDATE apps SET name = 'x' WHERE id = @first`),
		breaking("operator_state", "an app made by hand",
			`UPDATE apps SET id = x'0195d0aabbcc7ddd8eee0123456789ab' WHERE id = @suspended`),
		breaking("operator_state", "an app gone", `DELETE FROM apps WHERE id = @suspended`),
		breaking("operator_state", "valid again", `UPDATE keys SET revoked_at = 0 WHERE id = @revoked-key`),
		breaking("operator_state", "no expiry any more", `UPDATE keys SET expires_at = 0 WHERE id = @expiring-key`),
		breaking("operator_state", "a longer life", `UPDATE keys SET expires_at = expires_at + 1
			WHERE id = @expiring-key`),
		breaking("operator_state", "another secret", `UPDATE keys SET hash = zeroblob(32) WHERE id = @first-key`),
		breaking("operator_state", "another app's key", `UPDATE keys SET app_id = @second WHERE id = @first-key`),
		breaking("operator_state", "another label", `UPDATE keys SET label = 'x' WHERE id = @first-key`),
		breaking("operator_state", "a key made by hand",
			`UPDATE keys SET id = x'0195d0aabbcc7ddd8eee0123456789ab' WHERE id = @first-key`),
		breaking("operator_state", "a key gone", `DELETE FROM keys WHERE id = @revoked-key`),
		breaking("operator_state", "giftable again", `UPDATE assets SET enabled = 1 WHERE symbol = 'XOM'`),
		breaking("operator_state", "disabled by hand", `UPDATE assets SET enabled = 0 WHERE symbol = 'AAPL'`),
		breaking("operator_state", "a stock gone", `DELETE FROM assets WHERE symbol = 'XOM'`),
		breaking("operator_state", "paused by hand", `UPDATE settings SET value = 'x' WHERE name = 'paused'`),
	}
}
