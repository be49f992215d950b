#!/bin/sh
# Checks the API document with the recommended rules of Redocly and Spectral; any warning fails. It needs Node.js
# 20.19 or newer, which is installed from Debian (13 or newer) when it is missing: as
# root, in a CI image.
set -eu
cd "$(dirname "$0")/.."

if ! command -v npx >/dev/null; then
	apt-get update -qq
	apt-get install -qq -y --no-install-recommends nodejs npm
fi

export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
npx --yes @redocly/cli@2.77.0 lint --config tools/redocly.yaml "$@" internal/api/openapi.json
exec npx --yes @stoplight/spectral-cli@6.16.3 lint --ruleset tools/spectral.yaml --fail-severity=hint internal/api/openapi.json
