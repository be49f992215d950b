#!/usr/bin/env bash
# How long a newcomer waits for the first executed award, from a clone with empty caches, and from the
# binary. It needs git, Go, curl, jq and a module proxy, and changes nothing outside a temporary folder.
set -euo pipefail

source=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
export GOMODCACHE=$folder/modules GOCACHE=$folder/cache

now() { date +%s%3N; }
took() { echo "$1: $((($(now) - $2) / 100))" | sed 's/\(.\)$/.\1 s/; s/: \./: 0./'; }
send() { curl -fsS -H "x-api-key: $(cat "$folder/data/dev.key")" -H 'content-type: application/json' "$@"; }

began=$(now)
git clone -q "$source" "$folder/clone"
cd "$folder/clone"
go mod download
took "clone and modules" "$began"
compile=$(now)
go build -o "$folder/stockrewards" ./cmd/stockrewards
took "compile" "$compile"

start=$(now) port=$((20000 + RANDOM % 9000)) api=
"$folder/stockrewards" dev --listen "127.0.0.1:$port" --admin-listen 127.0.0.1:0 --data "$folder/data" >"$folder/log" 2>&1 &
until grep -q openapi.json "$folder/log"; do sleep 0.02; done
api=http://127.0.0.1:$port/v1
user=$(send "$api/users" -d '{"email": "ada@example.com"}' | jq -r .user.id)
award='{"userId": "'$user'", "idempotencyKey": "welcome-ada", "amountUsd": 5.25, "assetSymbol": "AAPL"}'
reward=$(send "$api/rewards" -d "$award" | jq -r .reward.id)
until [ "$(send "$api/rewards/$reward" | jq -r .reward.status)" = executed ]; do sleep 0.05; done
took "binary to the first executed award" "$start"
took "clone to the first executed award" "$began"
