package main

import "strings"

// examples are command lines that the help of a command shows. They take the database from
// STOCKREWARDS_DATABASE.
func examples(lines ...string) string {
	return "Examples:\n\n  stockrewards " + strings.Join(lines, "\n  stockrewards ")
}

// Help implements kong.HelpProvider.
func (c *appCreate) Help() string {
	return examples("app create shop", "app create shop --mode live --daily-budget 500 >> shop.key")
}

// Help implements kong.HelpProvider.
func (c *appLimits) Help() string {
	return examples("app limits shop", "app limits shop --requests-per-second 200 --concurrent 100")
}

// Help implements kong.HelpProvider.
func (c *budgetSet) Help() string {
	return examples("budget set shop --name daily --per app --period day --limit 500",
		"budget set shop --name per-user --per user --period month --limit 50")
}

// Help implements kong.HelpProvider.
func (c *keyCreate) Help() string {
	return examples("key create shop --label ci --expires 90d > shop.key")
}

// Help implements kong.HelpProvider.
func (c *rewardShow) Help() string {
	return examples("reward show order-10045-bonus", "reward show order-10045-bonus --json | jq '.[].timeline'")
}

// Help implements kong.HelpProvider.
func (c *rewardList) Help() string {
	return examples("reward list shop --status failed --after 2026-03-01T00:00:00Z",
		"reward list shop --limit 1000 --json | jq -r '.[].failure'")
}

// Help implements kong.HelpProvider.
func (c *rewardReverse) Help() string {
	return examples("reward reverse 0190c2a4-7e1b-7c33-9d54-1f0a2b3c4d5e --amount 1.25 --reason 'goods returned'")
}

// Help implements kong.HelpProvider.
func (c *healthCommand) Help() string { return examples("health", "health 127.0.0.1:8081 --json") }

// Help implements kong.HelpProvider.
func (c *logVerify) Help() string { return examples("log verify", "log verify --head 3:01dd6b…") }
