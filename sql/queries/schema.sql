-- The bookkeeping of migrations, and what it takes to make a database.

-- name: schema_table_create
CREATE TABLE IF NOT EXISTS schema_migrations (
    number      integer PRIMARY KEY,
    name        text NOT NULL,
    sha256      text NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now()
);

-- name: schema_table_exists
SELECT to_regclass('schema_migrations') IS NOT NULL;

-- name: schema_applied
SELECT number, name, sha256 FROM schema_migrations ORDER BY number;

-- name: schema_record
INSERT INTO schema_migrations (number, name, sha256) VALUES (%(number)s, %(name)s, %(sha256)s);

-- name: schema_lock
SELECT pg_advisory_lock(hashtextextended('kb_pipeline.schema', 0));

-- name: database_exists
SELECT EXISTS (SELECT FROM pg_database WHERE datname = %(name)s);

-- `name` is an identifier, put in with psycopg.sql.
-- name: database_create
CREATE DATABASE {name};

-- name: database_drop
DROP DATABASE IF EXISTS {name} WITH (FORCE);
