-- Which runs are alive: each holds a session-level advisory lock whose key is the hash of its id, and the lock
-- ends with its process.

-- name: run_lock_take
SELECT pg_try_advisory_lock(hashtextextended('kb_pipeline.run.' || %(run_id)s::text, 0));

-- name: runs_without_lock
SELECT run_id FROM unnest(%(run_ids)s::text[]) AS asked (run_id)
WHERE NOT EXISTS (
    SELECT FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended('kb_pipeline.run.' || asked.run_id, 0)
)
ORDER BY run_id;
