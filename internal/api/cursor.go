package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"stockrewards/internal/rewards"
)

// A cursor is the id of the last item on a page followed by a code, in unpadded
// base64url. The code binds it to this installation, the app, the list and its filters.
const (
	idBytes   = 16
	codeBytes = 12
)

// encodeCursor returns the cursor of the page after the item with the id.
func encodeCursor[T any](s *server, c call, q *query, last rewards.ID[T]) string {
	return base64.RawURLEncoding.EncodeToString(append(last[:], s.cursorCode(c, q, last[:])...))
}

// decodeCursor reads the id in a cursor. It reports false unless encodeCursor made the
// cursor for the same app, list and filters.
func decodeCursor[T any](s *server, c call, q *query, cursor string) (id rewards.ID[T], ok bool) {
	if strings.ContainsAny(cursor, "\r\n") { // which base64 ignores
		return id, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != idBytes+codeBytes || !hmac.Equal(raw[idBytes:], s.cursorCode(c, q, raw[:idBytes])) {
		return id, false
	}
	copy(id[:], raw)
	return id, true
}

func (s *server) cursorCode(c call, q *query, id []byte) []byte {
	mac := hmac.New(sha256.New, s.CursorKey)
	mac.Write(c.app[:])
	mac.Write(id)
	mac.Write([]byte(c.URL.Path + "?" + q.filters().Encode()))
	return mac.Sum(nil)[:codeBytes]
}
