package main

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"stockrewards/internal/rewards"
)

// services are the commands that run until stopped; all their flags are settings.
func services() []string { return []string{"serve", "dev", "paper"} }

// onlySettings limits environment variables to settings: the flags of services, and those
// flags of other commands that serve has too, which locate the database and the broker. A
// leftover variable must not resolve an order or become the reason in the operator log.
func onlySettings() kong.Option {
	return kong.PostBuild(func(k *kong.Kong) error {
		settings := make(map[string]bool)
		for _, leaf := range k.Model.Leaves(false) {
			for _, f := range leaf.Flags {
				settings[f.Name] = settings[f.Name] || leaf.Name == "serve"
			}
		}
		for _, leaf := range k.Model.Leaves(false) {
			if leaf.Parent == k.Model.Node && slices.Contains(services(), leaf.Name) {
				continue
			}
			for _, f := range leaf.Flags {
				if !settings[f.Name] {
					f.Envs, f.Tag.Envs = nil, nil
				}
			}
		}
		return nil
	})
}

const envPrefix = "STOCKREWARDS_"

// serviceLink matches the variables that Kubernetes sets in each pod for a Service whose name begins with stockrewards.
var serviceLink = regexp.MustCompile(`^STOCKREWARDS_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_\w+)?)$`)

// checkEnvironment refuses variables with envPrefix that no command reads: a mistyped
// limit would otherwise mean no limit. It also refuses values that are not UTF-8, of which the
// parser would change bytes.
func checkEnvironment(model *kong.Application, environ []string) error {
	known := []string{envPaperKeyID, envPaperSecretKey}
	for _, leaf := range model.Leaves(false) {
		for _, f := range leaf.Flags {
			known = append(known, f.Envs...)
		}
	}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, envPrefix) || serviceLink.MatchString(name) {
			continue
		}
		if slices.Contains(known, name) {
			if !utf8.ValidString(value) {
				return usageErrorf("the environment variable %s is not UTF-8", name)
			}
			continue
		}
		nearest := rewards.Nearest(strings.TrimPrefix(name, envPrefix), trimmed(known))
		return usageErrorf("unknown environment variable %s: correct it or unset it; the nearest known one is %s",
			name, envPrefix+nearest)
	}
	return nil
}

// trimmed returns the names without their prefix, sorted, each once.
func trimmed(known []string) []string {
	names := make([]string, len(known))
	for i, name := range known {
		names[i] = strings.TrimPrefix(name, envPrefix)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return slices.Compact(names)
}
