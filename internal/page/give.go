package page

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// form holds the fields of the form, and the problem with them.
type form struct {
	Key, User, Amount, Symbol string

	Shown   string // the id of the user whose name the page wrote into the form
	Problem string
}

const (
	keyPrefix = "page-"
	source    = "page" // of the form's rewards
	maxForm   = 16 << 10
)

// newForm returns an empty form with a fresh idempotency key, so that submitting it twice
// gives one reward.
func (v *view) newForm() form {
	f := form{Key: newKey(), Amount: "5.25", Symbol: "AAPL"}
	var shown user
	switch {
	case v.Given != nil:
		shown, f.Amount, f.Symbol = v.Given.User, v.Given.Amount.String(), v.Given.Symbol
	case !v.Portfolio.User.ID.IsZero():
		shown = v.Portfolio.User
	case len(v.Users) > 0:
		shown = v.Users[0]
	default:
		return f
	}
	f.User, f.Shown = shown.Name(), shown.ID.String()
	return f
}

// newKey returns the key of a new form.
func newKey() string { return keyPrefix + rand.Text() }

// validKey reports whether a key may be of a form.
func validKey(key string) bool {
	return strings.HasPrefix(key, keyPrefix) && len(key) <= rewards.MaxIdempotencyKey && readable(key)
}

// give gives a reward for the app, through the same use case as the API.
func (h *handler) give(w http.ResponseWriter, r *http.Request) {
	var f form
	err := r.ParseForm()
	if err != nil {
		err = refusal("cannot read the form")
	} else {
		f = form{
			Key: r.PostForm.Get("key"), User: strings.TrimSpace(r.PostForm.Get("user")), Shown: r.PostForm.Get("shown"),
			Amount: strings.TrimSpace(r.PostForm.Get("amount")), Symbol: strings.TrimSpace(r.PostForm.Get("symbol")),
		}
	}
	var stored rewards.Reward
	if err == nil {
		stored, err = h.record(r.Context(), f)
	}
	if err != nil {
		h.refuse(w, r, f, err)
		return
	}
	target := url.URL{Path: "/", RawQuery: url.Values{
		"user": {stored.UserID.String()}, "given": {stored.ID.String()},
	}.Encode()}
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}

func refusal(message string) error {
	return &rewards.Error{Code: rewards.CodeUnprocessable, Message: message}
}

func incomplete() error { return refusal("the form is incomplete: reload the page") }

// record checks the form and gives the reward.
func (h *handler) record(ctx context.Context, f form) (stored rewards.Reward, err error) {
	if _, _, err := h.Service.Authenticate(ctx, h.Key); err != nil {
		return stored, err
	}
	if !validKey(f.Key) {
		return stored, incomplete()
	}
	r := rewards.NewReward{
		AppID: h.App, IdempotencyKey: f.Key, Symbol: rewards.UpperSymbol(f.Symbol), Source: source,
	}
	if r.Amount, err = amount(f.Amount); err != nil {
		return stored, err
	}
	if !readable(r.Symbol) || r.Symbol == "" || utf8.RuneCountInString(r.Symbol) > rewards.MaxSymbol {
		return stored, refusal("the stock must be a symbol, like AAPL")
	}
	u, err := h.user(ctx, f)
	if err == nil && u.ID.IsZero() {
		u, err = h.newUser(ctx, f.User, r.Symbol)
	}
	if err != nil {
		return stored, err
	}
	r.UserID = u.ID
	r.Fingerprint = rewards.NewFingerprint(r, "")
	stored, _, err = h.Service.Award(ctx, r)
	return stored, err
}

// readable reports whether text can be stored.
func readable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// amount parses an amount in dollars, within the API's limits.
func amount(text string) (money.USD, error) {
	number, err := money.ParseDecimal(strings.TrimPrefix(text, "$"))
	if err != nil {
		return 0, refusal("the amount must be a number of dollars, like 5.25")
	}
	if number.Sign() <= 0 || number.GreaterThan(rewards.MaxAmountDollars) {
		return 0, refusal("the amount must be greater than 0 and at most 1000000")
	}
	usd, err := number.USD()
	if err != nil || usd == 0 {
		return 0, refusal("the amount is less than a millionth of a dollar")
	}
	return usd, nil
}

