-- What was asked of a site.

-- name: queries_record
INSERT INTO queries (site_id, question, mode, hits, millis, asked_at)
VALUES (%(site_id)s, %(question)s, %(mode)s, %(hits)s, %(millis)s, %(now)s);

-- name: queries_recent
SELECT query_id, site_id, question, mode, hits, millis, asked_at FROM queries
WHERE site_id = %(site_id)s ORDER BY asked_at DESC, query_id DESC LIMIT %(most)s;
