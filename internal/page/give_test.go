package page_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Submitting a form twice gives one reward, and each new form has a new key.
func TestFormGives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var places []string
	for range 2 {
		a := w.ask(t, http.MethodPost, "/", fields("symbol", " aapl ", "amount", "$5.25").Encode())
		if a.Code != http.StatusSeeOther {
			t.Fatalf("%d %s", a.Code, a.Body)
		}
		places = append(places, a.Header().Get("Location"))
	}
	list := w.all(t)
	if len(list) != 1 || places[0] != places[1] {
		t.Fatalf("%d rewards, %v", len(list), places)
	}
	type stored struct {
		UserID      rewards.UserID
		Amount      money.USD
		Symbol, Key string
		Source      string
	}
	got := stored{list[0].UserID, list[0].Amount, list[0].Symbol, list[0].IdempotencyKey, list[0].Source}
	if diff := cmp.Diff(stored{w.Users[0].ID, 5_250_000, "AAPL", "page-12345678", "page"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	html := w.get(t, places[0])
	wantWords(t, html, "Recorded: $5.25 of AAPL for user-0 .", "Portfolio of user-0")
	keys := map[string]bool{"page-12345678": true}
	for range 3 {
		key := regexp.MustCompile(`name="key" value="([^"]+)"`).FindStringSubmatch(w.get(t, "/"))[1]
		if keys[key] || len(key) < 20 {
			t.Errorf("the key %q is not new", key)
		}
		keys[key] = true
	}
}

func TestFormFindsAndCreatesUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const uuid = "01234567-89ab-4cde-8f01-23456789abcd"
	long := strings.Repeat("l", 308) + "@example.com"
	add := func(u rewards.User) rewards.User {
		u.AppID = w.App.ID
		made, err := w.CreateUser(t.Context(), u)
		check(t, err)
		return made
	}
	mail, named, far := add(rewards.User{Email: "maria@example.com"}), add(rewards.User{ExternalID: uuid}), add(rewards.User{Email: long})
	taken := add(rewards.User{ExternalID: w.Users[1].ID.String()})
	same := add(rewards.User{ExternalID: "maria@example.com"})
	for i, x := range []struct {
		name, shown string
		want        rewards.UserID // zero: a new user
	}{
		{"user-1", "", w.Users[1].ID},
		{w.Users[2].ID.String(), "", w.Users[2].ID},
		{"Maria@example.com", "", mail.ID},
		{"maria@example.com", "", same.ID},
		{"maria@example.com", mail.ID.String(), mail.ID}, // whom the page shows
		{"user-1", mail.ID.String(), w.Users[1].ID},      // another name than the page shows
		{"user-1", rewards.UserID{1}.String(), w.Users[1].ID},
		{"user-1", "x", w.Users[1].ID},
		{uuid, "", named.ID},
		{w.Users[1].ID.String(), "", taken.ID},
		{long, "", far.ID},
		{"somebody new", "", rewards.UserID{}},
		{rewards.UserID{1}.String(), "", rewards.UserID{}},
	} {
		a := w.ask(t, http.MethodPost, "/", fields("user", x.name, "shown", x.shown, "key", "page-0000"+string(rune('a'+i))).Encode())
		if a.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", x.name, a.Code, words(a.Body.String()))
		}
		got := w.all(t)[0].UserID
		if x.want.IsZero() {
			u, err := w.User(t.Context(), w.App.ID, got)
			if err != nil || u.ExternalID != x.name {
				t.Errorf("%s: %+v, %v", x.name, u, err)
			}
		} else if got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

// The form names the user that the page shows, also when another user's external id is that user's email.
func TestFormKeepsTheShownUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mail, err := w.CreateUser(t.Context(), rewards.User{AppID: w.App.ID, Email: "ada@example.com"})
	check(t, err)
	_, err = w.CreateUser(t.Context(), rewards.User{AppID: w.App.ID, ExternalID: "ada@example.com"})
	check(t, err)
	place := "/?user=" + mail.ID.String()
	for range 2 { // chosen by the URL, then the one who was given a reward
		f := url.Values{"amount": {"5"}, "symbol": {"AAPL"}}
		for _, name := range []string{"key", "user", "shown"} {
			f.Set(name, regexp.MustCompile(`name="` + name + `" value="([^"]+)"`).FindStringSubmatch(w.get(t, place))[1])
		}
		a := w.ask(t, http.MethodPost, "/", f.Encode())
		place = a.Header().Get("Location")
		if got := w.all(t)[0].UserID; a.Code != http.StatusSeeOther || got != mail.ID {
			t.Errorf("%d, for the user %s, want %s", a.Code, got, mail.ID)
		}
	}
	if n := len(w.all(t)); n != 2 {
		t.Errorf("%d rewards, want 2", n)
	}
}

