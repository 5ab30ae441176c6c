-- The registry of sites.

-- name: sites_add
INSERT INTO sites (site_id, url, source_type, state, options, tenant)
VALUES (%(site_id)s, %(url)s, %(source_type)s, 'registered', %(options)s, %(tenant)s)
ON CONFLICT (site_id) DO NOTHING
RETURNING *;

-- name: sites_get
SELECT * FROM sites WHERE site_id = %(site_id)s;

-- name: sites_all
SELECT * FROM sites ORDER BY site_id;

-- Sites whose next refresh has come and that no open refresh occupies.
-- name: sites_due
SELECT s.* FROM sites s
WHERE s.state = 'active' AND s.next_refresh_at <= %(now)s
  AND NOT EXISTS (SELECT FROM refreshes r WHERE r.site_id = s.site_id AND r.finished_at IS NULL)
ORDER BY s.next_refresh_at, s.site_id;

-- name: sites_set_state
UPDATE sites SET state = %(state)s WHERE site_id = %(site_id)s;

-- name: sites_set_options
UPDATE sites SET options = %(options)s WHERE site_id = %(site_id)s;

-- name: sites_approve
UPDATE sites SET approved_at = %(now)s, approved_by = %(by)s, approved_pages = %(pages)s, state = 'active'
WHERE site_id = %(site_id)s AND state <> 'removing';

-- name: sites_schedule
UPDATE sites SET next_refresh_at = %(next_refresh_at)s WHERE site_id = %(site_id)s;

-- name: sites_note_error
UPDATE sites SET last_error = %(error)s,
                 last_error_at = CASE WHEN %(error)s::text IS NULL THEN NULL ELSE %(now)s::timestamptz END
WHERE site_id = %(site_id)s;

-- name: sites_delete
DELETE FROM sites WHERE site_id = %(site_id)s;
