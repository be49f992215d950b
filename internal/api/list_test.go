package api_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// ids returns the ids on a page of a list, in its order.
func (c client) ids(t *testing.T, target, list string) []string {
	t.Helper()
	return c.get(t, target).wantStatus(t, http.StatusOK).ids(t, list)
}

func (a answer) ids(t *testing.T, list string) []string {
	t.Helper()
	items, ok := a.at(t, list).([]any)
	if !ok {
		t.Fatalf("no list: %s", a.body)
	}
	ids := make([]string, len(items))
	for i, item := range items {
		o, _ := item.(object)
		ids[i], _ = o["id"].(string)
	}
	return ids
}

// next returns the target of the Link header, resolved as RFC 8288 requires, or "".
func (a answer) next(t *testing.T) string {
	t.Helper()
	link := a.header.Get("Link")
	if link == "" {
		return ""
	}
	target, found := strings.CutSuffix(link, `>; rel="next"`)
	if !found || target[0] != '<' || len(a.header.Values("Link")) != 1 {
		t.Fatalf("Link is %q", a.header.Values("Link"))
	}
	base, err := url.Parse(a.request.target)
	check(t, err)
	resolved, err := base.Parse(target[1:])
	check(t, err)
	if resolved.Query().Get("cursor") == "" {
		t.Fatalf("Link has no cursor: %q", link)
	}
	return resolved.RequestURI()
}

// walk follows a list to its end and returns all ids. It calls between after each page.
func (c client) walk(t *testing.T, target, list string, between func()) []string {
	t.Helper()
	var all []string
	for pages := 0; target != ""; pages++ {
		if pages > 100 {
			t.Fatal("the list has no end")
		}
		a := c.get(t, target).wantStatus(t, http.StatusOK)
		all = append(all, a.ids(t, list)...)
		target = a.next(t)
		between()
	}
	return all
}

// Specification, sections 4.7 and 8; decisions, lists: limit is 1 to 200, default
// 100. Anything else is 400, never clamped.
func TestLimits(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	rewardIDs := c.giveMany(t, c.newUser(t), 201)
	userIDs := c.ids(t, "/v1/users", "users")
	userIDs = append(c.newUsers(t, 200), userIDs...)
	for list, all := range map[string][]string{"rewards": rewardIDs, "users": userIDs} {
		target := "/v1/" + list
		for query, want := range map[string]int{
			"": 100, "?limit=1": 1, "?limit=99": 99, "?limit=200": 200, "?unknown=1&limit=2": 2,
		} {
			a := c.get(t, target+query).wantStatus(t, http.StatusOK)
			got := a.ids(t, list)
			if len(got) != want || a.next(t) == "" {
				t.Errorf("%s%s: %d items and Link %q, want %d and one", target, query, len(got), a.header.Get("Link"), want)
			}
			if diff := cmp.Diff(all[:want], got); diff != "" {
				t.Errorf("%s%s (-want +got):\n%s", target, query, diff)
			}
		}
		for _, value := range []string{
			"0", "201", "-1", "+1", "%2B1", "1.0", "1e1", "", "%20", "%201", "1%20", "abc", "0x10", "1,000", "ten", "null", "true",
			"99999999999999999999", "18446744073709551617", "4294967297", "-0", "00", "%D9%A1", "%EF%BC%91", "NaN", "1;2", "%00",
		} {
			if value == "1;2" {
				c.get(t, target+"?limit="+value).wantStatus(t, http.StatusBadRequest)
				continue
			}
			c.get(t, target+"?limit="+value).wantIssues(t, "limit")
		}
		c.get(t, target+"?limit=1&limit=1").wantIssues(t, "limit")
		c.get(t, target+"?limit=%zz").wantIssues(t, "")
	}
	for list, all := range map[string][]string{"rewards?limit=200": rewardIDs, "users?limit=67": userIDs} {
		name, _, _ := strings.Cut(list, "?")
		if diff := cmp.Diff(all, c.walk(t, "/v1/"+list, name, func() {})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", list, diff)
		}
	}
}

// The page with the last item has no Link. The limit may change between pages, and a
// cursor may be used again.
func TestEndOfLists(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for _, list := range []string{"rewards", "users"} {
		a := c.get(t, "/v1/"+list).wantStatus(t, http.StatusOK)
		a.want(t, object{list: []any{}})
		if link := a.next(t); link != "" {
			t.Errorf("an empty list leads to %s", link)
		}
	}
	user := c.newUser(t)
	ids := c.giveMany(t, user, 4)
	for limit, pages := range map[string]int{"1": 4, "2": 2, "3": 2, "4": 1, "5": 1} {
		count := 0
		got := c.walk(t, "/v1/rewards?limit="+limit, "rewards", func() { count++ })
		if diff := cmp.Diff(ids, got); diff != "" || count != pages {
			t.Errorf("limit %s: %d pages, want %d (-want +got):\n%s", limit, count, pages, diff)
		}
	}
	cursor := c.cursor(t, "/v1/rewards?limit=2")
	for _, query := range []string{"limit=200&", "limit=200&", ""} {
		if diff := cmp.Diff(ids[2:], c.ids(t, "/v1/rewards?"+query+"cursor="+cursor, "rewards")); diff != "" {
			t.Errorf("%scursor (-want +got):\n%s", query, diff)
		}
	}
}

