package audit_test

// eventDamages damage the log of events.
func eventDamages() []damage {
	return []damage{
		{"events", "no row of an order", `DELETE FROM events WHERE last = (SELECT min(last) FROM events WHERE types = 1)`},
		{"events", "no row of a failure", `DELETE FROM events WHERE last = (SELECT min(last) FROM events WHERE types = 2)`},
		{"events", "a row twice", `INSERT INTO events (app_id, last, types, subject, positions, at)
			SELECT app_id, last + 1000000, types, subject, positions, at FROM events WHERE types = 1`},
		{"events", "a reward that is open", `UPDATE events SET subject = @cy-recorded, positions = x''
			WHERE last = (SELECT min(last) FROM events WHERE types = 1)`},
		{"events", "the wrong type", `UPDATE events SET types = 2 WHERE types = 1`},
		{"events", "the wrong app", `UPDATE events SET app_id = x'00000000000070008000000000000000' WHERE types = 1`},
		{"events", "beyond the counter", `UPDATE event_counter SET last = last - 1`},
		{"events", "damaged positions", `UPDATE events SET positions = x'80' WHERE types = 1`},
	}
}
