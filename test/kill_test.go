package test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

// kills is how often the service is killed; `make kills` uses a hundred.
var kills = flag.Int("kills", 10, "how often to kill -9 the service under load")

// The service is repeatedly killed under load: every acknowledged reward exists, every key
// has one reward, every user's cost basis is what was given, and the broker's positions
// equal the allocations.
func TestKillsUnderLoad(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start("--pooling-window", "50ms")
	load := startLoad(s, 4)
	for range *kills {
		time.Sleep(time.Duration(50+rand.IntN(400)) * time.Millisecond)
		s.kill()
		load.pause()
		s.start("--pooling-window", "50ms")
		load.resume()
	}
	time.Sleep(200 * time.Millisecond)
	load.verify()
}
