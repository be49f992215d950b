#!/usr/bin/env bash
# Installs the Debian packages of the named programs that are missing.
set -euo pipefail

declare -A package=([gcc]="gcc libc6-dev" [curl]=curl [mount]=mount [mkfs.ext4]=e2fsprogs [strace]=strace [chromium]=chromium
  [hledger]=hledger [jq]=jq [python3]=python3 [npx]="nodejs npm" [postgres]=postgresql [pgbouncer]=pgbouncer [wrk]=wrk [zsh]=zsh [fish]=fish [groff]=groff-base
  [promtool]=prometheus [systemd-analyze]=systemd [lintian]=lintian [debootstrap]=debootstrap [podman]=podman [runc]=runc)

# found reports whether a program is installed. PostgreSQL's server and PgBouncer are not on
# everybody's PATH in Debian.
found() {
  command -v "$1" >/dev/null && return
  compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null || [ -x "/usr/sbin/$1" ]
}

missing=()
for program in "$@"; do
  found "$program" || missing+=("${package[$program]}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=$(command -v sudo || true)
[ "$(id -u)" -eq 0 ] && sudo=
# shellcheck disable=SC2068,SC2086 # names are to be split
{
  $sudo apt-get update -q
  $sudo apt-get install -qy --no-install-recommends ${missing[@]}
}