// A form that is refused for its stock creates no user.
func TestFormOfAnUnknownStockCreatesNoUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	count := func() int {
		users, err := w.Store.Users(t.Context(), w.App.ID, rewards.UserFilter{}, rewards.Page[rewards.User]{Limit: 100})
		check(t, err)
		return len(users)
	}
	before := count()
	a := w.ask(t, http.MethodPost, "/", fields("user", "somebody new", "symbol", "APPL").Encode())
	wantWords(t, a.Body.String(), "Not given: the catalog has no stock with the symbol APPL; did you mean AAPL (Apple)?")
	if after := count(); a.Code != http.StatusUnprocessableEntity || after != before {
		t.Errorf("%d; %d users, then %d", a.Code, before, after)
	}
	if a := w.ask(t, http.MethodPost, "/", fields("user", "somebody new").Encode()); a.Code != http.StatusSeeOther || count() != before+1 {
		t.Errorf("%d; %d users, then %d", a.Code, before, count())
	}
}

// A refused form shows the problem and keeps its input.
func TestFormRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask(t, http.MethodPost, "/", fields("key", "page-used-up").Encode())
	for _, x := range []struct{ field, value, want string }{
		{"amount", "", "must be a number of dollars"},
		{"amount", "5,25", "must be a number of dollars"},
		{"amount", "0", "greater than 0"},
		{"amount", "-1", "greater than 0"},
		{"amount", "1000000.000001", "at most 1000000"},
		{"amount", "0.0000001", "less than a millionth"},
		{"symbol", "", "must be a symbol"},
		{"symbol", strings.Repeat("A", 17), "must be a symbol"},
		{"symbol", "NOPE", "the catalog has no stock with the symbol NOPE"},
		{"symbol", "appl", "the catalog has no stock with the symbol APPL; did you mean AAPL (Apple)?"},
		{"symbol", "apple", "did you mean AAPL (Apple)?"},
		{"user", "", "must have a name"},
		{"user", strings.Repeat("u", 129), "must have a name"},
		{"user", strings.Repeat("u", 321), "must have a name"},
		{"user", "a\x00b", "must have a name"},
		{"user", "a\xffb", "must have a name"},
		{"key", "another-prefix", "reload the page"},
		{"key", "page-" + strings.Repeat("k", 128), "reload the page"},
		{"key", "page-used-up", "already used with a different payload"},
	} {
		f := fields("amount", "7.5", x.field, x.value)
		a := w.ask(t, http.MethodPost, "/", f.Encode())
		if a.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s %q: %d", x.field, x.value, a.Code)
		}
		html := a.Body.String()
		wantWords(t, html, "Not given: ", x.want)
		if x.value == "NOPE" && strings.Contains(html, "did you mean") {
			t.Errorf("a stock is suggested for %s", x.value)
		}
		if x.field != "amount" && !strings.Contains(html, `name="amount" value="7.5"`) {
			t.Errorf("%s %q: the input is lost", x.field, x.value)
		}
		if x.field == "key" && strings.Contains(html, x.value) {
			t.Errorf("the key %q is still in the form", x.value)
		}
	}
	if n := len(w.all(t)); n != 1 {
		t.Errorf("%d rewards, want only the first", n)
	}
	huge := w.ask(t, http.MethodPost, "/", "user="+strings.Repeat("x", 1<<20))
	if huge.Code != http.StatusUnprocessableEntity {
		t.Errorf("a huge form: %d", huge.Code)
	}
}

// The form is refused what the app is refused.
func TestFormOfASuspendedApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.SetSuspended(t.Context(), "first", true)
	check(t, err)
	a := w.ask(t, http.MethodPost, "/", fields().Encode())
	wantWords(t, a.Body.String(), "Not given: the app is suspended")
	if n := len(w.all(t)); n != 0 {
		t.Errorf("%d rewards", n)
	}
}

// Another site cannot make a browser submit the form.
func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, headers := range map[string]url.Values{
		"cross-site":       {"Sec-Fetch-Site": {"cross-site"}},
		"same-site":        {"Sec-Fetch-Site": {"same-site"}},
		"an older browser": {"Origin": {"https://evil.example"}},
		"another port":     {"Origin": {"http://127.0.0.1:9999"}},
		"no origin":        {"Origin": {"null"}},
	} {
		a := w.ask(t, http.MethodPost, "/", fields().Encode(), func(r *http.Request) {
			for k, v := range headers {
				r.Header[k] = v
			}
		})
		if a.Code != http.StatusForbidden {
			t.Errorf("%s: %d", name, a.Code)
		}
	}
	if n := len(w.all(t)); n != 0 {
		t.Errorf("%d rewards", n)
	}
	a := w.ask(t, http.MethodPost, "/", fields().Encode(), func(r *http.Request) {
		r.Header.Set("Origin", "http://127.0.0.1:8080")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	})
	if a.Code != http.StatusSeeOther {
		t.Errorf("the page itself: %d", a.Code)
	}
}
