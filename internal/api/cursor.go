package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
)

// A cursor is the place of the last item on a page, such as its id, followed by a code, in unpadded
// base64url. The code binds it to this installation, the app, the list and its filters.
const codeBytes = 12

// encodeCursor returns the cursor of the page after the item at the place.
func (s *server) encodeCursor(c call, q *query, last []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(slices.Clip(last), s.cursorCode(c, q, last)...))
}

// decodeCursor reads the place in a cursor. It reports false unless encodeCursor made the
// cursor for the same app, list and filters.
func (s *server) decodeCursor(c call, q *query, cursor string) (place []byte, ok bool) {
	if strings.ContainsAny(cursor, "\r\n") { // which base64 ignores
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= codeBytes {
		return nil, false
	}
	place, code := raw[:len(raw)-codeBytes], raw[len(raw)-codeBytes:]
	return place, hmac.Equal(code, s.cursorCode(c, q, place))
}

func (s *server) cursorCode(c call, q *query, place []byte) []byte {
	mac := hmac.New(sha256.New, s.CursorKey)
	mac.Write(c.app[:])
	mac.Write(place)
	mac.Write([]byte(strings.ToLower(c.URL.Path) + "?" + q.meant().Encode())) // ids are read in either case
	return mac.Sum(nil)[:codeBytes]
}
