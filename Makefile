# The commands of the project. Each installs what it needs.

SHELL := /bin/bash
GO    ?= go
# The race detector watches everything but SQLite itself, which is C translated to Go: watched
# too, it takes three times as long. The profile is off: for the main package everything would be compiled again.
RACE  := -race -pgo=off '-gcflags=modernc.org/...=-race=false'
TOOLS := bin/golangci-lint

.PHONY: build profile test test-long lint lint-api kills torture mutants fleet failover bench bench-micro clean linear fuzz sim exhaust release

build: ## the binary, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/stockrewards ./cmd/stockrewards

profile: ## the profile that the compiler optimizes the binary by, from the benchmark: five minutes
	tools/profile.sh

VERSION ?=

release: ## archives, Debian packages, an image, bills of materials and checksums in dist/: make release VERSION=0.9.0
	cd tools && $(GO) run ./release -version '$(VERSION)' -source .. -out ../dist

PLANS = ^TestNoStatementCostsMoreOverTheYears$$

test: ## every test, nearly all with the race detector
	tools/install.sh gcc curl mount mkfs.ext4 strace chromium hledger postgres pgbouncer wrk npx zsh fish groff jq python3 promtool systemd-analyze
	$(GO) test $(RACE) -timeout 60m -skip '$(PLANS)' $$($(GO) list ./... | grep -v /test/sim)
	$(GO) test -run '$(PLANS)' ./internal/store/sqlite ./internal/store/postgres # 25 times slower under the race detector
	$(GO) test ./internal/api -args -postgres # the whole interface over the other engine
	$(GO) test ./internal/fulfillment -args -beside # fulfillment as it is over that engine
	$(GO) test ./test/sim # one goroutine, and much to do: without the race detector
	cd tools && $(GO) test -timeout 30m ./release # a release for linux/amd64

test-long: ## what takes hours: long variants, kills, faults at every system call, fail-overs
	$(GO) test $(RACE) -timeout 60m ./internal/api -args -long
	$(GO) test $(RACE) -timeout 60m -run 'PgBouncer|CutAtEveryMessage' ./internal/store/postgres -args -long
	tools/install.sh lintian debootstrap podman runc
	cd tools && $(GO) test -count=1 -timeout 60m ./release -args -long
	$(MAKE) kills torture linear fleet failover

lint: $(TOOLS) ## the linters and the formatters
	$(GO) mod tidy -diff
	GOOS=windows CGO_ENABLED=0 $(GO) build -pgo=off -o /dev/null ./cmd/stockrewards # test-long: every system
	$(TOOLS) run ./...
	cd tools && ../$(TOOLS) run ./release
	tools/lint-api.sh

$(TOOLS): tools/go.mod
	$(GO) build -modfile=tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

YEARS ?= 100
SEED  ?= 1

sim: ## service-years under faults at every boundary, a seed each; YEARS=1 SEED=7 lives seed 7 again
	tools/install.sh hledger
	$(GO) test -count=1 -v -timeout=12h -run '^TestYears' ./test/sim -args -seed=$(SEED) -years=$(YEARS) -action-years=$(YEARS) -days=252

exhaust: ## every fault at every effect of the lifecycles, and every pair of faults of some
	$(GO) test -count=1 -v -timeout=12h -run 'Exhaustively$$' ./test/sim -args -pairs=1

kills: ## a hundred kills -9 under load; kills and failures at each table of a copy
	$(GO) test $(RACE) -count=1 -v -run 'TestKillsAtRandom|TestCopyIsKilled$$|TestCopyFails' ./test \
		-args -torture-for=0 -torture-kills=100 -copy-kills=0

KILLS ?= 2000

torture: ## faults at every system call that changes a file, KILLS=2000 kills -9; SEED=7 makes a run again
	tools/install.sh mount mkfs.ext4 strace hledger
	set -o pipefail; $(GO) test -count=1 -v -timeout=12h -parallel=4 ./test \
		-run 'TestFaultsAtEveryCall|TestKillsAtRandom|TestFileDescriptorsRunOut|TestFileSystemBecomesReadOnly|TestFullDisk|TestAnIOError' \
		-args -torture-for=0 -torture-kills=$(KILLS) -torture-seed=$${SEED:-0} | grep -v -e '^=== ' -e 'accounted for$$'

linear: ## what concurrent clients saw is linearizable, at length: two engines, and a hundred kills of one process and of two
	tools/install.sh postgres
	$(GO) test -count=1 -v -timeout=60m ./test/linear -args -operations=50000 -kills=100

FUZZTIME ?= 30s

fuzz: ## every fuzz target for FUZZTIME each; ONLY=text those whose name has it
	tools/fuzz.sh $(FUZZTIME) '$(ONLY)'

SHARE ?= 1

mutants: ## every planted change is found by its test; SHARE=5 tries every fifth, ONLY=regexp those of that name
	tools/install.sh mount strace postgres
	$(GO) test -count=1 -v -timeout=3h -run '^TestMutants$$' ./test/mutants -args -share=$(SHARE) -only='$(ONLY)'

fleet: ## three processes over PostgreSQL: a kill -9 a second for a minute, frozen leaders
	tools/install.sh postgres pgbouncer
	$(GO) test $(RACE) -count=1 -v -timeout=30m -run TestFleetKillsUnderLoad ./test -args -kills=60

failover: ## twenty fail-overs of PostgreSQL under load; a thousand commits canceled or terminated
	tools/install.sh postgres
	$(GO) test $(RACE) -count=1 -v -timeout=60m -run 'TestFailOver|TestCommitsInterrupted' ./test \
		-args -failovers=20 -cancels=1000

bench: ## the service's speed beside a bare server's, docs/performance.md; FLAGS='--only=record' and others: go run ./bench --help
	tools/install.sh wrk postgres
	$(GO) run ./bench $(FLAGS)

MICRO := api rewards money intake

bench-micro: ## the hot functions alone; ONLY=regexp those of that name
	tools/install.sh postgres
	$(GO) test -run xxx -bench '$(or $(ONLY),.)' -benchmem $(addprefix ./internal/,$(MICRO))

clean:
	rm -rf bin dist stockrewards-data
