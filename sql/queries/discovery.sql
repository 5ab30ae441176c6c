-- What discovery, approval and the retries need of the ledger beyond recording a list.

-- name: discovery_known
SELECT page_id, state, content_hash IS NOT NULL AND removed_generation IS NULL AS has_copy
FROM pages WHERE site_id = %(site_id)s;

-- Copies that the list did not name this time, and pages that only other pages lead to: they are asked again, unless
-- the owner's rules now leave them out.
-- name: discovery_unseen
SELECT page_id, url, depth, source FROM pages
WHERE site_id = %(site_id)s AND seen_generation < %(generation)s AND state <> 'excluded'
  AND (source IN ('link', 'redirect') OR (content_hash IS NOT NULL AND removed_generation IS NULL))
ORDER BY page_id;

-- Pages that only other pages lead to and that were left out, the best first.
-- name: discovery_links_left_out
SELECT page_id, url, depth, source FROM pages
WHERE site_id = %(site_id)s AND seen_generation < %(generation)s AND state = 'excluded'
  AND source IN ('link', 'redirect')
ORDER BY depth, length(url), url COLLATE "C";

-- name: discovery_ask_for
UPDATE pages SET state = 'pending', reason = NULL, wanted_generation = %(generation)s, seen_generation = %(generation)s,
                 attempts = 0, retry_at = NULL
WHERE site_id = %(site_id)s AND page_id = ANY (%(page_ids)s::text[]);

-- Of the copies that the list does not name, as many as there are more than the site may have pages.
-- name: discovery_trim_copies
WITH copies AS (
    SELECT page_id, seen_generation < %(generation)s AS unseen, count(*) OVER () AS held,
           row_number() OVER (PARTITION BY seen_generation < %(generation)s
                              ORDER BY coalesce(priority, 0.5), depth DESC, length(url) DESC, url COLLATE "C" DESC)
               AS place
    FROM pages
    WHERE site_id = %(site_id)s AND state <> 'excluded' AND content_hash IS NOT NULL AND removed_generation IS NULL
)
UPDATE pages p SET state = 'excluded', reason = %(reason)s, wanted_generation = p.done_generation
FROM copies c
WHERE p.site_id = %(site_id)s AND p.page_id = c.page_id AND c.unseen AND c.place <= c.held - %(most)s;

-- name: discovery_exclude
UPDATE pages p SET state = 'excluded', reason = f.reason, wanted_generation = p.done_generation
FROM unnest(%(page_ids)s::text[], %(reasons)s::text[]) AS f (page_id, reason)
WHERE p.site_id = %(site_id)s AND p.page_id = f.page_id;

-- Pages that only other pages lead to. Their parents may be unchanged, and then nobody would name them again.
-- Those that were gone are given up a month after they were last linked.
-- name: discovery_want_linked
UPDATE pages SET wanted_generation = %(generation)s, seen_generation = %(generation)s, attempts = 0, retry_at = NULL
WHERE site_id = %(site_id)s AND source IN ('link', 'redirect')
  AND wanted_generation < %(generation)s AND state NOT IN ('excluded', 'duplicate')
  AND (state <> 'gone' OR last_seen_at > %(now)s::timestamptz - interval '30 days');

-- Links of fetched pages. A page that is on this refresh's list already keeps what the list says of it; one that an
-- earlier refresh knew is asked for again.
-- name: discovery_add_links
INSERT INTO pages AS p (site_id, page_id, url, state, reason, source, depth, first_seen_at, last_seen_at,
                        seen_generation, wanted_generation)
SELECT %(site_id)s, f.page_id, f.url, f.state, f.reason, f.source, f.depth, %(now)s, %(now)s, %(generation)s,
       CASE WHEN f.state = 'excluded' THEN 0 ELSE %(generation)s END
FROM unnest(%(page_ids)s::text[], %(urls)s::text[], %(states)s::text[], %(reasons)s::text[], %(sources)s::text[],
            %(depths)s::integer[]) AS f (page_id, url, state, reason, source, depth)
ON CONFLICT (site_id, page_id) DO UPDATE SET
    state = CASE WHEN excluded.state = 'excluded' OR p.state = 'excluded' THEN excluded.state ELSE p.state END,
    reason = CASE WHEN excluded.state = 'excluded' OR p.state = 'excluded' THEN excluded.reason ELSE p.reason END,
    depth = least(p.depth, excluded.depth),
    last_seen_at = excluded.last_seen_at,
    seen_generation = excluded.seen_generation,
    wanted_generation = CASE WHEN excluded.state = 'excluded' THEN p.done_generation
                             ELSE greatest(p.wanted_generation, excluded.wanted_generation) END,
    attempts = CASE WHEN p.wanted_generation < excluded.wanted_generation THEN 0 ELSE p.attempts END,
    retry_at = CASE WHEN p.wanted_generation < excluded.wanted_generation THEN NULL ELSE p.retry_at END
