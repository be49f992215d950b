package main

import (
	"net/netip"
	"strings"
	"time"

	"stockrewards/internal/server"
)

// webhookFlags are the settings of webhooks.
type webhookFlags struct {
	WebhookKeyFile string   `group:"Webhooks" placeholder:"FILE" help:"Seal the secrets of webhooks with the keys in this file, which is made when it is missing (default: a file beside an SQLite database; over PostgreSQL no endpoint can be created without it). Every process of a fleet needs the same keys."`
	WebhookAllow   []string `group:"Webhooks" placeholder:"CIDR" help:"Allow webhooks to addresses in this private or special range, there also plain http and any port; repeat it for more ranges (default: none)."`
	WebhookRetries []string `group:"Webhooks" placeholder:"TIME" help:"Retry failed webhooks after these pauses, such as 1s,2s (default: 5s,5m,30m,2h,5h,10h,14h,20h,24h)."`
}

func (w webhookFlags) webhooks() (s server.Webhooks, err error) {
	s.KeyFile = w.WebhookKeyFile
	for _, text := range w.WebhookAllow {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return s, usageErrorf("--webhook-allow %q: must be a range such as 10.0.0.0/8", text)
		}
		s.Allow = append(s.Allow, prefix.Masked())
	}
	s.Retries, err = pauses("--webhook-retries", w.WebhookRetries)
	return s, err
}

// pauses reads the pauses before the retries of a webhook from a flag; nil when it is not given.
func pauses(flag string, texts []string) (list []time.Duration, err error) {
	for _, text := range texts {
		const longest = 7 * 24 * time.Hour
		pause, err := parseDuration(strings.TrimSpace(text))
		if err != nil || pause <= 0 || pause > longest {
			return nil, usageErrorf("%s %q: must be times from 1ns to 7d, such as 5s,5m,2h", flag, text)
		}
		list = append(list, pause)
	}
	return list, nil
}

// localWebhooks are the settings of dev: receivers on this machine are allowed.
func localWebhooks() server.Webhooks {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	return server.Webhooks{Allow: loopback}
}
