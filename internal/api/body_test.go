package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// Decisions, requests in general: an issue about the whole body is a 400 with the
// path "". Each body has a single error.
func TestInvalidBodies(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	const placeholder = "PLACEHOLDER"
	for target, valid := range map[string]func(changes ...string) string{
		"/v1/rewards": func(changes ...string) string { return award(user, changes...) },
		"/v1/users": func(changes ...string) string {
			return body(append([]string{"externalId", quote(unique("x"))}, changes...)...)
		},
	} {
		whole := valid()
		inside := strings.TrimSuffix(strings.TrimPrefix(whole, "{"), "}")
		bodies := map[string]string{
			"empty": "", "white space": " \n", "null": "null", "a list": "[" + whole + "]", "a string": `"x"`, "a number": "1",
			"true": "true", "unclosed": "{" + inside, "unopened": inside + "}", "twice": whole + whole, "a tail": whole + "x",
			"a NUL after it": whole + "\x00", "a second value": whole + " null", "an extra closing bracket": whole + "}",
			"a comma at the end": "{" + inside + ",}", "a comma at the beginning": "{," + inside + "}",
			"single quotes": strings.ReplaceAll(whole, `"`, `'`), "a comment": "{/* x */" + inside + "}",
			"a line comment": whole + "// x", "byte order mark": "\xef\xbb\xbf" + whole, "UTF-16": "\xff\xfe{\x00}\x00",
			"no quotes": "{x:1," + inside + "}", "no colon": `{"x" 1,` + inside + "}", "no value": `{"x":,` + inside + "}",
			"not a JSON space": "{\u00a0" + inside + "}", "form feed": "{\f" + inside + "}",
		}
		for name, value := range map[string]string{
			"leading zero": "01", "plus": "+1", "hexadecimal": "0x1", "point without digits": "1.", "no digit before": ".5",
			"NaN": "NaN", "infinity": "Infinity", "exponent without digits": "1e", "minus alone": "-", "True": "True",
			"undefined": "undefined", "control character": "\"\x01\"", "raw line feed": "\"a\nb\"", "raw NUL": "\"\x00\"",
			"bad escape": `"\x"`, "short escape": `"\u12"`, "unclosed string": `"abc`, "invalid byte": "\"\xff\"",
			"overlong": "\"\xc0\xaf\"", "surrogate in UTF-8": "\"\xed\xa0\x80\"", "cut UTF-8": "\"\xe2\x82\"",
			"beyond Unicode": "\"\xf4\x90\x80\x80\"", "invalid byte in a name": "{\"\xff\":1}",
			"high surrogate": `"\ud800"`, "low surrogate": `"\udc00"`, "reversed pair": `"\udc00\ud800"`,
			"two high": `"\ud800\ud800"`, "surrogate and letter": `"\ud83dx"`, "surrogate in a name": `{"\ud800":1}`,
			"twice in an object": `{"a":1,"a":1}`, "twice by an escape": `{"a":1,"\u0061":2}`,
			"twice deep inside": `[{"b":[{"c":{"a":1,"b":2,"a":3}}]}]`, "empty name twice": `{"":1,"":2}`,
			"twice by a pair": `{"😀":1,"\ud83d\ude00":2}`, "mixed brackets": `[}`,
		} {
			bodies["unknown member: "+name] = `{"unknown":` + value + "," + inside + "}"
			if target == "/v1/rewards" {
				bodies["metadata: "+name] = strings.Replace(valid("metadata", placeholder), placeholder, `{"m":`+value+"}", 1)
			}
		}
		first, _, _ := strings.Cut(inside, ":")
		bodies["a member twice"] = "{" + inside + "," + first + ":null}"
		bodies["a member twice by an escape"] = "{" + inside + `,"\u00` + "6" + string("0123456789abcdef"[first[1]&15]) + first[2:] + ":1}"
		if first[1] > 'o' {
			bodies["a member twice by an escape"] = "{" + inside + `,"\u007` + string("0123456789abcdef"[first[1]&15]) + first[2:] + ":1}"
		}
		bodies["an unknown member twice"] = "{" + inside + `,"z":1,"z":1}`
		for name, body := range bodies {
			t.Run(target+" "+name, func(t *testing.T) {
				t.Parallel()
				c.post(t, target, body).wantIssues(t, "")
			})
		}
		c.post(t, target, whole).wantStatus(t, http.StatusCreated)
	}
}

