#!/usr/bin/env bash
# Makes cmd/stockrewards/default.pgo: the compiler optimizes what this CPU profile of the service shows to be
# hot. The service runs the usual cases of the benchmark over both engines, for two minutes. Run it again
# when the hot code has changed much; an older profile only optimizes less.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install.sh wrk postgres
root="$PWD"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
chmod 777 "$folder"

# The profiled program has one file more. It writes a profile after every ten seconds.
cat >"$folder/profile.go" <<'END'
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"time"
)

var _ = func() bool {
	go func() {
		for i := 0; ; i++ {
			f, err := os.Create(fmt.Sprintf("%s/%d-%d.prof", os.Getenv("PROFILES"), os.Getpid(), i))
			if err != nil || pprof.StartCPUProfile(f) != nil {
				return
			}
			time.Sleep(10 * time.Second)
			pprof.StopCPUProfile()
			f.Close()
		}
	}()
	return true
}()
END
echo "{\"Replace\":{\"$root/cmd/stockrewards/profile.go\":\"$folder/profile.go\"}}" >"$folder/overlay.json"
PROFILES="$folder" GOFLAGS="-pgo=off -overlay=$folder/overlay.json" go run ./bench --rounds 1 --seconds 8 --users 2000 \
  --holders 400 --only '^(record|replay|portfolio|reward|list).*, (2|64) connections'
find "$folder" -name '*.prof' -size +0 -print0 | xargs -0 go tool pprof -proto -output cmd/stockrewards/default.pgo
ls -l cmd/stockrewards/default.pgo