// Decisions, lists: following Link reaches every item exactly once, newest first, even
// while new ones arrive.
func TestListsWhileNewItemsArrive(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	user := c.newUser(t)
	ids := c.giveMany(t, user, 11)
	got := c.walk(t, "/v1/rewards?limit=3", "rewards", func() { c.giveMany(t, user, 2) })
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("rewards (-want +got):\n%s", diff)
	}
	got = c.walk(t, "/v1/rewards?limit=4&status=recorded&userId="+user, "rewards", func() { c.giveMany(t, user, 2) })
	if len(got) != 19 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 19 {
		t.Errorf("%d rewards, want 19 different ones: %v", len(got), got)
	}
	users := append(c.newUsers(t, 7), user)
	got = c.walk(t, "/v1/users?limit=2", "users", func() { c.newUsers(t, 1) })
	if diff := cmp.Diff(users, got); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
	w.clock.advance(-time.Hour) // setting the clock back does not change the order
	late := c.newUser(t)
	if first := c.ids(t, "/v1/users?limit=1", "users"); first[0] != late {
		t.Errorf("the newest user is %s, want %s", first[0], late)
	}
}

func (c client) cursor(t *testing.T, target string) string {
	t.Helper()
	next := c.get(t, target).wantStatus(t, http.StatusOK).next(t)
	parsed, err := url.Parse(next)
	if err != nil || parsed.Query().Get("cursor") == "" {
		t.Fatalf("%s leads to %q: %v", target, next, err)
	}
	return parsed.Query().Get("cursor")
}

// alphabet lists the characters of a cursor by value.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Decisions, lists: a cursor is valid only for the app, the list and the filters that it
// was issued for.
func TestInvalidCursors(t *testing.T) {
	t.Parallel()
	c, other := newApp(t), newApp(t)
	user, second := c.newUser(t), c.newUser(t)
	ids := c.giveMany(t, user, 3)
	other.giveMany(t, other.newUser(t), 3)
	plain := c.cursor(t, "/v1/rewards?limit=1")
	byUser := c.cursor(t, "/v1/rewards?limit=1&userId="+user)
	byStatus := c.cursor(t, "/v1/rewards?limit=1&status=recorded")
	users := c.cursor(t, "/v1/users?limit=1")
	foreign := other.cursor(t, "/v1/rewards?limit=1")
	tampered := []byte(plain)
	tampered[3] ^= 1
	respelled := plain[:len(plain)-1] + string(alphabet[strings.IndexByte(alphabet, plain[len(plain)-1])^1]) // decodes to the same bytes
	for _, target := range []string{
		"/v1/rewards?cursor=" + users, "/v1/users?cursor=" + plain, "/v1/rewards?cursor=" + foreign,
		"/v1/rewards?userId=" + user + "&cursor=" + plain, "/v1/rewards?cursor=" + byUser,
		"/v1/rewards?userId=" + second + "&cursor=" + byUser, "/v1/rewards?cursor=" + byStatus,
		"/v1/rewards?status=executed&cursor=" + byStatus, "/v1/rewards?status=recorded&cursor=" + plain,
		"/v1/rewards?userId=" + user + "&status=recorded&cursor=" + byUser, "/v1/users?email=a@example.com&cursor=" + users,
		"/v1/rewards?cursor=" + url.QueryEscape(string(tampered)), "/v1/rewards?cursor=" + respelled, "/v1/rewards?cursor=" + plain[:len(plain)-1],
		"/v1/rewards?cursor=" + plain + "A", "/v1/rewards?cursor=" + plain + "%3D", "/v1/rewards?cursor=%20" + plain,
		"/v1/rewards?cursor=" + strings.ToLower(plain), "/v1/rewards?cursor=" + ids[0], "/v1/rewards?cursor=1",
		"/v1/rewards?cursor=", "/v1/users?cursor=", "/v1/rewards?cursor=%00", "/v1/rewards?cursor=next",
		"/v1/rewards?cursor=" + strings.Repeat("A", 38), "/v1/rewards?cursor=" + strings.Repeat("A", 4000),
		"/v1/rewards?cursor=" + plain + "&cursor=" + plain,
		"/v1/rewards?cursor=" + plain + "%0A", "/v1/rewards?cursor=%0D" + plain, "/v1/rewards?cursor=" + plain[:9] + "%0D%0A" + plain[9:],
	} {
		c.get(t, target).wantIssues(t, "cursor")
	}
	other.get(t, "/v1/rewards?cursor="+plain).wantIssues(t, "cursor")
	c.get(t, "/v1/rewards?cursor="+plain+"&unknown=1").wantStatus(t, http.StatusOK)
	c.get(t, "/v1/rewards?userId="+strings.ToUpper(user)+"&cursor="+byUser).wantStatus(t, http.StatusOK) // ids are read in either case
}

