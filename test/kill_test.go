package test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

// kills is how often the service is killed; `make kills` says a hundred.
var kills = flag.Int("kills", 10, "how often to kill -9 the service under load")

// Killed again and again under load: every acknowledged reward is there, every key
// is one reward, every user's cost basis is what was given, and the brokerage's
// positions are what we booked.
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
	load.pause()
	load.finish()
	load.verify()
}
