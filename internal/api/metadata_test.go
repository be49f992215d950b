package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Specification, section 2.2; decisions, awards: metadata comes back as sent, without
// white space. Numbers keep every digit, strings every escape, members their order.
func TestMetadataIsUnchanged(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	for given, want := range map[string]string{
		"": `{}`, `null`: `{}`, `{}`: `{}`, ` { } `: `{}`, `{"a":{}}`: ``, `{"a":null}`: ``, `{"a":[]}`: ``,
		`{"n":[1e400,0.10,9007199254740993,-0,0,1E+2,1e-999,0.0,123456789012345678901234567890.0123456789]}`:              ``,
		`{"s":["\u0000","\u0041","\/","/","\ud83d\ude00","😀","é","\u00e9","\u00E9","e\u0301","\b\f\n\r\t\"\\","\u2028"]}`: ``,
		`{"z":1,"a":2,"m":{"y":1,"b":2},"":0,"Z":3}`:                                                                      ``,
		"{ \"a\" :\t[ 1 ,\r\n 2 ] , \"b c\" : \" d  e \" }":                                                               `{"a":[1,2],"b c":" d  e "}`,
		`{"userId":"x","status":"failed","amountUsd":7}`:                                                                  ``,
		`{"\u006eame":1,"__proto__":{"x":1},"$ref":"#","a.b":1,"a/b":2,"😀":3,"\ud83d\ude01":4}`:                           ``,
		`{"a":[true,false,null,[[[]]],{"b":{"c":{}}}]}`:                                                                   ``,
		`{"html":"<b>&'</b>","sql":"'; --","format":"%s%d%n","path":"..\\..\/"}`:                                          ``,
		"{\"raw\":\"\u2028\u2029\u007f\ufeff\uffff\U0010ffff\"}":                                                          ``,
	} {
		if want == "" {
			want = given
		}
		body := award(user, "metadata", given)
		first := c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusCreated)
		again := c.post(t, "/v1/rewards", body).wantStatus(t, http.StatusOK)
		read := c.get(t, "/v1/rewards/"+first.text(t, "reward", "id"))
		got := []string{first.raw(t, "reward", "metadata"), again.raw(t, "reward", "metadata"), read.raw(t, "reward", "metadata")}
		if diff := cmp.Diff([]string{want, want, want}, got); diff != "" {
			t.Errorf("%s comes back as (-want +got):\n%s", given, diff)
		}
		list := c.get(t, "/v1/rewards?limit=1").wantStatus(t, http.StatusOK)
		if !strings.Contains(string(list.body), `"metadata":`+want+`,`) {
			t.Errorf("%s is listed as %s", given, list.body)
		}
	}
}

// Decisions, awards: at most 16,384 bytes without white space.
func TestSizeOfMetadata(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	const most = 16384
	sized := func(n int, fill string) string {
		const frame = len(`{"k":""}`)
		return `{"k":"` + strings.Repeat(fill, (n-frame)/len(fill)) + strings.Repeat("x", (n-frame)%len(fill)) + `"}`
	}
	for _, fill := range []string{"x", "é", "😀", `\n`, `\u0041`} { // bytes as written, not characters
		exact := sized(most, fill)
		a := c.post(t, "/v1/rewards", award(user, "metadata", exact)).wantStatus(t, http.StatusCreated)
		if got := a.raw(t, "reward", "metadata"); len(got) != most || got != exact {
			t.Errorf("%d bytes came back as %d", len(exact), len(got))
		}
		c.post(t, "/v1/rewards", award(user, "metadata", sized(most+1, fill))).wantIssues(t, "metadata")
	}
	spaced := strings.Replace(sized(most, "x"), ":", strings.Repeat(" ", 30_000)+":\n\t", 1)
	c.post(t, "/v1/rewards", award(user, "metadata", spaced)).wantStatus(t, http.StatusCreated)
	within := sized(most, " ") // white space in a string counts
	c.post(t, "/v1/rewards", award(user, "metadata", within)).wantStatus(t, http.StatusCreated)
	c.post(t, "/v1/rewards", award(user, "metadata", sized(most+1, " "))).wantIssues(t, "metadata")

	c.post(t, "/v1/rewards", award(user, "unknown", sized(40_000, "x"))).wantStatus(t, http.StatusCreated)
}
