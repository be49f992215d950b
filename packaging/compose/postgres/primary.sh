#!/bin/bash
# Runs once, when the primary's data is created: roles, the database, and replication.
set -euo pipefail
psql --username postgres --set password="$POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
CREATE ROLE stockrewards LOGIN PASSWORD :'password';
CREATE DATABASE rewards OWNER stockrewards ENCODING 'UTF8' TEMPLATE template0;
-- From the next start on, which follows this script, a commit waits until the standby has it.
ALTER SYSTEM SET synchronous_standby_names = '*';
SQL
echo "host replication replicator all scram-sha-256" >>"$PGDATA/pg_hba.conf"
