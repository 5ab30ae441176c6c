-- The ledger: one row a URL of a site.

-- name: pages_get
SELECT * FROM pages WHERE site_id = %(site_id)s AND page_id = %(page_id)s;

-- name: pages_list
SELECT * FROM pages
WHERE site_id = %(site_id)s AND (%(states)s::text[] IS NULL OR state = ANY (%(states)s::text[]))
ORDER BY page_id;

-- name: pages_of_ids
SELECT * FROM pages WHERE site_id = %(site_id)s AND page_id = ANY (%(page_ids)s::text[]) ORDER BY page_id;

-- name: pages_count_by_state
SELECT state AS name, count(*) AS amount FROM pages WHERE site_id = %(site_id)s GROUP BY state ORDER BY state;

-- name: pages_count_exclusions
SELECT coalesce(reason, 'unknown') AS name, count(*) AS amount
FROM pages WHERE site_id = %(site_id)s AND state = 'excluded' GROUP BY 1 ORDER BY 2 DESC, 1;

-- name: pages_count_with_copy
SELECT count(*) FROM pages
WHERE site_id = %(site_id)s AND content_hash IS NOT NULL AND removed_generation IS NULL;

-- What extraction derives from: pages that have a snapshot and were not removed.
-- name: pages_snapshot_marks
SELECT page_id AS key, content_hash AS fingerprint, coalesce(body_bytes, 0) AS weight
FROM pages
WHERE site_id = %(site_id)s AND content_hash IS NOT NULL AND removed_generation IS NULL
ORDER BY page_id;

-- One row a URL that discovery found. A page that was left out before and is kept now starts over; a page that
-- robots.txt forbids is done at once, since it is never asked for; any other keeps its last outcome until it is
-- fetched. Found twice in one refresh (a resumed discovery), a page that is done stays done.
-- name: pages_discovered
INSERT INTO pages AS p (site_id, page_id, url, state, reason, source, depth, priority, sitemap_lastmod, alternates,
                        first_seen_at, last_seen_at, seen_generation, wanted_generation, done_generation)
SELECT %(site_id)s, f.page_id, f.url, f.state, f.reason, f.source, f.depth, f.priority, f.lastmod, f.alternates::jsonb,
       %(now)s, %(now)s, %(generation)s,
       CASE WHEN f.state = 'excluded' THEN 0 ELSE %(generation)s END,
       CASE WHEN f.state = 'forbidden' THEN %(generation)s ELSE 0 END
FROM unnest(%(page_ids)s::text[], %(urls)s::text[], %(states)s::text[], %(reasons)s::text[], %(sources)s::text[],
            %(depths)s::integer[], %(priorities)s::real[], %(lastmods)s::timestamptz[], %(alternates)s::text[])
     AS f (page_id, url, state, reason, source, depth, priority, lastmod, alternates)
ON CONFLICT (site_id, page_id) DO UPDATE SET
    url = excluded.url,
    state = CASE WHEN excluded.state = 'pending' AND p.state <> 'excluded' THEN p.state ELSE excluded.state END,
    reason = CASE WHEN excluded.state = 'pending' AND p.state <> 'excluded' THEN p.reason ELSE excluded.reason END,
    source = excluded.source,
    depth = least(p.depth, excluded.depth),
    priority = excluded.priority,
    sitemap_lastmod = excluded.sitemap_lastmod,
    alternates = excluded.alternates,
    last_seen_at = excluded.last_seen_at,
    seen_generation = excluded.seen_generation,
    wanted_generation = CASE WHEN excluded.state = 'excluded' THEN p.done_generation
                             ELSE excluded.wanted_generation END,
    done_generation = greatest(p.done_generation, excluded.done_generation),
    attempts = CASE WHEN p.wanted_generation < excluded.wanted_generation THEN 0 ELSE p.attempts END,
    retry_at = CASE WHEN p.wanted_generation < excluded.wanted_generation THEN NULL ELSE p.retry_at END;

-- Pages that have a copy and were not found this time are asked again before they are dropped.
-- name: pages_want_unseen
UPDATE pages SET wanted_generation = %(generation)s, attempts = 0, retry_at = NULL
WHERE site_id = %(site_id)s AND seen_generation < %(generation)s AND wanted_generation < %(generation)s
  AND state <> 'excluded' AND content_hash IS NOT NULL AND removed_generation IS NULL;

-- name: aliases_add
INSERT INTO aliases (site_id, alias_id, url, page_id, kind, seen_at)
SELECT %(site_id)s, f.alias_id, f.url, f.page_id, f.kind, %(now)s
FROM unnest(%(alias_ids)s::text[], %(urls)s::text[], %(page_ids)s::text[], %(kinds)s::text[])
     AS f (alias_id, url, page_id, kind)
ON CONFLICT (site_id, alias_id, url) DO UPDATE SET
    page_id = excluded.page_id, kind = excluded.kind, seen_at = excluded.seen_at;

-- name: aliases_of_page
SELECT * FROM aliases WHERE site_id = %(site_id)s AND page_id = %(page_id)s ORDER BY url;
