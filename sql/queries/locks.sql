-- One writer a site: a session-level advisory lock whose key is the hash of the site id.

-- name: site_lock_take
SELECT pg_try_advisory_lock(hashtextextended('kb_pipeline.site.' || %(site_id)s::text, 0));

-- name: site_lock_give_back
SELECT pg_advisory_unlock(hashtextextended('kb_pipeline.site.' || %(site_id)s::text, 0));

-- name: site_lock_holder
SELECT a.application_name, a.backend_start
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND ((l.classid::bigint << 32) | l.objid::bigint)
      = hashtextextended('kb_pipeline.site.' || %(site_id)s::text, 0);

-- name: site_lock_is_held
SELECT EXISTS (
    SELECT FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.pid = pg_backend_pid()
      AND ((l.classid::bigint << 32) | l.objid::bigint)
          = hashtextextended('kb_pipeline.site.' || %(site_id)s::text, 0)
);
