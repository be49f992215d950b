package page

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"strings"

	"stockrewards/internal/rewards"
)

// The paths of the pages of one reward and of one user, before the id.
const (
	rewardPath = "/rewards/"
	userPath   = "/users/"
)

// maxActivity is how many changes the page of a user shows.
const maxActivity = 50

// award is the page of one reward.
type award struct {
	reward

	Timeline []rewards.TimelineEntry
}

// Open reports whether the reward may still change: then the page reloads itself.
func (a award) Open() bool { return a.Status < rewards.Executed }

// owner is what the page of one user has beyond the portfolio.
type owner struct {
	Activity []rewards.UserActivity
	More     bool // there is older activity
}

// detailed reports whether the path is that of a page of one reward or user.
func detailed(path string) bool {
	return strings.HasPrefix(path, rewardPath) || strings.HasPrefix(path, userPath)
}

// detail answers with the page of one reward or user of the app.
func (h *handler) detail(w http.ResponseWriter, r *http.Request) {
	v := view{CSS: template.CSS(pageCSS), JS: template.JS(pageJS)} //nolint:gosec // embedded
	var err error
	name := "award"
	if id, found := strings.CutPrefix(r.URL.Path, rewardPath); found {
		v.Award, err = h.award(r.Context(), id)
	} else {
		name = "owner"
		err = h.owner(r.Context(), strings.TrimPrefix(r.URL.Path, userPath), &v)
	}
	switch {
	case errors.Is(err, rewards.ErrBadID) || err != nil && rewards.CodeOf(err) == rewards.CodeNotFound:
		http.Error(w, "there is no such page", http.StatusNotFound)
	case err != nil:
		h.fail(w, r, err)
	default:
		h.render(w, r, http.StatusOK, name, v)
	}
}

func (h *handler) award(ctx context.Context, text string) (*award, error) {
	id, err := rewards.ParseID[rewards.Reward](text)
	if err != nil {
		return nil, err
	}
	r, err := h.Service.Reward(ctx, h.App, id)
	if err != nil {
		return nil, err
	}
	list, err := h.complete(ctx, []rewards.Reward{r})
	if err != nil {
		return nil, err
	}
	a := &award{reward: list[0]}
	a.Timeline, err = h.Service.Timeline(ctx, h.App, id)
	return a, err
}

func (h *handler) owner(ctx context.Context, text string, v *view) error {
	id, err := rewards.ParseID[rewards.User](text)
	if err != nil {
		return err
	}
	list, err := h.Service.Activity(ctx, h.App, id, rewards.ActivityPage{Limit: maxActivity + 1})
	if err != nil {
		return err
	}
	v.Owner = &owner{Activity: list[:min(len(list), maxActivity)], More: len(list) > maxActivity}
	v.Portfolio, err = h.portfolio(ctx, text, nil)
	v.Portfolio.Chosen = false // nothing else to show here
	return err
}
