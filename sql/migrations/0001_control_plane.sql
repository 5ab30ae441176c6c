-- The control plane: which sites there are, what is known of each of their pages, how each refresh went,
-- and which version of the vectors is live. Page bodies, texts, chunks and vectors are in Lance.

CREATE TABLE sites (
    site_id          text PRIMARY KEY CHECK (site_id ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    url              text NOT NULL,
    source_type      text NOT NULL CHECK (source_type IN ('auto', 'sitemap', 'feed', 'url')),
    state            text NOT NULL CHECK (state IN ('registered', 'awaiting_approval', 'active', 'removing')),
    options          jsonb NOT NULL DEFAULT '{}',
    tenant           text NOT NULL DEFAULT 'default',
    created_at       timestamptz NOT NULL DEFAULT now(),
    approved_at      timestamptz,
    approved_by      text,
    approved_pages   integer CHECK (approved_pages > 0),
    next_refresh_at  timestamptz,
    last_error       text,
    last_error_at    timestamptz
);

CREATE TABLE pages (
    site_id            text NOT NULL REFERENCES sites ON DELETE CASCADE,
    page_id            text NOT NULL CHECK (page_id ~ '^[0-9a-f]{24}$') COLLATE "C",
    url                text NOT NULL,
    state              text NOT NULL CHECK (state IN ('pending', 'excluded', 'fresh', 'unchanged', 'gone', 'forbidden',
                                            'duplicate', 'gate', 'thin', 'unreachable', 'deferred')),
    reason             text,
    source             text NOT NULL,
    depth              integer NOT NULL DEFAULT 0,
    priority           real,
    sitemap_lastmod    timestamptz,
    alternates         jsonb NOT NULL DEFAULT '[]',
    tier               text,
    tiers              jsonb NOT NULL DEFAULT '[]',
    status_code        integer,
    final_url          text,
    etag               text,
    last_modified      text,
    content_hash       text,
    body_bytes         bigint,
    duplicate_of       text,
    attempts           integer NOT NULL DEFAULT 0,
    retry_at           timestamptz,
    first_seen_at      timestamptz NOT NULL DEFAULT now(),
    last_seen_at       timestamptz NOT NULL DEFAULT now(),
    last_fetched_at    timestamptz,
    last_indexed_at    timestamptz,
    title              text,
    characters         integer,
    chunk_count        integer,
    error              text,
    seen_generation    integer NOT NULL DEFAULT 0,
    wanted_generation  integer NOT NULL DEFAULT 0,
    done_generation    integer NOT NULL DEFAULT 0,
    removed_generation integer,
    PRIMARY KEY (site_id, page_id)
);
COMMENT ON COLUMN pages.wanted_generation IS 'The refresh that asks for this page; the page is due while done_generation is lower.';
COMMENT ON COLUMN pages.removed_generation IS 'The refresh whose removal of the indexed copy was let through; null while a copy may be indexed.';

-- The fetch frontier: pages still due in the open refresh, those whose retry time has come first.
CREATE INDEX pages_due ON pages (site_id, retry_at, page_id) WHERE wanted_generation > done_generation;
CREATE INDEX pages_by_state ON pages (site_id, state);
CREATE INDEX pages_by_url ON pages (url);

-- Other addresses of a page: redirects, canonical links, www and scheme twins.
CREATE TABLE aliases (
    site_id    text NOT NULL REFERENCES sites ON DELETE CASCADE,
    alias_id   text NOT NULL COLLATE "C",
    url        text NOT NULL,
    page_id    text NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('redirect', 'canonical', 'same_identity')),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (site_id, alias_id, url)
);
CREATE INDEX aliases_by_page ON aliases (site_id, page_id);

CREATE TABLE refreshes (
    site_id               text NOT NULL REFERENCES sites ON DELETE CASCADE,
    generation            integer NOT NULL CHECK (generation > 0),
    kind                  text NOT NULL CHECK (kind IN ('full', 'retry')),
    started_at            timestamptz NOT NULL DEFAULT now(),
    finished_at           timestamptz,
    outcome               text CHECK (outcome IN ('published', 'held', 'failed')),
    reason                text,
    discovered_at         timestamptz,
    fetched_at            timestamptz,
    estimate              jsonb,
    approved_at           timestamptz,
    approved_by           text,
    held_removals         integer NOT NULL DEFAULT 0,
    removals_confirmed_at timestamptz,
    counts                jsonb NOT NULL DEFAULT '{}',
    run_id                text,
    PRIMARY KEY (site_id, generation),
    CHECK ((finished_at IS NULL) = (outcome IS NULL))
);
-- At most one open refresh a site: a killed run is resumed, never doubled.
CREATE UNIQUE INDEX refreshes_open ON refreshes (site_id) WHERE finished_at IS NULL;

CREATE TABLE usage (
    day     date NOT NULL,
    tenant  text NOT NULL,
    name    text NOT NULL,
    amount  bigint NOT NULL DEFAULT 0 CHECK (amount >= 0),
    PRIMARY KEY (day, tenant, name)
);

CREATE TABLE allowances (
    tenant      text PRIMARY KEY,
    max_pages   bigint CHECK (max_pages >= 0),
    max_tokens  bigint CHECK (max_tokens >= 0)
);
COMMENT ON TABLE allowances IS 'What a tenant may have indexed at once; null, or no row, is no limit.';

CREATE TABLE publications (
    publication_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id         text NOT NULL REFERENCES sites ON DELETE CASCADE,
    table_name      text NOT NULL,
    lance_version   bigint NOT NULL,
    generation      integer NOT NULL,
    rows            bigint NOT NULL,
    pages           bigint NOT NULL,
    published_at    timestamptz NOT NULL DEFAULT now(),
    reason          text NOT NULL,
    live            boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX publications_live ON publications (site_id) WHERE live;
CREATE INDEX publications_by_site ON publications (site_id, publication_id);

CREATE TABLE queries (
    query_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site_id    text NOT NULL REFERENCES sites ON DELETE CASCADE,
    question   text NOT NULL,
    mode       text NOT NULL,
    hits       integer NOT NULL,
    millis     real NOT NULL,
    asked_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX queries_recent ON queries (site_id, asked_at DESC);

-- A page that could not be derived in one step. Its old rows stay; it is tried again from retry_at on, or at
-- once when what it derives from, or the step's recipe, changes the fingerprint.
CREATE TABLE failures (
    site_id      text NOT NULL REFERENCES sites ON DELETE CASCADE,
    step         text NOT NULL,
    key          text NOT NULL COLLATE "C",
    fingerprint  text NOT NULL,
    error        text NOT NULL,
    attempts     integer NOT NULL,
    retry_at     timestamptz NOT NULL,
    failed_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (site_id, step, key)
);

-- Politeness shared by every run on every machine: when the next request to a host may start.
CREATE TABLE hosts (
    host          text PRIMARY KEY,
    next_slot_at  timestamptz NOT NULL DEFAULT now(),
    slowdown      real NOT NULL DEFAULT 1 CHECK (slowdown >= 1),
    updated_at    timestamptz NOT NULL DEFAULT now()
);

-- The last robots.txt that was read of each origin: it serves for a day when the site cannot give a new one.
CREATE TABLE robots_files (
    origin      text PRIMARY KEY,
    status      integer NOT NULL,
    body        bytea NOT NULL,
    fetched_at  timestamptz NOT NULL
);
