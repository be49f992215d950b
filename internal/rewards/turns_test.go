package rewards_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
	shared "stockrewards/test/world"
)

// poolsOf makes pools, longest waiting first. Each is described by its stock and its apps, such as "KO:ab"; a stock in
// small letters cannot be ordered.
func poolsOf(described string) []rewards.Pool {
	var pools []rewards.Pool
	for _, of := range strings.Fields(described) {
		symbol, apps, _ := strings.Cut(of, ":")
		p := rewards.Pool{Asset: rewards.Asset{Symbol: symbol}}
		for _, app := range apps {
			p.Apps = append(p.Apps, rewards.AppID{byte(app)})
		}
		pools = append(pools, p)
	}
	return pools
}

// A step looks at pools until it has planned some orders; each line of pools is what a step reads.
func TestTurns(t *testing.T) {
	t.Parallel()
	shared.Each(t, map[string]struct {
		pools  []string
		orders int // of a step
		want   []string
	}{
		"nothing waits":                    {[]string{""}, 9, []string{""}},
		"one app, longest waiting first":   {[]string{"C:a A:a B:a"}, 9, []string{"C A B"}},
		"another app need not wait":        {[]string{"A:a B:a C:a D:a K:b"}, 9, []string{"A K B C D"}},
		"each app has its turn":            {[]string{"A:a B:a C:a K:b L:b M:c"}, 9, []string{"A K M B L C"}},
		"what waits costs no turn":         {[]string{"A:a B:a k:b l:b m:b N:b"}, 9, []string{"A k l m N B"}},
		"what waits delays no other app":   {[]string{"a:a b:a c:a K:b L:b"}, 9, []string{"a K b c L"}},
		"an order is the turn of its apps": {[]string{"A:ab B:a K:b M:c"}, 9, []string{"A M K B"}},
		"and is looked at once":            {[]string{"A:a B:ab K:b"}, 9, []string{"A B K"}},
		"the next step goes on":            {[]string{"A:a B:a C:a", "B:a C:a K:b", "B:a C:a K:b L:b", "B:a C:a L:b"}, 1, []string{"A", "K", "B", "L"}},
		"a backlog that is renewed":        {[]string{"A:a B:a", "B:a A:a K:b", "B:a A:a K:b"}, 1, []string{"A", "K", "B"}},
		"an app without a pool":            {[]string{"A:a K:b", "B:a C:a", "B:a C:a"}, 2, []string{"A K", "B C", "B C"}},
	}, func(t *testing.T, test struct {
		pools  []string
		orders int
		want   []string
	},
	) {
		var turns rewards.Turns
		var got []string
		for _, described := range test.pools {
			var looked []string
			left := test.orders
			for p := range turns.Pass(poolsOf(described)) {
				looked = append(looked, p.Asset.Symbol)
				if p.Asset.Symbol == strings.ToLower(p.Asset.Symbol) {
					continue
				}
				turns.Took(p.Apps...)
				left--
				if left == 0 {
					break
				}
			}
			got = append(got, strings.Join(looked, " "))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
