#!/usr/bin/env bash
# Makes the role that serves, once, when the database is made; the image of PostgreSQL runs it as the owner.
set -euo pipefail

psql -v ON_ERROR_STOP=1 -v password="$SERVING_PASSWORD" -U "$POSTGRES_USER" -d "$POSTGRES_DB" \
    <<<"create role holdfast login password :'password'"
