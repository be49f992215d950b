package config

import (
	"slices"
	"strconv"
	"strings"

	"stockrewards/internal/rewards"
)

// Stored is what the store has of an app that a file names.
type Stored struct {
	rewards.App

	Budgets   []rewards.Budget
	Endpoints []rewards.WebhookEndpoint
}

// Kind is what a Change is about.
type Kind string

// The kinds of changes.
const (
	KindApp       Kind = "app" // a new app with its first key and its budgets
	KindLimits    Kind = "limits"
	KindDividends Kind = "dividends"
	KindBudget    Kind = "budget"
	KindWebhook   Kind = "webhook"
)

// The signs of changes.
const (
	Add    = "+"
	Modify = "~"
	Remove = "-"
)

// Change is one change that makes the store what the file says. Repeating it changes nothing.
type Change struct {
	Sign string
	Kind Kind
	App  string // its name
	Name string // of the budget, or the URL of the endpoint; "" for other kinds
	What string // the difference, for people

	Mode      rewards.Mode            // of KindApp
	Budgets   []rewards.Budget        // of KindApp; of KindBudget the one
	Limits    Limits                  // of KindLimits: those that the file names
	Dividends rewards.DividendPolicy  // of KindDividends
	Endpoint  rewards.WebhookEndpoint // of KindWebhook: the new one, or the stored one to change
	Edit      rewards.WebhookChange   // of KindWebhook with Modify
	Disable   string                  // of KindWebhook: why it becomes disabled
	Enable    bool                    // of KindWebhook: it becomes enabled
}

// Object names what is changed: "budget daily of shop".
func (c Change) Object() string {
	switch c.Kind {
	case KindApp:
		return "app " + c.App
	case KindLimits, KindDividends:
		return string(c.Kind) + " of " + c.App
	case KindBudget, KindWebhook:
	}
	return string(c.Kind) + " " + c.Name + " of " + c.App
}

// NotInFile is the reason of an endpoint that pruning disabled. The endpoint is enabled when a file
// names it again.
const NotInFile = "not in the configuration file"

// differ compares a file with the store.
type differ struct {
	prune   bool
	changes []Change
	issues  Issues
}

// Diff lists the changes that make the store what a file says, in the order to make them. stored has
// the apps by name; account is the mode of the broker's account, as far as it is known. With prune,
// budgets and endpoints that are missing in a list of the file are removed or disabled. It fails with
// Issues when the store cannot become what the file says.
func Diff(f File, stored map[string]Stored, account rewards.Mode, prune bool) ([]Change, error) {
	d := &differ{prune: prune}
	for _, a := range f.Apps {
		if a.Mode != rewards.ModeUnknown && account != rewards.ModeUnknown && a.Mode != account {
			d.issues.add(a.modeAt, "the database belongs to an account with %s keys", account)
		}
		was, found := stored[a.Name]
		if !found {
			was.App = rewards.App{Name: a.Name, Dividends: rewards.DividendsReinvest}
			d.newApp(a)
		}
		d.limits(a, was.App)
		d.dividends(a, was.App)
		if a.Budgets != nil && found {
			d.budgets(a, was.Budgets)
		}
		if a.Endpoints != nil {
			d.endpoints(a, was.Endpoints)
		}
	}
	if len(d.issues) > 0 {
		return nil, d.issues
	}
	return d.changes, nil
}

// newApp adds an app with its budgets: it never has a key without them.
func (d *differ) newApp(a App) {
	c := Change{Sign: Add, Kind: KindApp, App: a.Name, Mode: a.Mode, What: "with a key"}
	if a.Mode != rewards.ModeUnknown {
		c.What = "with a " + string(a.Mode) + " key"
	}
	if a.Budgets != nil {
		for _, b := range *a.Budgets {
			c.Budgets = append(c.Budgets, b.Budget)
			c.What += ", budget " + b.Name + ": " + b.Scope()
		}
	}
	d.changes = append(d.changes, c)
}

func (d *differ) limits(a App, was rewards.App) {
	now := a.Limits.Over(was.Limits)
	what := ""
	if now.RequestsPerSecond != was.Limits.RequestsPerSecond {
		what = "requests per second " + perSecond(was.Limits) + " -> " + perSecond(now)
	}
	if now.AtOnce() != was.Limits.AtOnce() {
		if what != "" {
			what += ", "
		}
		what += "concurrent " + strconv.Itoa(was.Limits.AtOnce()) + " -> " + strconv.Itoa(now.AtOnce())
	}
	if what != "" {
		d.changes = append(d.changes, Change{Sign: Modify, Kind: KindLimits, App: a.Name, What: what, Limits: a.Limits})
	}
}

func perSecond(l rewards.Limits) string {
	if l.RequestsPerSecond == 0 {
		return "no limit"
	}
	return strconv.Itoa(l.RequestsPerSecond)
}

func (d *differ) dividends(a App, was rewards.App) {
	if a.Dividends != nil && *a.Dividends != was.Dividends {
		d.changes = append(d.changes, Change{
			Sign: Modify, Kind: KindDividends, App: a.Name, Dividends: *a.Dividends,
			What: was.Dividends.String() + " -> " + a.Dividends.String(),
		})
	}
}

