package page

import (
	"context"
	"errors"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// The limits of what is shown.
const (
	maxRewards = 12
	maxOrders  = 8
	maxUsers   = 20   // suggested in the form
	maxCounted = 1000 // rewards of one status; more are shown as "1000+"
)

// view is the data of the templates.
type view struct {
	Flow      []step
	Market    rewards.MarketClock
	MarketErr bool
	Alarms    []rewards.Alarm
	Rewards   []reward
	Orders    []order
	Endpoints []endpoint
	Portfolio portfolio

	Award *award // on the page of a reward
	Owner *owner // on the page of a user

	// Only on the whole page, not in its live part.
	Form    form
	Given   *reward // by the form, just now
	Panel   *panel  // nil: the brokerage cannot be controlled
	Tested  string  // the address of the webhook endpoint that a test was sent to, just now
	Users   []user
	Assets  []rewards.Asset
	KeyFile string
	Host    string // as the browser addressed it
	CSS     template.CSS
	JS      template.JS
}

// step is a status with its number of rewards.
type step struct{ State, Count, What string }

// user is a user with a display name.
type user struct{ rewards.User }

// Name is the external id, else the email, else the id.
func (u user) Name() string {
	switch {
	case strings.IndexFunc(u.ExternalID, seen) >= 0:
		return u.ExternalID
	case u.Email != "":
		return u.Email
	}
	return u.ID.String()
}

// seen reports whether a character is seen on a page.
func seen(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

type reward struct {
	rewards.Reward
	User   user
	Shares money.Shares // bought so far
}

type order struct {
	rewards.Order
	Members int
}

// portfolio is a user's portfolio, or the reason why it is missing.
type portfolio struct {
	rewards.Portfolio
	User    user
	Problem string
	Chosen  bool // by the URL; otherwise it is the latest reward's user
}

// holding is a row of the portfolio.
type holding struct{ rewards.ValuedHolding }

// gain is a signed difference between value and cost, with its CSS class.
type gain struct{ Text, Class string }

func gainOf(value, cost money.USD) gain {
	difference := value - cost
	switch {
	case difference > 0:
		return gain{"+" + dollars(difference), "up"}
	case difference < 0:
		return gain{"-" + dollars(-difference), "down"}
	}
	return gain{dollars(difference), ""}
}

// Gain is the portfolio's gain over its cost basis.
func (p portfolio) Gain() gain { return gainOf(p.Value, p.CostBasis) }

// Gain is the holding's gain over its cost basis.
func (h holding) Gain() gain { return gainOf(h.Value, h.CostBasis) }

// Rows are the portfolio's holdings.
func (p portfolio) Rows() []holding {
	rows := make([]holding, len(p.Holdings))
	for i, h := range p.Holdings {
		rows[i] = holding{h}
	}
	return rows
}

// page loads the whole page.
func (h *handler) page(ctx context.Context, query url.Values) (view, error) {
	v, err := h.live(ctx, query)
	if err != nil {
		return v, err
	}
	v.KeyFile = h.KeyFile
	v.CSS, v.JS = template.CSS(pageCSS), template.JS(pageJS) //nolint:gosec // embedded
	if v.Assets, err = h.Service.Catalog(ctx); err != nil {
		return v, err
	}
	users, err := h.Service.Users(ctx, h.App, rewards.UserFilter{}, rewards.Page[rewards.User]{Limit: maxUsers})
	if err != nil {
		return v, err
	}
	for _, u := range users {
		v.Users = append(v.Users, user{u})
	}
	if v.Given, err = h.given(ctx, query.Get("given")); err != nil {
		return v, err
	}
	v.Form, v.Tested = v.newForm(), v.tested(query.Get("tested"))
	if h.Control != nil {
		v.Panel = &panel{Key: newKey(), Symbol: v.Form.Symbol, Done: panelDone(query)}
	}
	return v, nil
}

// live loads the live part.
func (h *handler) live(ctx context.Context, query url.Values) (v view, err error) {
	if v.Flow, err = h.flow(ctx); err != nil {
		return v, err
	}
	if v.Rewards, err = h.rewards(ctx); err != nil {
		return v, err
	}
	if v.Orders, err = h.orders(ctx); err != nil {
		return v, err
	}
	if v.Portfolio, err = h.portfolio(ctx, query.Get("user"), v.Rewards); err != nil {
		return v, err
	}
	if v.Endpoints, err = h.endpoints(ctx); err != nil {
		return v, err
	}
	if v.Alarms, err = h.Store.Alarms(ctx); err != nil {
		return v, err
	}
	v.Market, err = h.Market.Clock(ctx)
	v.MarketErr = err != nil
	return v, nil
}

// flow counts the rewards by status.
func (h *handler) flow(ctx context.Context) ([]step, error) {
	counts, err := h.Store.CountRewards(ctx, h.App, maxCounted)
	if err != nil {
		return nil, err
	}
	what := map[rewards.Status]string{
		rewards.Recorded:  "stored, not bought yet",
		rewards.Executing: "in an order",
		rewards.Executed:  "shares are held",
		rewards.Failed:    "nothing was bought",
	}
	var steps []step
	for s := rewards.Recorded; s <= rewards.Failed; s++ {
		text := strconv.Itoa(counts[s])
		if counts[s] >= maxCounted {
			text += "+"
		}
		steps = append(steps, step{State: s.String(), Count: text, What: what[s]})
	}
	return steps, nil
}

// rewards lists the latest rewards.
func (h *handler) rewards(ctx context.Context) ([]reward, error) {
	page := rewards.Page[rewards.Reward]{Limit: maxRewards}
	found, err := h.Service.Rewards(ctx, h.App, rewards.RewardFilter{}, page)
	if err != nil {
		return nil, err
	}
	return h.complete(ctx, found)
}

// complete adds users and shares to rewards.
func (h *handler) complete(ctx context.Context, found []rewards.Reward) ([]reward, error) {
	ids := make([]rewards.RewardID, len(found))
	for i, r := range found {
		ids[i] = r.ID
	}
	shares, err := h.Store.SharesOf(ctx, h.App, ids)
	if err != nil {
		return nil, err
	}
	users := make(map[rewards.UserID]user)
	list := make([]reward, len(found))
	for i, r := range found {
		u, known := users[r.UserID]
		if !known {
			if u.User, err = h.Service.User(ctx, h.App, r.UserID); err != nil {
				return nil, err
			}
			users[r.UserID] = u
		}
		list[i] = reward{Reward: r, User: u, Shares: shares[r.ID]}
	}
	return list, nil
}

// given finds the reward that the form has just given; nil when there is no such reward.
func (h *handler) given(ctx context.Context, text string) (*reward, error) {
	id, err := rewards.ParseID[rewards.Reward](text)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // it is optional
	}
	r, err := h.Service.Reward(ctx, h.App, id)
	if err != nil && rewards.CodeOf(err) == rewards.CodeNotFound {
		return nil, nil //nolint:nilnil // it is optional
	}
	if err != nil {
		return nil, err
	}
	list, err := h.complete(ctx, []rewards.Reward{r})
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// orders lists the latest orders.
func (h *handler) orders(ctx context.Context) ([]order, error) {
	found, err := h.Store.Orders(ctx, 0, rewards.Page[rewards.Order]{Limit: maxOrders})
	if err != nil {
		return nil, err
	}
	ids := make([]rewards.OrderID, len(found))
	for i, o := range found {
		ids[i] = o.ID
	}
	members, err := h.Store.MemberCounts(ctx, ids)
	if err != nil {
		return nil, err
	}
	list := make([]order, len(found))
	for i, o := range found {
		list[i] = order{Order: o, Members: members[o.ID]}
	}
	return list, nil
}

// portfolio values the holdings of the chosen user, else of the latest reward's user.
func (h *handler) portfolio(ctx context.Context, chosen string, latest []reward) (p portfolio, err error) {
	switch {
	case chosen != "":
		p.Chosen = true
		id, err := rewards.ParseID[rewards.User](chosen)
		if err == nil {
			p.User.User, err = h.Service.User(ctx, h.App, id)
		}
		if errors.Is(err, rewards.ErrBadID) || err != nil && rewards.CodeOf(err) == rewards.CodeNotFound {
			p.Problem = "There is no user with this id."
			return p, nil
		}
		if err != nil {
			return p, err
		}
	case len(latest) > 0:
		p.User = latest[0].User
	default:
		return p, nil
	}
	p.Portfolio, err = h.Service.Portfolio(ctx, h.App, p.User.ID)
	if e, ok := errors.AsType[*rewards.Error](err); ok && e.Code == rewards.CodeUpstream {
		p.Problem, err = e.Message, nil
	}
	return p, err
}
