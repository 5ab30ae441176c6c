-- The fetch frontier: pages still due in the open refresh, what ended them, and which copies then leave the index.

-- Those whose retry time has come first. Pages that a worker has in hand, or that wait to be committed, are left out.
-- A page that was a duplicate is asked conditionally as long as its original is kept, unless it only redirected there. A copy without a length is one
-- whose body was lost.
-- name: frontier_due
SELECT p.page_id, p.url, p.state, p.reason, p.depth, p.etag, p.last_modified, p.content_hash, p.duplicate_of, p.attempts,
       p.failed_refreshes, p.looked_for, p.rejected,
       p.content_hash IS NOT NULL AND p.removed_generation IS NULL AND p.body_bytes IS NOT NULL AS has_copy,
       EXISTS (SELECT FROM pages o WHERE o.site_id = p.site_id AND o.page_id = p.duplicate_of
               AND o.content_hash IS NOT NULL AND o.removed_generation IS NULL
               AND o.state IN ('fresh', 'unchanged')) AS original_is_kept,
       EXISTS (SELECT FROM aliases a WHERE a.site_id = p.site_id AND a.alias_id = p.page_id
               AND a.page_id = p.duplicate_of AND a.kind = 'redirect') AS redirected
FROM pages p
WHERE p.site_id = %(site_id)s AND p.wanted_generation > p.done_generation
  AND (p.retry_at IS NULL OR p.retry_at <= %(now)s)
  AND p.page_id <> ALL (%(in_hand)s::text[])
ORDER BY p.retry_at NULLS LAST, p.page_id
LIMIT %(most)s;

-- name: frontier_left
SELECT count(*) AS pages, min(retry_at) FILTER (WHERE retry_at > %(now)s) AS next_retry_at
FROM pages
WHERE site_id = %(site_id)s AND wanted_generation > done_generation;

-- An outcome. `replaces` says that a new copy was stored, or the old one confirmed with new validators.
-- name: frontier_end
UPDATE pages SET
    state = %(state)s, reason = %(reason)s, tier = coalesce(%(tier)s::text, tier), tiers = %(tiers)s,
    status_code = %(status_code)s, error = %(error)s, attempts = %(attempts)s, retry_at = %(retry_at)s,
    duplicate_of = %(duplicate_of)s, final_url = coalesce(%(final_url)s::text, final_url),
    etag = CASE WHEN %(replaces)s THEN %(etag)s ELSE etag END,
    last_modified = CASE WHEN %(replaces)s THEN %(last_modified)s ELSE last_modified END,
    content_hash = CASE WHEN %(replaces)s THEN %(content_hash)s ELSE content_hash END,
    body_bytes = CASE WHEN %(replaces)s THEN %(body_bytes)s ELSE body_bytes END,
    looked_for = coalesce(%(looked_for)s::text[], looked_for),
    rejected = CASE WHEN %(state)s IN ('fresh', 'unchanged', 'duplicate') THEN NULL ELSE coalesce(%(rejected)s, rejected) END,
    removed_generation = CASE WHEN %(state)s IN ('fresh', 'unchanged') THEN NULL ELSE removed_generation END,
    -- Held until the next refresh says the same: one that says anything else begins anew.
    held_generation = CASE WHEN state = %(state)s THEN held_generation END,
    last_fetched_at = CASE WHEN %(answered)s THEN %(now)s ELSE last_fetched_at END,
    failed_refreshes = CASE WHEN %(answered)s THEN 0
                            WHEN %(state)s = 'unreachable' THEN failed_refreshes + 1 ELSE failed_refreshes END,
    done_generation = greatest(wanted_generation, %(generation)s)
WHERE site_id = %(site_id)s AND page_id = %(page_id)s;

-- A failure that is tried again within the refresh: the page stays due.
-- name: frontier_retry
UPDATE pages SET attempts = %(attempts)s, retry_at = %(retry_at)s, reason = %(reason)s, error = %(error)s,
                 tiers = %(tiers)s, status_code = %(status_code)s
WHERE site_id = %(site_id)s AND page_id = %(page_id)s;

-- name: frontier_defer_rest
UPDATE pages SET state = 'deferred', reason = %(reason)s, retry_at = %(retry_at)s,
                 done_generation = greatest(wanted_generation, %(generation)s)
WHERE site_id = %(site_id)s AND wanted_generation > done_generation;

-- name: frontier_outcomes
SELECT state AS name, count(*) AS amount FROM pages
WHERE site_id = %(site_id)s AND wanted_generation = %(generation)s AND done_generation >= %(generation)s
GROUP BY state ORDER BY state;

