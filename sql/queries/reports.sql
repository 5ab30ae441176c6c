-- Read-only numbers and listings: what is due, and what the checks of the graph hold against their limits.

-- Approved sites with a full refresh to start or to take up again. An open refresh that was discovered and not
-- approved waits for its operator, unless somebody asked for another look since.
-- name: report_refreshes_due
SELECT s.site_id,
       coalesce(o.generation, l.generation + 1, 1) AS generation,
       greatest(s.created_at, s.approved_at, o.started_at, o.approved_at,
                CASE WHEN s.next_refresh_at <= %(now)s THEN s.next_refresh_at END) AS since,
       coalesce((s.options ->> 'refresh_interval_hours')::float8, 24) AS refresh_interval_hours,
       o.generation IS NOT NULL AS is_open
FROM sites s
LEFT JOIN refreshes o ON o.site_id = s.site_id AND o.finished_at IS NULL
LEFT JOIN LATERAL (SELECT max(r.generation) AS generation FROM refreshes r WHERE r.site_id = s.site_id) l ON true
WHERE s.state = 'active' AND s.approved_at IS NOT NULL
  AND CASE WHEN o.generation IS NULL THEN s.next_refresh_at <= %(now)s OR l.generation IS NULL
           WHEN o.kind <> 'full' THEN false
           ELSE o.discovered_at IS NULL OR o.approved_at IS NOT NULL
                OR (s.next_refresh_at > o.discovered_at AND s.next_refresh_at <= %(now)s) END
ORDER BY since, s.site_id
LIMIT %(most)s;

-- Sites with pages whose retry time has come, while no full refresh is open or due, or with an open retry.
-- name: report_retries_due
SELECT s.site_id,
       coalesce(o.generation, l.generation + 1) AS generation,
       greatest(l.finished_at, o.started_at, due.retry_at) AS since,
       coalesce((s.options ->> 'refresh_interval_hours')::float8, 24) AS refresh_interval_hours,
       o.generation IS NOT NULL AS is_open
FROM sites s
LEFT JOIN refreshes o ON o.site_id = s.site_id AND o.finished_at IS NULL
JOIN LATERAL (SELECT r.generation, r.finished_at FROM refreshes r
              WHERE r.site_id = s.site_id ORDER BY r.generation DESC LIMIT 1) l ON true
LEFT JOIN LATERAL (SELECT min(p.retry_at) AS retry_at FROM pages p
                   WHERE p.site_id = s.site_id AND p.state IN ('unreachable', 'deferred')
                     AND p.retry_at <= %(now)s) due ON true
WHERE s.state = 'active' AND s.approved_at IS NOT NULL
  AND CASE WHEN o.generation IS NULL THEN due.retry_at IS NOT NULL
                AND (s.next_refresh_at IS NULL OR s.next_refresh_at > %(now)s)
           ELSE o.kind = 'retry' END
ORDER BY since, s.site_id
LIMIT %(most)s;

-- How the pages that a refresh asked for have ended. A page that is still due has no outcome yet.
-- name: report_outcomes
SELECT CASE WHEN done_generation < %(generation)s THEN 'due' ELSE state END AS name, count(*) AS amount
FROM pages
WHERE site_id = %(site_id)s AND wanted_generation = %(generation)s
GROUP BY 1 ORDER BY 1;

-- Pages of a refresh that ended without an answer from the site, or have not ended.
-- name: report_unanswered
SELECT page_id, url, CASE WHEN done_generation < %(generation)s THEN 'due' ELSE state END AS state,
       coalesce(reason, error) AS reason
FROM pages
WHERE site_id = %(site_id)s AND wanted_generation = %(generation)s
  AND (done_generation < %(generation)s OR state IN ('unreachable', 'deferred'))
ORDER BY url LIMIT %(most)s;

-- Pages that a refresh found gone, forbidden or redirected with many others, and whose removal is held.
-- name: report_held_removals
SELECT page_id, url, state, coalesce(reason, error) AS reason
FROM pages
WHERE site_id = %(site_id)s AND state IN ('gone', 'forbidden', 'duplicate') AND held_generation IS NOT NULL
  AND content_hash IS NOT NULL AND removed_generation IS NULL
ORDER BY url LIMIT %(most)s;

-- Pages that say too little and of which no earlier copy is kept.
-- name: report_thin_pages
SELECT page_id, url, state, coalesce(reason, error) AS reason
FROM pages
WHERE site_id = %(site_id)s AND state = 'thin' AND (content_hash IS NULL OR removed_generation IS NOT NULL)
ORDER BY url LIMIT %(most)s;

-- name: report_thin_pages_count
SELECT count(*) FROM pages
WHERE site_id = %(site_id)s AND state = 'thin' AND (content_hash IS NULL OR removed_generation IS NOT NULL);

-- Why pages of a refresh gave nothing new, the commonest reason first.
-- name: report_troubles
SELECT coalesce(reason, state) AS reason, count(*) AS pages
FROM pages
WHERE site_id = %(site_id)s AND wanted_generation = %(generation)s AND done_generation >= %(generation)s
  AND state NOT IN ('fresh', 'unchanged', 'duplicate', 'excluded')
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %(most)s;
