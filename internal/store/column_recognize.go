package store

import (
	"context"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// keyLook finds rewards as keySearch.find, by one exchange: those whose keys are in memory, and those of sealed
// segments that probably have one of the keys. Of a block it takes what follows the first bytes like those of the hash,
// which nearly always is the entry. Where the block has the row of the reward, it reads that. So it may not find all.
type keyLook struct {
	inMemory []rewardKey

	// A column for each key in a sealed segment: its app, the part of its hash that an entry has, where its block may
	// be, and whether the rows of the block can be used.
	apps, parts       [][]byte
	first, last, rows []int64
}

// look returns the look for keys. It is nil unless a key is in memory, or many of them probably in sealed segments.
func (k *keySearch) look(sought []soughtKey) *keyLook {
	l, inSealed := new(keyLook), 0
	for i := range sought {
		s, before := &sought[i], len(l.apps)
		for _, id := range k.inMemory(s.hash) {
			l.inMemory = append(l.inMemory, rewardKey{s.app, rewards.RewardID(id)})
		}
		for _, number := range k.view.mayHave(s.hash) {
			if k.view.sealed(number) {
				l.add(s, number, k.view.rows[number])
			}
		}
		if len(l.apps) > before {
			inSealed++
		}
	}
	if len(l.inMemory) == 0 && !k.view.manyKnown(inSealed, len(sought)) {
		return nil
	}
	return l
}

// add adds a key that a sealed segment probably has.
func (l *keyLook) add(s *soughtKey, number, rows int64) {
	l.apps, l.parts = append(l.apps, s.app[:]), append(l.parts, segment.KeyPart(s.hash))
	l.first, l.last = append(l.first, segment.KeyPlace(number, 0)), append(l.last, segment.KeyPlace(number, s.hash))
	l.rows = append(l.rows, rows)
}

// manyKnown reports whether filters know more keys than new ones would explain: more than an eighth of all keys, and
// twice what filters of 16 bits know by mistake, which is one of 1,600 new keys for each segment.
func (v *segmentView) manyKnown(known, keys int) bool {
	return int64(known)*1600 > int64(keys)*(200+2*v.newest)
}

// looked are the rewards that a look finds.
const looked = `(
		SELECT *, NULL::tid FROM unnest(?1::bytea[], ?2::bytea[])
		UNION ALL
		SELECT k.app, substring(b.entries FROM b.at + octet_length(k.part) FOR 16),
			CASE k.rows WHEN 1 THEN nullif(b.rows[(b.at - 1) / 22 + 1], '(0,0)') END
		FROM unnest(?3::bytea[], ?4::bytea[], ?5::bigint[], ?6::bigint[], ?7::bigint[])
			AS k (app, part, first, last, rows)
		CROSS JOIN LATERAL (SELECT entries, rows, position(k.part IN entries) AS at FROM key_blocks
			WHERE place BETWEEN k.first AND k.last ORDER BY place DESC LIMIT 1) AS b
		WHERE b.at > 0
	) AS w (app, reward, row) CROSS JOIN LATERAL (
		SELECT * FROM (SELECT * FROM rewards WHERE ctid = w.row OFFSET 0) AS r WHERE r.app_id = w.app
		UNION ALL
		(SELECT * FROM rewards r WHERE w.row IS NULL AND r.app_id = w.app AND r.id = w.reward OFFSET 0)
	) AS rewards`

// read reads the rewards.
func (l *keyLook) read(ctx context.Context, tx Tx) (keyedRewards, error) {
	apps, ids := columnsOfKeys(l.inMemory)
	return readKeyed(ctx, tx, looked, apps, ids, l.apps, l.parts, l.first, l.last, l.rows)
}