// user finds the form's user: the one that the page wrote into it, unless somebody wrote another
// name, else by external id, id or email. It returns the zero user when nobody is found.
func (h *handler) user(ctx context.Context, f form) (u rewards.User, err error) {
	if !readable(f.User) || f.User == "" || utf8.RuneCountInString(f.User) > rewards.MaxEmail {
		return u, badName()
	}
	u, err = h.byID(ctx, f.Shown)
	if err != nil || !u.ID.IsZero() && strings.TrimSpace(user{u}.Name()) == f.User {
		return u, err
	}
	for _, find := range []func() (rewards.User, error){
		func() (rewards.User, error) { return h.first(ctx, rewards.UserFilter{ExternalID: f.User}) },
		func() (rewards.User, error) { return h.byID(ctx, f.User) },
		func() (rewards.User, error) { return h.first(ctx, rewards.UserFilter{Email: f.User}) },
	} {
		if u, err = find(); err != nil || !u.ID.IsZero() {
			return u, err
		}
	}
	return rewards.User{}, nil
}

func badName() error { return refusal("the user must have a name of 1 to 128 characters") }

// byID returns the user with an id; the zero user when the text is no id or nobody has it.
func (h *handler) byID(ctx context.Context, text string) (rewards.User, error) {
	id, err := rewards.ParseID[rewards.User](text)
	if err != nil {
		return rewards.User{}, nil //nolint:nilerr // it may be a name
	}
	u, err := h.Service.User(ctx, h.App, id)
	if err != nil && rewards.CodeOf(err) == rewards.CodeNotFound {
		return rewards.User{}, nil
	}
	return u, err
}

// first returns the first user that a filter selects; the zero user when it selects nobody.
func (h *handler) first(ctx context.Context, f rewards.UserFilter) (rewards.User, error) {
	found, err := h.Service.Users(ctx, h.App, f, rewards.Page[rewards.User]{Limit: 1})
	if err != nil || len(found) == 0 {
		return rewards.User{}, err
	}
	return found[0], nil
}

// newUser creates a user for a reward of a stock, so that the page can be tried without the API.
// It creates no user for a stock that cannot be given.
func (h *handler) newUser(ctx context.Context, name, symbol string) (u rewards.User, err error) {
	if utf8.RuneCountInString(name) > rewards.MaxExternalID {
		return u, badName()
	}
	assets, err := h.Service.Catalog(ctx)
	if err != nil {
		return u, err
	}
	if !slices.ContainsFunc(assets, func(a rewards.Asset) bool { return a.Symbol == symbol }) {
		return u, &rewards.Error{
			Code: rewards.CodeUnprocessable, Message: "the catalog has no such stock",
			Details: rewards.AssetDetails{AssetSymbol: symbol},
		}
	}
	return h.Service.CreateUser(ctx, rewards.User{AppID: h.App, ExternalID: name})
}

// refuse shows the page with the form as submitted and the problem with it.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, f form, cause error) {
	e, ok := errors.AsType[*rewards.Error](cause)
	if !ok || e.Code == rewards.CodeInternal {
		h.fail(w, r, cause)
		return
	}
	v, err := h.page(r.Context(), url.Values{})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if f.Problem, err = h.problem(r.Context(), e); err != nil {
		h.fail(w, r, err)
		return
	}
	status := http.StatusUnprocessableEntity
	if e.Code == rewards.CodeUnavailable {
		status = http.StatusServiceUnavailable // the reward may be stored: the form keeps its key for a retry
	} else {
		f.Key = v.Form.Key
	}
	v.Form = f
	h.render(w, r, status, "page", v)
}
