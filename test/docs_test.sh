# What TestDocs puts before the commands of a page: they stop at the first failure.
set -euo pipefail
declare -A running=()

at() { echo "$1"; }

# server starts a server, in place of the running one of its kind, and waits until it listens.
server() {
  local kind=${1/dev/serve} log pid
  shift
  if [ -n "${running[$kind]:-}" ]; then # its child, if it is go run; a background job ignores SIGINT
    pid=${running[$kind]}
    # shellcheck disable=SC2046 # a list
    kill -TERM $(cat /proc/"$pid"/task/*/children | grep . || echo "$pid")
    wait "$pid"
  fi
  case "$kind $*" in
    *--listen*) ;;
    paper*) set -- "$@" --listen 127.0.0.1:8090 ;;
    *) set -- "$@" --listen 127.0.0.1:8080 ;;
  esac
  log=$(mktemp "$LOGS/$kind.XXXX.log")
  "$@" >"$log" 2>&1 &
  pid=$!
  running[$kind]=$pid
  for _ in $(seq 1200); do
    if grep -q -e '"msg":"listening"' -e 'openapi.json' "$log"; then
      return
    fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  cat "$log"
  return 1
}

# refused runs a command that must fail with a message on standard error.
refused() {
  local want=$1 got
  shift
  if got=$(timeout 30 "$@" 2>&1 >/dev/null); then
    echo "it succeeded, want: $want"
    return 1
  fi
  if [ "${got##*$'\n'}" != "$want" ]; then
    printf 'got:  %s\nwant: %s\n' "$got" "$want"
    return 1
  fi
}

# A paper brokerage stands in for Alpaca.
export STOCKREWARDS_ALPACA_URL=http://127.0.0.1:8090 STOCKREWARDS_ALPACA_DATA_URL=http://127.0.0.1:8090
