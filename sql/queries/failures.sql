-- Pages that one step could not derive.

-- name: failures_marks
SELECT key, fingerprint, error, attempts, retry_at FROM failures
WHERE site_id = %(site_id)s AND step = %(step)s ORDER BY key;

-- name: failures_record
INSERT INTO failures (site_id, step, key, fingerprint, error, attempts, retry_at, failed_at)
SELECT %(site_id)s, %(step)s, f.key, f.fingerprint, f.error, f.attempts, f.retry_at, %(now)s
FROM unnest(%(keys)s::text[], %(fingerprints)s::text[], %(errors)s::text[], %(attempts)s::integer[],
            %(retry_ats)s::timestamptz[]) AS f (key, fingerprint, error, attempts, retry_at)
ON CONFLICT (site_id, step, key) DO UPDATE SET
    fingerprint = excluded.fingerprint, error = excluded.error, attempts = excluded.attempts,
    retry_at = excluded.retry_at, failed_at = excluded.failed_at;

-- name: failures_clear
DELETE FROM failures WHERE site_id = %(site_id)s AND step = %(step)s AND key = ANY (%(keys)s::text[]);

-- name: failures_count
SELECT count(*) FROM failures WHERE site_id = %(site_id)s AND (%(step)s::text IS NULL OR step = %(step)s::text);

-- name: failures_list
SELECT step, key, fingerprint, error, attempts, retry_at, failed_at FROM failures
WHERE site_id = %(site_id)s AND (%(step)s::text IS NULL OR step = %(step)s::text)
  AND (%(key)s::text IS NULL OR key = %(key)s::text)
ORDER BY step, key LIMIT %(most)s;