func (d *differ) budgets(a App, stored []rewards.Budget) {
	all, left := make(map[string]bool), make(map[string]bool) // the names meanwhile, and afterwards
	for _, b := range stored {
		all[b.Name], left[b.Name] = true, true
	}
	var set, removed []Change
	for _, b := range *a.Budgets {
		all[b.Name], left[b.Name] = true, true
		if c, differs := setBudget(a, b, stored); differs {
			set = append(set, c)
		}
	}
	if d.prune {
		for _, was := range stored {
			named := slices.ContainsFunc(*a.Budgets, func(b Budget) bool { return b.Name == was.Name })
			if !named && left[was.Name] { // not twice, when it is being replaced
				delete(left, was.Name)
				removed = append(removed, Change{
					Sign: Remove, Kind: KindBudget, App: a.Name, Name: was.Name, What: was.Scope(),
				})
			}
		}
	}
	if len(left) > rewards.MaxBudgets {
		d.issues.add(a.at, "%s", rewards.ErrTooManyBudgets)
	}
	if len(all) > rewards.MaxBudgets { // the new ones need room
		d.changes = append(append(d.changes, removed...), set...)
		return
	}
	d.changes = append(append(d.changes, set...), removed...)
}

// setBudget is the change that makes the budget b of an app, unless it is stored as it is.
func setBudget(a App, b Budget, stored []rewards.Budget) (c Change, differs bool) {
	c = Change{Sign: Add, Kind: KindBudget, App: a.Name, Name: b.Name, What: b.Scope()}
	c.Budgets = []rewards.Budget{b.Budget}
	same, counting := false, false
	for _, was := range stored {
		switch {
		case was.Name != b.Name:
			continue
		case was.State == rewards.BudgetCounting: // a command was interrupted
			counting = true
		default:
			same = was.Counts(b.Budget) && was.Limit == b.Limit
			c.What = was.Scope() + " -> " + b.Scope()
		}
		c.Sign = Modify
	}
	if counting {
		c.What = "go on counting: " + b.Scope()
	}
	return c, counting || !same
}

func (d *differ) endpoints(a App, stored []rewards.WebhookEndpoint) {
	count := len(stored)
	for _, e := range *a.Endpoints {
		var same []rewards.WebhookEndpoint
		for _, was := range stored {
			if was.URL == e.URL {
				same = append(same, was)
			}
		}
		switch len(same) {
		case 0:
			count++
			d.newEndpoint(a.Name, e)
		case 1:
			d.endpoint(a.Name, e, same[0])
		default:
			d.issues.add(e.at, "the app has %d endpoints with this url: delete all but one", len(same))
		}
	}
	if d.prune {
		for _, was := range stored {
			named := slices.ContainsFunc(*a.Endpoints, func(e Endpoint) bool { return e.URL == was.URL })
			if !named && was.Disabled == "" {
				d.changes = append(d.changes, Change{
					Sign: Remove, Kind: KindWebhook, App: a.Name, Name: was.URL, Endpoint: was,
					What: "disabled; its events wait", Disable: NotInFile,
				})
			}
		}
	}
	if count > rewards.MaxWebhookEndpoints {
		d.issues.add(a.at, "%s", rewards.ErrTooManyEndpoints())
	}
}

func (d *differ) newEndpoint(app string, e Endpoint) {
	c := Change{Sign: Add, Kind: KindWebhook, App: app, Name: e.URL, What: "events: all"}
	c.Endpoint = rewards.WebhookEndpoint{URL: e.URL, Types: e.Types, Description: e.Description}
	if e.Types != 0 {
		c.What = "events: " + e.Types.String()
	}
	if e.Enabled != nil && !*e.Enabled {
		c.Endpoint.DisableFor(saidByFile)
		c.What += ", disabled"
	}
	d.changes = append(d.changes, c)
}

// saidByFile is the reason of an endpoint that a file says is not enabled.
const saidByFile = "the configuration file says so"

// endpoint compares an endpoint with the stored one.
func (d *differ) endpoint(app string, e Endpoint, was rewards.WebhookEndpoint) {
	c := Change{Sign: Modify, Kind: KindWebhook, App: app, Name: e.URL, Endpoint: was}
	edit := c
	var what []string
	if e.Types != 0 && e.Types != was.Types {
		edit.Edit.Types = new(e.Types)
		what = append(what, "events "+was.Subscribed().String()+" -> "+e.Types.String())
	}
	if e.Description != "" && e.Description != was.Description {
		edit.Edit.Description = new(e.Description)
		what = append(what, "description "+strconv.Quote(was.Description)+" -> "+strconv.Quote(e.Description))
	}
	if len(what) > 0 {
		edit.What = strings.Join(what, ", ")
		d.changes = append(d.changes, edit)
	}
	pruned := was
	pruned.DisableFor(NotInFile)
	switch enabled := was.Disabled == ""; {
	case enabled && e.Enabled != nil && !*e.Enabled:
		c.Disable, c.What = saidByFile, "enabled -> disabled"
	case !enabled && (e.Enabled != nil && *e.Enabled || e.Enabled == nil && was.Disabled == pruned.Disabled):
		c.Enable, c.What = true, "disabled -> enabled"
	default:
		return
	}
	d.changes = append(d.changes, c)
}
