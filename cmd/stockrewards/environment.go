package main

import (
	"slices"

	"github.com/alecthomas/kong"
)

// running are the commands whose flags are all settings of a process that goes on.
func running() []string { return []string{"serve", "dev", "paper"} }

// onlySettings leaves environment variables to settings: the flags of what runs, and
// those flags of other commands that serve has as well, which say where the books and the
// broker are. A variable that is left over from somewhere must not decide an order, or be
// the reason of a deed.
func onlySettings() kong.Option {
	return kong.PostBuild(func(k *kong.Kong) error {
		settings := make(map[string]bool)
		for _, leaf := range k.Model.Leaves(false) {
			for _, f := range leaf.Flags {
				settings[f.Name] = settings[f.Name] || leaf.Name == "serve"
			}
		}
		for _, leaf := range k.Model.Leaves(false) {
			if leaf.Parent == k.Model.Node && slices.Contains(running(), leaf.Name) {
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