-- Where pages lead to that were just read is recorded anew.
-- name: frontier_forget_leads
DELETE FROM aliases WHERE site_id = %(site_id)s AND kind IN ('canonical', 'redirect') AND alias_id = ANY (%(page_ids)s::text[]);

-- Pages that call another kept page their canonical address, where either was read anew in this refresh.
-- name: frontier_canonical_pairs
SELECT p.page_id, p.url, o.page_id AS original_id, o.url AS original_url
FROM aliases a
JOIN pages p ON p.site_id = a.site_id AND p.page_id = a.alias_id
JOIN pages o ON o.site_id = a.site_id AND o.page_id = a.page_id
WHERE a.site_id = %(site_id)s AND a.kind = 'canonical' AND p.page_id <> o.page_id
  AND p.done_generation >= %(generation)s AND p.state IN ('fresh', 'unchanged') AND p.content_hash IS NOT NULL
  AND o.state IN ('fresh', 'unchanged') AND o.content_hash IS NOT NULL AND o.removed_generation IS NULL
  AND (p.state = 'fresh' OR o.state = 'fresh')
ORDER BY o.page_id, p.page_id;

-- Asks in this refresh for pages that other pages lead to.
-- name: frontier_want
UPDATE pages SET wanted_generation = %(generation)s, attempts = 0, retry_at = NULL
WHERE site_id = %(site_id)s AND page_id = ANY (%(page_ids)s::text[])
  AND wanted_generation < %(generation)s AND state <> 'excluded';

-- Pages whose stored body was lost, so that nothing can be compared with it: they are due again, whatever they ended
-- as in this refresh. What was derived from them stays meanwhile.
-- name: frontier_ask_anew
UPDATE pages SET body_bytes = NULL, wanted_generation = %(generation)s, attempts = 0, retry_at = NULL,
                 done_generation = least(done_generation, %(generation)s - 1)
WHERE site_id = %(site_id)s AND page_id = ANY (%(page_ids)s::text[]) AND state <> 'excluded'
  AND content_hash IS NOT NULL AND removed_generation IS NULL;

-- name: frontier_fold
UPDATE pages SET state = 'duplicate', duplicate_of = %(original_id)s, reason = %(reason)s
WHERE site_id = %(site_id)s AND page_id = %(page_id)s;

-- Copies that this refresh would take out of the index. What the owner excluded is no surprise, and neither is a
-- duplicate whose original is kept, unless many pages at once lead to the same one.
-- name: frontier_removable
WITH removable AS (
    SELECT p.page_id, p.url, p.state, p.reason, p.held_generation, p.duplicate_of, p.tiers,
           p.state = 'duplicate'
           AND EXISTS (SELECT FROM aliases a WHERE a.site_id = p.site_id AND a.alias_id = p.page_id
                       AND a.page_id = p.duplicate_of AND a.kind = 'redirect') AS redirects
    FROM pages p
    WHERE p.site_id = %(site_id)s AND p.content_hash IS NOT NULL AND p.removed_generation IS NULL
      AND (p.state = 'excluded'
           OR (p.done_generation >= %(generation)s AND p.state IN ('gone', 'forbidden'))
           OR (p.done_generation >= %(generation)s AND p.state = 'duplicate'
               AND EXISTS (SELECT FROM pages o WHERE o.site_id = p.site_id AND o.page_id = p.duplicate_of
                           AND o.content_hash IS NOT NULL AND o.removed_generation IS NULL
                           AND o.state IN ('fresh', 'unchanged'))))
)
-- Held by the full refresh just before this one, whatever came of that: nights without an answer confirm nothing.
SELECT page_id, url, state, reason,
       coalesce(held_generation = (SELECT max(r.generation) FROM refreshes r
                                   WHERE r.site_id = %(site_id)s AND r.kind = 'full'
                                     AND r.generation < %(generation)s), false) AS was_held,
       jsonb_path_query_array(tiers, '$[*].answer') AS answers,
       state IN ('gone', 'forbidden')
       OR (redirects AND count(*) OVER (PARTITION BY redirects, duplicate_of) > %(same_target)s) AS suspicious
FROM removable
ORDER BY page_id;

-- name: frontier_remove
UPDATE pages SET removed_generation = %(generation)s, held_generation = NULL
WHERE site_id = %(site_id)s AND page_id = ANY (%(page_ids)s::text[]) AND removed_generation IS NULL;

-- name: frontier_hold
UPDATE pages SET held_generation = %(generation)s
WHERE site_id = %(site_id)s AND page_id = ANY (%(page_ids)s::text[]);

-- Whether a sitemap, a feed or llms.txt lists the site.
-- name: frontier_has_list
SELECT EXISTS (SELECT FROM pages WHERE site_id = %(site_id)s AND source IN ('sitemap', 'feed', 'llms_txt'));