// Decisions: nesting deeper than 64 levels is 400; the body itself is level 1.
func TestDepthOfBodies(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	c.post(t, "/v1/rewards", award(user, "unknown", nested(63))).wantStatus(t, http.StatusCreated)
	c.post(t, "/v1/rewards", award(user, "unknown", nested(64))).wantIssues(t, "")
	c.post(t, "/v1/rewards", award(user, "metadata", objects(63))).wantStatus(t, http.StatusCreated)
	c.post(t, "/v1/rewards", award(user, "metadata", objects(64))).wantIssues(t, "")
	c.post(t, "/v1/rewards", award(user, "metadata", `{"a":`+nested(62)+`,"b":`+nested(62)+"}")).wantStatus(t, http.StatusCreated)
	c.post(t, "/v1/rewards", award(user, "metadata", `{"a":`+nested(63)+"}")).wantIssues(t, "")
	c.post(t, "/v1/users", `{"externalId":"deep","x":`+nested(63)+"}").wantStatus(t, http.StatusCreated)
	c.post(t, "/v1/users", `{"externalId":"deeper","x":`+nested(64)+"}").wantIssues(t, "")
	c.post(t, "/v1/users", nested(30000)).wantIssues(t, "")
	for _, quoted := range []string{
		quote(strings.Repeat("[", 100)), quote(strings.Repeat(`"{`, 100)), quote(strings.Repeat(`\[`, 100)), `"\\\"[[["`,
	} { // brackets in strings do not count
		body := award(user, "metadata", `{"s":`+quoted+`,"t":`+quoted+"}", "unknown", quoted)
		c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusCreated)
	}
}

