-- One row a refresh of a site; at most one of a site is open.

-- name: refreshes_open
SELECT * FROM refreshes WHERE site_id = %(site_id)s AND finished_at IS NULL;

-- name: refreshes_get
SELECT * FROM refreshes WHERE site_id = %(site_id)s AND generation = %(generation)s;

-- name: refreshes_latest
SELECT * FROM refreshes WHERE site_id = %(site_id)s ORDER BY generation DESC LIMIT 1;

-- name: refreshes_list
SELECT * FROM refreshes WHERE site_id = %(site_id)s ORDER BY generation DESC LIMIT %(most)s;

-- The refresh before that read the site's list. A retry reads none, and any number of them may lie between.
-- name: refreshes_listed_before
SELECT * FROM refreshes
WHERE site_id = %(site_id)s AND generation < %(generation)s AND counts ? 'kept'
ORDER BY generation DESC LIMIT 1;

-- The newest refresh of which somebody knows what it costs. A retry, or a night without a list, has no estimate.
-- name: refreshes_latest_estimated
SELECT * FROM refreshes WHERE site_id = %(site_id)s AND estimate IS NOT NULL ORDER BY generation DESC LIMIT 1;

-- Whether a full refresh was held and none was published since. What a retry publishes settles nothing.
-- name: refreshes_is_held
SELECT EXISTS (
    SELECT FROM refreshes h
    WHERE h.site_id = %(site_id)s AND h.kind = 'full' AND h.outcome = 'held'
      AND h.generation > coalesce((SELECT max(p.generation) FROM refreshes p
                                   WHERE p.site_id = %(site_id)s AND p.kind = 'full' AND p.outcome = 'published'), 0));

-- Gives no row when one is open already, or was opened at the same moment.
-- name: refreshes_start
INSERT INTO refreshes (site_id, generation, kind, started_at, run_id)
SELECT %(site_id)s, coalesce(max(generation), 0) + 1, %(kind)s, %(now)s, %(run_id)s
FROM refreshes WHERE site_id = %(site_id)s
HAVING count(*) FILTER (WHERE finished_at IS NULL) = 0
ON CONFLICT DO NOTHING
RETURNING *;

-- name: refreshes_resume
UPDATE refreshes SET run_id = coalesce(%(run_id)s, run_id)
WHERE site_id = %(site_id)s AND finished_at IS NULL
RETURNING *;

-- name: refreshes_set_estimate
UPDATE refreshes SET estimate = %(estimate)s WHERE site_id = %(site_id)s AND generation = %(generation)s;

-- name: refreshes_approve
UPDATE refreshes SET approved_at = %(now)s, approved_by = %(by)s
WHERE site_id = %(site_id)s AND generation = %(generation)s AND approved_at IS NULL;

-- name: refreshes_discovered
UPDATE refreshes SET discovered_at = %(now)s WHERE site_id = %(site_id)s AND generation = %(generation)s;

-- name: refreshes_fetched
UPDATE refreshes SET fetched_at = %(now)s WHERE site_id = %(site_id)s AND generation = %(generation)s;

-- name: refreshes_set_counts
UPDATE refreshes SET counts = counts || %(counts)s WHERE site_id = %(site_id)s AND generation = %(generation)s;

-- Adds to the counts, so that what a killed run had spent stays counted.
-- name: refreshes_spend
UPDATE refreshes SET counts = counts || (
    SELECT jsonb_object_agg(spent.key, coalesce((refreshes.counts ->> spent.key)::bigint, 0) + spent.value::bigint)
    FROM jsonb_each_text(%(spent)s) spent)
WHERE site_id = %(site_id)s AND generation = %(generation)s;

-- name: refreshes_hold_removals
UPDATE refreshes SET held_removals = %(held)s WHERE site_id = %(site_id)s AND generation = %(generation)s;

-- name: refreshes_confirm_removals
UPDATE refreshes SET removals_confirmed_at = %(now)s
WHERE site_id = %(site_id)s AND generation = %(generation)s AND finished_at IS NULL;

-- name: refreshes_finish
UPDATE refreshes SET finished_at = %(now)s, outcome = %(outcome)s, reason = %(reason)s
WHERE site_id = %(site_id)s AND generation = %(generation)s AND finished_at IS NULL;

-- name: refreshes_set_trouble
UPDATE refreshes SET trouble = %(trouble)s WHERE site_id = %(site_id)s AND generation = %(generation)s;
