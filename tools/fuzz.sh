#!/usr/bin/env bash
# Runs every fuzz target for a while, one after the other, and prints how many
# executions each had. What it finds is written to the testdata of the target's
# package, where go test runs it from then on.
#
#   tools/fuzz.sh 30s          every target for half a minute
#   tools/fuzz.sh 30s Reward   those whose name has it
set -euo pipefail
cd "$(dirname "$0")/.."
time="$1"
only="${2:-}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
failed=0
for package in $(grep -rl --include='*_test.go' '^func Fuzz' internal test | xargs -n1 dirname | sort -u); do
  # To instrument SQLite takes minutes and a gigabyte: what needs it goes without.
  instrument=-fuzz=Fuzz
  if go list -test -deps "./$package" | grep -q '^modernc.org/sqlite'; then
    instrument=
  fi
  go test -c $instrument -o "$folder/fuzz.test" "./$package"
  for target in $(cd "$package" && "$folder/fuzz.test" -test.list '^Fuzz'); do
    [[ "$target" == *"$only"* ]] || continue
    if (cd "$package" && "$folder/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" \
      -test.fuzzcachedir "$folder/corpus/$package") >"$folder/log" 2>&1; then
      echo "$package $target: $(grep -o 'execs: [0-9]*' "$folder/log" | tail -1 || echo "the seeds alone")"
    elif grep -q 'context deadline exceeded' "$folder/log" && ! grep -q 'Failing input' "$folder/log"; then
      echo "$package $target: the time was over before its seeds were; every go test runs those"
    else
      echo "$package $target: FAILED"
      cat "$folder/log"
      failed=1
    fi
  done
done
exit "$failed"