WHERE p.seen_generation < excluded.seen_generation;

-- name: discovery_wanted
SELECT count(*) FROM pages WHERE site_id = %(site_id)s AND wanted_generation = %(generation)s AND state <> 'forbidden';

-- The newest rows of URLs left out are kept: enough to answer "why is this page not in?", and no more.
-- name: discovery_trim_excluded
DELETE FROM pages p USING (
    SELECT page_id FROM pages
    WHERE site_id = %(site_id)s AND state = 'excluded' AND content_hash IS NULL
    ORDER BY last_seen_at DESC, page_id OFFSET %(most)s
) old
WHERE p.site_id = %(site_id)s AND p.page_id = old.page_id;

-- name: discovery_readmit
UPDATE pages SET state = 'pending', reason = NULL, wanted_generation = %(generation)s, attempts = 0, retry_at = NULL
WHERE site_id = %(site_id)s AND state = 'excluded' AND reason = %(reason)s;

-- Pages that have a copy come first, so that a list that grows takes nothing out of the index.
-- name: discovery_trim_wanted
WITH ranked AS (
    SELECT page_id,
           row_number() OVER (ORDER BY (content_hash IS NOT NULL AND removed_generation IS NULL) DESC,
                              coalesce(priority, 0.5) DESC, depth, length(url), url COLLATE "C") AS place
    FROM pages
    WHERE site_id = %(site_id)s AND wanted_generation = %(generation)s AND state NOT IN ('excluded', 'forbidden')
)
UPDATE pages p SET state = 'excluded', reason = %(reason)s, wanted_generation = p.done_generation
FROM ranked r
WHERE p.site_id = %(site_id)s AND p.page_id = r.page_id AND r.place > %(most)s;

-- name: discovery_lock_tenant
SELECT pg_advisory_xact_lock(hashtextextended('allowance of ' || %(tenant)s, 0));

-- What a tenant's other sites hold, or will hold when the imports that are approved have ended.
-- name: discovery_tenant_holds
SELECT coalesce(sum(greatest(held.pages, coming.pages)), 0)::bigint AS pages,
       coalesce(sum(greatest(held.characters, coming.tokens * %(characters_a_token)s)), 0)::bigint AS characters
FROM sites s
CROSS JOIN LATERAL (
    SELECT count(*) AS pages, coalesce(sum(p.characters), 0) AS characters FROM pages p
    WHERE p.site_id = s.site_id AND p.content_hash IS NOT NULL AND p.removed_generation IS NULL
) held
CROSS JOIN LATERAL (
    SELECT coalesce(max((r.estimate ->> 'pages')::bigint), 0) AS pages,
           coalesce(max((r.estimate ->> 'tokens')::bigint), 0) AS tokens
    FROM refreshes r
    WHERE r.site_id = s.site_id AND r.finished_at IS NULL AND r.approved_at IS NOT NULL
) coming
WHERE s.tenant = %(tenant)s AND s.site_id <> %(site_id)s AND s.state <> 'removing';

-- name: discovery_history
SELECT count(*) AS pages, coalesce(avg(characters), 0)::float8 AS mean, coalesce(stddev_samp(characters), 0)::float8 AS spread
FROM pages
WHERE site_id = %(site_id)s AND characters > 0 AND content_hash IS NOT NULL AND removed_generation IS NULL;

-- name: discovery_set_reason
UPDATE refreshes SET reason = %(reason)s
WHERE site_id = %(site_id)s AND generation = %(generation)s AND finished_at IS NULL;

-- name: discovery_promote
UPDATE refreshes SET kind = 'full', discovered_at = NULL, approved_at = NULL, approved_by = NULL
WHERE site_id = %(site_id)s AND generation = %(generation)s AND kind = 'retry';

-- name: discovery_discovered_at
SELECT discovered_at FROM refreshes WHERE site_id = %(site_id)s AND generation = %(generation)s;

-- name: discovery_retries
SELECT page_id, url, depth, source FROM pages
WHERE site_id = %(site_id)s AND state IN ('unreachable', 'deferred') AND retry_at <= %(now)s
  AND wanted_generation < %(generation)s
ORDER BY page_id;

-- name: discovery_want_retries
UPDATE pages SET wanted_generation = %(generation)s, attempts = 0, retry_at = NULL
WHERE site_id = %(site_id)s AND state IN ('unreachable', 'deferred') AND retry_at <= %(now)s
  AND wanted_generation < %(generation)s;

-- How many full refreshes in a row have failed, counted from the last one. What a retry comes to says nothing of them.
-- name: discovery_failures_in_a_row
SELECT count(*) FROM refreshes r
WHERE r.site_id = %(site_id)s AND r.kind = 'full' AND r.outcome = 'failed'
  AND r.generation > coalesce((SELECT max(o.generation) FROM refreshes o
                               WHERE o.site_id = %(site_id)s AND o.kind = 'full'
                                 AND o.outcome IN ('published', 'held')), 0);
