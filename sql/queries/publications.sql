-- Which version of a site's vectors is live, and which were.

-- name: publications_live
SELECT * FROM publications WHERE site_id = %(site_id)s AND live;

-- name: publications_get
SELECT * FROM publications WHERE site_id = %(site_id)s AND publication_id = %(publication_id)s;

-- name: publications_list
SELECT * FROM publications WHERE site_id = %(site_id)s ORDER BY publication_id DESC LIMIT %(most)s;

-- name: publications_retire
UPDATE publications SET live = false WHERE site_id = %(site_id)s AND live;

-- name: publications_add
INSERT INTO publications (site_id, table_name, lance_version, generation, rows, pages, published_at, reason, live)
VALUES (%(site_id)s, %(table_name)s, %(lance_version)s, %(generation)s, %(rows)s, %(pages)s, %(now)s, %(reason)s, true)
RETURNING *;

-- name: publications_forget
DELETE FROM publications
WHERE site_id = %(site_id)s AND publication_id = ANY (%(publication_ids)s::bigint[]) AND NOT live;
