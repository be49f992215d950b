package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Specification, sections 4.5 and 8; decisions, awards: lengths count Unicode code
// points, not bytes or UTF-16 units.
func TestLengthsInRewards(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for _, letter := range []string{"x", "é", "€", "😀", "e\u0301"[1:], " "} {
		for _, run := range []struct {
			member string
			length int
			status int
		}{
			{"idempotencyKey", 7, 400},
			{"idempotencyKey", 8, 201},
			{"idempotencyKey", 128, 201},
			{"idempotencyKey", 129, 400},
			{"source", 1, 201},
			{"source", 64, 201},
			{"source", 65, 400},
			{"assetSymbol", 1, 422},
			{"assetSymbol", 16, 422},
			{"assetSymbol", 17, 400},
		} {
			text := strings.Repeat(letter, run.length)
			a := c.post(t, "/v1/rewards", award(user, run.member, quote(text))).wantStatus(t, run.status)
			switch run.status {
			case http.StatusBadRequest:
				a.wantIssues(t, run.member)
			case http.StatusCreated:
				a.want(t, text, "reward", run.member)
			default:
				a.want(t, object{"assetSymbol": strings.ReplaceAll(text, "x", "X")}, "error", "details")
			}
		}
	}
}

// Decisions, users: 1 to 128 characters of an external id, at most 320 of an email.
func TestLengthsInUsers(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for _, letter := range []string{"x", "é", "😀"} {
		for length, status := range map[int]int{1: 201, 128: 201, 129: 400} {
			a := c.post(t, "/v1/users", body("externalId", quote(strings.Repeat(letter, length)))).wantStatus(t, status)
			if status == http.StatusBadRequest {
				a.wantIssues(t, "externalId")
			}
		}
		const domain = "@example.com"
		for length, status := range map[int]int{319: 201, 320: 201, 321: 400} {
			email := strings.Repeat(letter, length-len(domain)) + domain
			a := c.post(t, "/v1/users", body("email", quote(email))).wantStatus(t, status)
			if status == http.StatusBadRequest {
				a.wantIssues(t, "email")
			}
		}
	}
}

// Decisions, users: a NUL character anywhere in a string is 400.
func TestNULInStrings(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for _, text := range []string{`"\u0000AAPL12345"`, `"AAPL\u000012345"`, `"AAPL12345\u0000"`} {
		for _, member := range []string{"idempotencyKey", "assetSymbol", "source"} {
			c.post(t, "/v1/rewards", award(user, member, text)).wantIssues(t, member)
		}
		c.post(t, "/v1/users", body("externalId", text)).wantIssues(t, "externalId")
		email := strings.Replace(text, "12345", "@example.com", 1)
		c.post(t, "/v1/users", body("email", email)).wantIssues(t, "email")
	}
	for _, value := range []string{"%00", "a%00b", "a%00b@example.com", "%ff", "a%C3", "%ED%A0%80"} { // nor invalid UTF-8
		c.get(t, "/v1/users?email="+value).wantIssues(t, "email")
		c.get(t, "/v1/users?externalId="+value).wantIssues(t, "externalId")
	}
}

// Strings come back unchanged: nothing is trimmed, folded or normalized.
func TestStringsAreUnchanged(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for _, text := range []string{
		`  padded  `, `"quoted" \ back`, "<script>&amp;</script>", "tab\tline\nreturn\r", "\u0001\u001f\u007f", "日本語", "😀👍🏽",
		"\u2028\u2029", "\ufeffbom", "e\u0301 \u00e9", "\u202eright to left", "NULL", "'; DROP TABLE rewards; --", "%00%s%d",
		"\ufffd\uffff\U0010ffff", "{\"a\":1}", "null", "ﬀıſİ", strings.Repeat("é", 60),
	} {
		key := text + unique("-text")
		a := c.post(t, "/v1/rewards", award(user, "source", quote(text), "idempotencyKey", quote(key)))
		a.wantStatus(t, http.StatusCreated).want(t, text, "reward", "source").want(t, key, "reward", "idempotencyKey")
		c.get(t, "/v1/rewards/"+a.text(t, "reward", "id")).want(t, text, "reward", "source").want(t, key, "reward", "idempotencyKey")
		c.post(t, "/v1/rewards", award(user, "idempotencyKey", quote(key))).
			wantError(t, http.StatusConflict, "conflict", object{"idempotencyKey": key})
		external := text + unique("-user")
		u := c.post(t, "/v1/users", body("externalId", quote(external))).wantStatus(t, http.StatusCreated)
		c.get(t, "/v1/users/"+u.text(t, "user", "id")).want(t, external, "user", "externalId")
		if !json.Valid(u.body) {
			t.Errorf("invalid JSON: %s", u.body)
		}
	}
}

