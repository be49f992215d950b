package config

import (
	"slices"

	"go.yaml.in/yaml/v4"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Read reads a file. It fails with Issues, which has every mistake in it.
func Read(text []byte, addresses rewards.WebhookAddresses) (f File, err error) {
	top, err := parse(text)
	if err != nil {
		return f, err
	}
	r := &reader{}
	o := r.object(top, "", "apps")
	items, _ := o.list("apps")
	if o.lacks("apps") {
		o.issue("apps", "is missing")
	}
	first := make(map[string]int)
	for i, item := range items {
		a := r.app(item, o.item("apps", i), addresses)
		r.once(first, a.Name, place{item.Line, o.item("apps", i) + ".name"})
		f.Apps = append(f.Apps, a)
	}
	if len(r.issues) > 0 {
		slices.SortStableFunc(r.issues, func(a, b Issue) int { return a.Line - b.Line })
		return f, r.issues
	}
	return f, nil
}

// once makes an issue of a name that an earlier item has; first has the lines of names.
func (r *reader) once(first map[string]int, name string, at place) {
	line, taken := first[name]
	switch {
	case !taken:
		first[name] = at.line
	case name != "": // an empty one is an issue already
		r.issues.add(at, "%q appears twice; first in line %d", name, line)
	}
}

func (r *reader) app(n *yaml.Node, path string, addresses rewards.WebhookAddresses) App {
	o := r.object(n, path, "name", "mode", "dividends", "limits", "budgets", "webhooks")
	a := App{at: o.at, modeAt: o.place("mode"), Name: o.text("name", true, rewards.MaxAppName)}
	if _, err := rewards.ParseID[rewards.App](a.Name); err == nil {
		o.issue("name", "must not look like an id")
	}
	a.Mode = rewards.Mode(o.choice("mode", false, string(rewards.ModeTest), string(rewards.ModeLive)))
	switch o.choice("dividends", false, rewards.DividendsReinvest.String(), rewards.DividendsHouse.String()) {
	case rewards.DividendsReinvest.String():
		a.Dividends = new(rewards.DividendsReinvest)
	case rewards.DividendsHouse.String():
		a.Dividends = new(rewards.DividendsHouse)
	}
	if limits := o.members["limits"]; limits != nil {
		a.Limits = r.limits(limits, path+".limits")
	}
	if items, given := o.list("budgets"); given {
		a.Budgets = new(r.budgets(o, items))
	}
	if items, given := o.list("webhooks"); given {
		a.Endpoints = new(r.endpoints(o, items, addresses))
	}
	return a
}

func (r *reader) limits(n *yaml.Node, path string) Limits {
	o := r.object(n, path, "requestsPerSecond", "concurrent")
	l := Limits{RequestsPerSecond: o.whole("requestsPerSecond"), Concurrent: o.whole("concurrent")}
	for _, one := range []struct {
		name  string
		given Limits
	}{
		{"requestsPerSecond", Limits{RequestsPerSecond: l.RequestsPerSecond}},
		{"concurrent", Limits{Concurrent: l.Concurrent}},
	} {
		if err := one.given.Over(rewards.Limits{}).Check(); err != nil {
			o.issue(one.name, "%s", err)
		}
	}
	return l
}

func (r *reader) budgets(app object, items []*yaml.Node) []Budget {
	list := make([]Budget, len(items))
	first := make(map[string]int)
	for i, item := range items {
		o := r.object(item, app.item("budgets", i), "name", "per", "period", "limit")
		b := Budget{at: o.at}
		b.Name = o.text("name", true, rewards.MaxBudgetName)
		b.Per = rewards.ParseBudgetPer(o.choice("per", true, rewards.PerApp.String(), rewards.PerUser.String()))
		b.Period = rewards.ParseBudgetPeriod(o.choice("period", true, rewards.PeriodDay.String(),
			rewards.PeriodMonth.String(), rewards.PeriodTotal.String()))
		b.Limit = o.dollars("limit")
		r.once(first, b.Name, o.place("name"))
		list[i] = b
	}
	if len(items) > rewards.MaxBudgets {
		app.issue("budgets", "an app can have at most %d", rewards.MaxBudgets)
	}
	return list
}

// dollars returns the limit of a budget.
func (o object) dollars(name string) money.USD {
	const must = "an amount of dollars, such as 500 or 0.50"
	text, given := o.scalar(name, must, "!!int", "!!float", "!!str")
	if !given {
		if o.lacks(name) {
			o.issue(name, "is missing: it must be %s", must)
		}
		return 0
	}
	limit, err := money.ParseUSD(text)
	if err != nil {
		o.issue(name, "must be %s: %s", must, err)
		return 0
	}
	if err := (rewards.Budget{Name: name, Limit: limit}).Check(); err != nil {
		o.issue(name, "%s", err)
	}
	return limit
}

func (r *reader) endpoints(app object, items []*yaml.Node, addresses rewards.WebhookAddresses) []Endpoint {
	list := make([]Endpoint, len(items))
	first := make(map[string]int)
	for i, item := range items {
		o := r.object(item, app.item("webhooks", i), "url", "types", "description", "enabled")
		e := Endpoint{
			at: o.at, URL: o.text("url", true, rewards.MaxWebhookURL), Enabled: o.flag("enabled"),
			Types: o.types("types"), Description: o.text("description", false, rewards.MaxWebhookDescription),
		}
		if err := addresses.CheckURL(e.URL); err != nil && e.URL != "" {
			o.issue("url", "%s", err)
		}
		r.once(first, e.URL, o.place("url"))
		list[i] = e
	}
	if len(items) > rewards.MaxWebhookEndpoints {
		app.issue("webhooks", "an app can have at most %d", rewards.MaxWebhookEndpoints)
	}
	return list
}

// types returns the types of events that an endpoint gets; zero when they are absent.
func (o object) types(name string) (types rewards.EventTypes) {
	items, given := o.list(name)
	if given && len(items) == 0 {
		o.issue(name, "must name a type, or be left out for all")
	}
	for i, item := range items {
		t, known := rewards.ParseEventType(item.Value)
		if item.Kind != yaml.ScalarNode || !known {
			o.issues.add(place{item.Line, o.item(name, i)}, "must be one of %s", rewards.AllEvents)
			continue
		}
		types |= t
	}
	return types
}
