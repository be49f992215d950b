package main

import (
	"slices"

	"github.com/alecthomas/kong"
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