// Specification, section 4.7: the filters, alone and together.
func TestFiltersOfRewards(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	users := []string{c.newUser(t), c.newUser(t)}
	want := make(map[string][]string) // by query
	for range 2 {
		for _, user := range users {
			for _, status := range []rewards.Status{rewards.Recorded, rewards.Executing, rewards.Executed, rewards.Failed} {
				id := c.give(t, user)
				c.setStatus(t, id, status, c.world.clock.now())
				for _, query := range []string{
					"", "userId=" + user, "status=" + status.String(), "userId=" + user + "&status=" + status.String(),
					"status=" + status.String() + "&userId=" + strings.ToUpper(user),
				} {
					want[query] = append([]string{id}, want[query]...)
				}
			}
		}
	}
	for query, ids := range want {
		if diff := cmp.Diff(ids, c.walk(t, "/v1/rewards?limit=3&"+query, "rewards", func() {})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	for _, status := range []string{"", "Recorded", "RECORDED", "done", "recorded,executed", "%20recorded", "1", "null", "unknown"} {
		c.get(t, "/v1/rewards?status="+status).wantIssues(t, "status")
	}
	c.get(t, "/v1/rewards?status=recorded&status=executed").wantIssues(t, "status")
	c.get(t, "/v1/rewards?userId="+users[0]+"&userId="+users[1]).wantIssues(t, "userId")
	c.get(t, "/v1/rewards?limit=0&status=x&userId=y&cursor=z").wantIssues(t, "limit", "status", "userId", "cursor")
	lonely := c.newUser(t)
	c.get(t, "/v1/rewards?userId="+lonely).wantStatus(t, http.StatusOK).want(t, object{"rewards": []any{}})
}

// Additions, section 8: the filters by idempotency key and by time, exclusive, combined with the
// others and followed by cursors.
func TestMoreFiltersOfRewards(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	other := w.newApp(t)
	users := []string{c.newUser(t), c.newUser(t)}
	var ids, keys, times []string // oldest first
	for i := range 6 {
		w.clock.advance(time.Hour)
		key := unique("filter+&ä")
		id := c.give(t, users[i%2], "idempotencyKey", quote(key))
		if i == 3 {
			c.setStatus(t, id, rewards.Failed, w.clock.now())
		}
		ids, keys = append(ids, id), append(keys, key)
		times = append(times, c.get(t, "/v1/rewards/"+id).text(t, "reward", "createdAt"))
	}
	shift := func(moment string, by time.Duration, form string) string {
		return url.QueryEscape(wantTime(t, moment).Add(by).In(time.FixedZone("", -4*3600)).Format(form))
	}
	for query, want := range map[string][]int{
		"createdAfter=" + times[3]: {5, 4}, "createdBefore=" + times[2]: {1, 0},
		"createdAfter=" + times[0] + "&createdBefore=" + times[5]:                                 {4, 3, 2, 1},
		"createdAfter=" + times[0] + "&createdBefore=" + times[5] + "&userId=" + users[1]:         {3, 1},
		"createdAfter=" + times[0] + "&userId=" + users[1] + "&status=recorded":                   {5, 1},
		"createdAfter=" + times[0] + "&status=failed":                                             {3},
		"createdAfter=" + times[5]:                                                                nil,
		"createdBefore=" + times[0]:                                                               nil,
		"createdAfter=" + times[3] + "&createdBefore=" + times[3]:                                 nil,
		"createdAfter=" + shift(times[3], -time.Nanosecond, time.RFC3339Nano):                     {5, 4, 3},
		"createdAfter=" + shift(times[3], time.Nanosecond, time.RFC3339Nano):                      {5, 4},
		"createdBefore=" + shift(times[2], time.Nanosecond, time.RFC3339Nano):                     {2, 1, 0},
		"createdBefore=" + shift(times[2], -time.Nanosecond, time.RFC3339Nano):                    {1, 0},
		"createdBefore=" + strings.TrimSuffix(times[2], "Z") + "0000000000001Z":                   {2, 1, 0},
		"createdBefore=" + strings.TrimSuffix(times[2], "Z") + "0000000000000Z":                   {1, 0},
		"createdAfter=" + strings.TrimSuffix(times[3], "Z") + "9999999999999Z":                    {5, 4},
		"createdAfter=0001-01-01T00:00:00Z":                                                       {5, 4, 3, 2, 1, 0},
		"createdBefore=0001-01-01T00:00:00Z":                                                      nil,
		"createdBefore=1970-01-01T00:00:00Z":                                                      nil,
		"createdBefore=9999-12-31T23:59:59Z":                                                      {5, 4, 3, 2, 1, 0},
		"createdAfter=9999-12-31T23:59:59Z":                                                       nil,
		"createdAfter=1970-01-01T00:00:00-23:59":                                                  {5, 4, 3, 2, 1, 0},
		"createdBefore=1970-01-01T23:59:59.5%2B23:59":                                             nil,
		"idempotencyKey=" + url.QueryEscape(keys[2]):                                              {2},
		"idempotencyKey=" + url.QueryEscape(keys[2]) + "&userId=" + users[0] + "&status=recorded": {2},
		"idempotencyKey=" + url.QueryEscape(keys[2]) + "&userId=" + users[1]:                      nil,
		"idempotencyKey=" + url.QueryEscape(keys[3]) + "&status=recorded":                         nil,
		"idempotencyKey=" + url.QueryEscape(keys[3]) + "&status=failed&createdAfter=" + times[2]:  {3},
		"idempotencyKey=" + url.QueryEscape(keys[3]) + "&createdAfter=" + times[3]:                nil,
		"idempotencyKey=" + url.QueryEscape(keys[3]) + "&createdBefore=" + times[3]:               nil,
		"idempotencyKey=" + url.QueryEscape(strings.ToUpper(keys[2])):                             nil,
		"idempotencyKey=nobody-has-it":                                                            nil,
	} {
		list := []string{}
		for _, i := range want {
			list = append(list, ids[i])
		}
		for _, limit := range []string{"1", "2", "200"} {
			got := append([]string{}, c.walk(t, "/v1/rewards?limit="+limit+"&"+query, "rewards", func() {})...)
			if diff := cmp.Diff(list, got); diff != "" {
				t.Errorf("%s, limit %s (-want +got):\n%s", query, limit, diff)
			}
		}
		if foreign := other.ids(t, "/v1/rewards?"+query, "rewards"); len(foreign) > 0 {
			t.Errorf("%s lists %v of another app", query, foreign)
		}
	}
}

// Additions, section 8: what is not well formed is 400, and a cursor is of one set of filters.
func TestMalformedFiltersOfRewards(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	c.giveMany(t, c.newUser(t), 3)
	for _, name := range []string{"createdAfter", "createdBefore"} {
		for _, value := range []string{
			"", "2026-09-21", "2026-09-21T14:30:00", "2026-09-21T14:30:00+00:00", "2026-09-21%2014:30:00Z", "1790000000", "now",
			"2026-02-30T00:00:00Z", "2026-9-21T00:00:00Z", "2026-09-21T24:00:00Z", "2026-09-21T14:30:00,5Z", "2026-09-21T1:30:00Z", "2026-09-21t14:30:00z",
			"2026-09-21T14:30:00.Z", "2026-09-21T14:30:00Z%00", "2026-09-21T14:30:00%2B25:00",
			"2026-09-21T14:30:00%2B24:00", "2026-09-21T14:30:00-24:00", "2026-09-21T14:30:00%2B23:60", "2026-09-21T14:30:00-00:60", "%202026-09-21T14:30:00Z", "null",
		} {
			c.get(t, "/v1/rewards?"+name+"="+value).wantIssues(t, name)
		}
		const moment = "=2026-09-21T14:30:00Z"
		c.get(t, "/v1/rewards?"+name+moment+"&"+name+moment).wantIssues(t, name)
	}
	for _, key := range []string{"", "1234567", strings.Repeat("x", 129), "with%00nul", "bytes%ff%ff%ff%ff"} {
		c.get(t, "/v1/rewards?idempotencyKey="+key).wantIssues(t, "idempotencyKey")
	}
	c.get(t, "/v1/rewards?idempotencyKey=12345678&idempotencyKey=12345678").wantIssues(t, "idempotencyKey")
	c.get(t, "/v1/rewards?idempotencyKey="+url.QueryEscape(strings.Repeat("ä", 128))).wantStatus(t, http.StatusOK)
	c.get(t, "/v1/rewards?createdAfter=x&createdBefore=y&idempotencyKey=z").wantIssues(t, "createdAfter", "createdBefore", "idempotencyKey")
	cursor := c.cursor(t, "/v1/rewards?limit=1&createdAfter=2000-01-01T00:00:00Z")
	for _, query := range []string{"", "createdAfter=2000-01-01T00:00:01Z&", "createdBefore=2000-01-01T00:00:00Z&", "idempotencyKey=12345678&"} {
		c.get(t, "/v1/rewards?"+query+"cursor="+cursor).wantIssues(t, "cursor")
	}
}