// Decisions: unknown members are ignored, and an explicit null for an optional
// member counts as absent.
func TestUnusualBodies(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for name, body := range map[string]string{
		"unknown members": award(user, "unknown", `{"deep":[1,null,{"x":"y"}]}`, "appId", quote(unknownID), "status", `"executed"`),
		"another case":    award(user, "UserId", `7`, "SOURCE", `7`, "Metadata", `7`),
		"nulls":           award(user, "source", "null", "metadata", "null", "unknown", "null"),
		"white space":     " \t\r\n" + strings.ReplaceAll(award(user), ",", " ,\n\t") + "\r\n ",
		"escaped names":   strings.Replace(award(user), `"amountUsd"`, `"\u0061mount\u0055sd"`, 1),
		"escaped string":  award(user, "assetSymbol", `"\u0041APL"`),
		"pairs":           award(user, "source", `"\ud83d\ude00😀"`, "unknown", `"\ud83d\ude00"`),
		"special letters": award(user, "source", "\"\u2028\u2029\u007f\ufeff\uffff\"", "unknown", `"\/\b\f\n\r\t\"\\"`),
		"same name apart": award(user, "metadata", `{"a":{"a":[{"a":1},{"a":1}]},"A":1,"\u00e1":2,"a\u0301":3}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusCreated).want(t, c.app.ID.String(), "reward", "appId")
		})
	}
	c.post(t, "/v1/users", `{"email":null,"externalId":"by-null","id":"`+unknownID+`","appId":1}`).
		wantStatus(t, http.StatusCreated).want(t, nil, "user", "email").want(t, c.app.ID.String(), "user", "appId")
	c.post(t, "/v1/users", `{"\u0065mail":"escaped@example.com"}`).
		wantStatus(t, http.StatusCreated).want(t, "escaped@example.com", "user", "email")
}

// Specification, section 4.5, rule 4: details list the issues; decisions: every issue
// of a request at once, each with the path of its member.
func TestIssuesOfRewards(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for _, member := range []string{"userId", "idempotencyKey", "amountUsd", "assetSymbol"} {
		c.post(t, "/v1/rewards", award(user, member, "")).wantIssues(t, member)
		c.post(t, "/v1/rewards", award(user, member, "null")).wantIssues(t, member)
	}
	wrong := map[string][]string{
		"userId":         {`7`, `true`, `[]`, `{}`, `""`, `"x"`},
		"idempotencyKey": {`12345678`, `true`, `["12345678"]`, `{}`, `""`},
		"amountUsd":      {`"10"`, `true`, `[10]`, `{}`, `""`},
		"assetSymbol":    {`7`, `true`, `["AAPL"]`, `{}`, `""`},
		"source":         {`7`, `false`, `["x"]`, `{}`, `""`},
		"metadata":       {`7`, `false`, `[{}]`, `"{}"`, `""`},
	}
	all := []string{"userId", "idempotencyKey", "amountUsd", "assetSymbol", "source", "metadata"}
	for i := range 5 {
		var changes []string
		for _, member := range all {
			value := wrong[member][i]
			changes = append(changes, member, value)
			c.post(t, "/v1/rewards", award(user, member, value)).wantIssues(t, member)
		}
		c.post(t, "/v1/rewards", award(user, changes...)).wantIssues(t, all...)
	}
	c.post(t, "/v1/rewards", `{}`).wantIssues(t, all[:4]...)
	c.post(t, "/v1/rewards", award(user, "userId", "", "source", `""`)).wantIssues(t, "userId", "source")
}

// An issue names the type of the value received.
func TestIssuesNameTheType(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for _, test := range []struct{ member, value, want string }{
		{"amountUsd", `"10"`, "must be a number, not a string"},
		{"amountUsd", `[10]`, "must be a number, not a list"},
		{"assetSymbol", `7`, "must be a string, not a number"},
		{"userId", `{}`, "must be a string, not an object"},
		{"metadata", `false`, "must be an object, not false"},
	} {
		c.post(t, "/v1/rewards", award(user, test.member, test.value)).
			want(t, []any{object{"path": test.member, "message": test.want}}, "error", "details")
	}
}

func TestIssuesOfUsers(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for _, body := range []string{`{}`, `{"email":null}`, `{"externalId":null,"email":null}`, `{"Email":"a@example.com"}`} {
		c.post(t, "/v1/users", body).wantIssues(t, "")
	}
	for _, value := range []string{`7`, `true`, `[]`, `{}`, `""`, `"\u0000"`} {
		c.post(t, "/v1/users", `{"email":`+value+`}`).wantIssues(t, "email")
		c.post(t, "/v1/users", `{"externalId":`+value+`}`).wantIssues(t, "externalId")
		c.post(t, "/v1/users", `{"externalId":`+value+`,"email":`+value+`}`).wantIssues(t, "email", "externalId")
		c.post(t, "/v1/users", `{"externalId":"x","email":`+value+`}`).wantIssues(t, "email")
	}
}

// The error names the reason and the member, as far as they are known.
func TestUnsoundBodiesSayWhy(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for body, want := range map[string]string{
		"":                                    "the body is empty; it must be a JSON object",
		" ":                                   "the body is empty; it must be a JSON object",
		"[]":                                  "the body must be a JSON object",
		`{"externalId":"a` + "\\" + `ud83d"}`: "not valid JSON at byte 16, in /externalId: half of a surrogate pair in a string",
		"{\"externalId\":\"\xff\"}":           "not valid JSON at byte 15, in /externalId: a string is not UTF-8",
		`{"externalId":"a`:                    "not valid JSON at byte 16, in /externalId: it ends too early",
		`{"externalId":"a","externalId":1}`:   "a member name occurs twice at byte 18, in /externalId",
		`{"externalId":a}`:                    "not valid JSON at byte 14, in /externalId",
	} {
		c.send(t, request{method: http.MethodPost, target: "/v1/users", body: body}).
			wantError(t, http.StatusBadRequest, "bad_request", []any{map[string]any{"path": "", "message": want}})
	}
}

// A request that cannot be read gets a reason in plain words.
func TestUnreadableRequestsSayWhy(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for head, want := range map[string]string{
		"GET /v1/users HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 2<<20) + "\r\n\r\n": "the headers are too large",
		"GET /v1/users/%zz HTTP/1.1\r\nHost: x\r\n\r\n":                                           "the address, a header or the end of a line cannot be read",
		"POST /v1/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n":                   "the only transfer encoding that is supported is chunked",
		"GET /v1/users HTTP/9.1\r\nHost: x\r\n\r\n":                                               "unsupported protocol version",
		"GET /v1/users HTTP/1.1\r\n\r\n":                                                          "missing required Host header",
	} {
		if got := string(rawBytes(t, c, head)); !strings.Contains(got, `"message":"`+want+`"`) {
			t.Errorf("%.60q: %s", head, got)
		}
	}
}