// Specification, section 4.5: the symbol is normalized to upper case. Decisions: only
// ASCII letters are, and nothing is trimmed. Every symbol of the catalog can be awarded.
func TestSymbols(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for given, want := range map[string]string{
		"AAPL": "AAPL", "aapl": "AAPL", "aApL": "AAPL", "brk.b": "BRK.B", "BRK.b": "BRK.B", "ko": "KO", "NVDA": "NVDA", "ÄÖ": "ÄÖ",
	} {
		a := c.post(t, "/v1/rewards", award(user, "assetSymbol", quote(given))).wantStatus(t, http.StatusCreated)
		a.want(t, want, "reward", "assetSymbol")
		c.get(t, "/v1/rewards/"+a.text(t, "reward", "id")).want(t, want, "reward", "assetSymbol")
	}
	for given, details := range map[string]string{
		"ZZZZ": "ZZZZ", "zzzz": "ZZZZ", " AAPL": " AAPL", "AAPL ": "AAPL ", "aapl\n": "AAPL\n", "AAP": "AAP", "AAPLX": "AAPLX",
		"BRK-B": "BRK-B", "BRK/B": "BRK/B", "$aapl": "$AAPL", "äö": "äö", "%": "%", "A%L": "A%L", "_APL": "_APL", "ＡＡＰＬ": "ＡＡＰＬ",
		"AAPL\u200b": "AAPL\u200b", "ſ": "ſ",
	} {
		c.post(t, "/v1/rewards", award(user, "assetSymbol", quote(given))).
			wantError(t, http.StatusUnprocessableEntity, "unprocessable_entity", object{"assetSymbol": details})
	}
}

// Decisions, requests in general: UUIDs are accepted in either case and only in the
// 36-character form. They are written in lower case.
func TestFormsOfIDs(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	reward := c.give(t, user)
	upper := strings.ToUpper(user)
	mixed := user[:18] + upper[18:]
	for _, form := range []string{user, upper, mixed} {
		c.get(t, "/v1/users/"+form).wantStatus(t, http.StatusOK).want(t, user, "user", "id")
		c.get(t, "/v1/users/"+form+"/portfolio").wantStatus(t, http.StatusOK)
		c.get(t, "/v1/rewards?userId="+form).wantStatus(t, http.StatusOK).want(t, reward, "rewards", 0, "id")
		c.post(t, "/v1/rewards", award(form)).wantStatus(t, http.StatusCreated).want(t, user, "reward", "userId")
		reward = c.get(t, "/v1/rewards?limit=1").text(t, "rewards", 0, "id")
	}
	c.get(t, "/v1/rewards/"+strings.ToUpper(reward)).wantStatus(t, http.StatusOK).want(t, reward, "reward", "id")
	bare := strings.ReplaceAll(user, "-", "")
	for _, form := range []string{
		"x", "0", "null", "undefined", "me", bare, "{" + user + "}", "urn:uuid:" + user, user[:35], user + "0", user + "00", user + user, " " + user[1:],
		strings.Replace(user, "-", "_", 1), "g" + user[1:], user[:8] + user[9:] + "0", bare[:4] + "-" + bare[4:] + "000",
		user[:8] + "--" + user[10:], "(" + user[1:], user[:35] + "é"[:1], "０" + user[3:], user[1:] + "-", strings.Repeat("-", 36),
	} {
		path := escape(form)
		c.get(t, "/v1/users/"+path).wantIssues(t, "userId")
		c.get(t, "/v1/users/"+path+"/portfolio").wantIssues(t, "userId")
		c.get(t, "/v1/rewards/"+path).wantIssues(t, "rewardId")
		c.get(t, "/v1/rewards?userId="+path).wantIssues(t, "userId")
		if json.Valid([]byte(quote(form))) && strings.ToValidUTF8(form, "") == form {
			c.post(t, "/v1/rewards", award(form)).wantIssues(t, "userId")
		}
	}
	c.get(t, "/v1/rewards?userId=").wantIssues(t, "userId")
	if diff := cmp.Diff("7", user[14:15]); diff != "" { // version 7
		t.Errorf("%s (-want +got):\n%s", user, diff)
	}
}

// escape percent-encodes every byte of a path segment.
func escape(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		b.WriteString("%" + string(digits[s[i]>>4]) + string(digits[s[i]&15]))
	}
	return b.String()
}
