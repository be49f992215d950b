#!/usr/bin/env bash
# Makes what TestUpgrade upgrades: the database of an older version, with what its API answered.
#
#   tools/upgrade-fixture.sh OLD-BINARY FOLDER              SQLite
#   tools/upgrade-fixture.sh OLD-BINARY FOLDER postgres://… an empty database of PostgreSQL
set -euo pipefail
binary=$(realpath "$1")
out=$2 database=${3:-}
work=$(mktemp -d)
mkdir -p "$out"
out=$(realpath "$out")
cd "$work"
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT

export STOCKREWARDS_DATABASE=${database:-sqlite:rewards.db}
api=127.0.0.1:18080 broker=()
if [ -n "$database" ]; then
  STOCKREWARDS_DATABASE=sqlite:paper.db "$binary" paper --listen 127.0.0.1:18090 2>paper.log &
  broker=(--broker alpaca --alpaca-url http://127.0.0.1:18090 --alpaca-data-url http://127.0.0.1:18090 --small-pool-wait 0s)
  export APCA_API_KEY_ID=paper APCA_API_SECRET_KEY=paper
fi
key=$("$binary" app create shop)
"$binary" serve --listen "$api" "${broker[@]}" 2>serve.log &
server=$!

ask() { curl -fsS --retry 20 --retry-connrefused --retry-delay 1 -H "x-api-key: $key" -H 'content-type: application/json' "$@"; }

users=()
for user in '{"email":"ada@example.com"}' '{"externalId":"ben-7"}' '{"email":"cleo@example.com","externalId":"cleo"}'; do
  users+=("$(ask "http://$api/v1/users" -d "$user" | sed 's/.*"id":"\([^"]*\)".*/\1/')")
done

# give records a reward: user, key, amount, symbol.
give() {
  ask "http://$api/v1/rewards" -d "{\"userId\":\"$1\",\"idempotencyKey\":\"$2\",\"amountUsd\":$3,\"assetSymbol\":\"$4\"}" >/dev/null
}
n=0
for amount in 5.25 123456.789 0.000001 17.3 1; do
  for user in "${users[@]}"; do
    n=$((n + 1))
    give "$user" "executed-$n" "$amount" "$([ $((n % 2)) = 0 ] && echo AAPL || echo MSFT)"
  done
done
for _ in $(seq 60); do
  [ "$(ask "http://$api/v1/rewards?status=executed&limit=100" | grep -o '"status":"executed"' | wc -l)" = "$n" ] && break
  sleep 1
done
"$binary" fulfillment pause --reason "an upgrade"
sleep 2 # it has effect within a second
for user in "${users[@]}"; do
  give "$user" "waits-$user" 3.5 TSLA
done

{
  printf '{"key":"%s"' "$key"
  for path in '/v1/users?limit=100' '/v1/rewards?limit=100' "${users[@]/#//v1/users/}"; do
    printf ',\n"%s":%s' "$path" "$(ask "http://$api$path")"
  done
  for user in "${users[@]}"; do
    printf ',\n"/v1/users/%s/portfolio":%s' "$user" "$(ask "http://$api/v1/users/$user/portfolio")"
  done
  echo '}'
} >"$out/answers.json"
kill "$server"
wait "$server"
if [ -n "$database" ]; then
  kill %1
  wait %1 || true
  pg_dump --encoding=UTF8 --no-owner "$database" | gzip -n9 >"$out/rewards.sql.gz"
else
  gzip -n9 <rewards.db >"$out/rewards.db.gz"
fi
gzip -n9 <paper.db >"$out/paper.db.gz"
ls -l ./*-wal 2>/dev/null || true
