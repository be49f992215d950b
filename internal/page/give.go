package page

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// form holds the fields of the form, and the problem with them.
type form struct {
	Key, User, Amount, Symbol string
	Problem                   string
}

const (
	keyPrefix = "page-"
	source    = "page" // of the form's rewards
	maxForm   = 16 << 10
)

// newForm returns an empty form with a fresh idempotency key, so that submitting it twice
// gives one reward.
func (v *view) newForm() form {
	f := form{Key: keyPrefix + rand.Text(), Amount: "5.25", Symbol: "AAPL"}
	switch {
	case v.Given != nil:
		f.User, f.Amount, f.Symbol = v.Given.User.Name(), v.Given.Amount.String(), v.Given.Symbol
	case !v.Portfolio.User.ID.IsZero():
		f.User = v.Portfolio.User.Name()
	case len(v.Users) > 0:
		f.User = v.Users[0].Name()
	}
	return f
}

// give gives a reward for the app, through the same use case as the API.
func (h *handler) give(w http.ResponseWriter, r *http.Request) {
	var f form
	err := r.ParseForm()
	if err != nil {
		err = refusal("cannot read the form")
	} else {
		f = form{
			Key: r.PostForm.Get("key"), User: strings.TrimSpace(r.PostForm.Get("user")),
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

// record checks the form and gives the reward.
func (h *handler) record(ctx context.Context, f form) (stored rewards.Reward, err error) {
	if _, _, err := h.Service.Authenticate(ctx, h.Key); err != nil {
		return stored, err
	}
	if !strings.HasPrefix(f.Key, keyPrefix) || len(f.Key) > rewards.MaxIdempotencyKey || !readable(f.Key) {
		return stored, refusal("the form is incomplete: reload the page")
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
	if r.UserID, err = h.user(ctx, f.User); err != nil {
		return stored, err
	}
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

// user finds a user by id, external id or email. It creates an unknown one, so that the
// page can be tried without the API.
func (h *handler) user(ctx context.Context, name string) (rewards.UserID, error) {
	if id, err := rewards.ParseID[rewards.User](name); err == nil {
		return id, nil
	}
	if !readable(name) || name == "" || utf8.RuneCountInString(name) > rewards.MaxExternalID {
		return rewards.UserID{}, refusal("the user must have a name of 1 to 128 characters")
	}
	for _, filter := range []rewards.UserFilter{{ExternalID: name}, {Email: name}} {
		found, err := h.Service.Users(ctx, h.App, filter, rewards.Page[rewards.User]{Limit: 1})
		if err != nil {
			return rewards.UserID{}, err
		}
		if len(found) > 0 {
			return found[0].ID, nil
		}
	}
	u, err := h.Service.CreateUser(ctx, rewards.User{AppID: h.App, ExternalID: name})
	return u.ID, err
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
