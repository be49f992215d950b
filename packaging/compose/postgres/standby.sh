#!/bin/bash
# Copies the primary's data at the first start, and follows it from then on.
set -euo pipefail
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  until pg_basebackup --host "${PRIMARY:-db1}" --port "${PRIMARY_PORT:-5432}" --username replicator --pgdata "$PGDATA" --write-recovery-conf --checkpoint fast; do
    rm -rf "${PGDATA:?}"/*
    sleep 1
  done
  chmod 0700 "$PGDATA"
  # When it becomes the primary it has no standby to wait for.
  echo "synchronous_standby_names = ''" >>"$PGDATA/postgresql.auto.conf"
fi
exec postgres "$@"
