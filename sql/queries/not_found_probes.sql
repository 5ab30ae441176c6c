-- What each site shows for an address that does not exist.

-- name: not_found_probes_get
SELECT * FROM not_found_probes WHERE site_id = %(site_id)s;

-- name: not_found_probes_put
INSERT INTO not_found_probes (site_id, generation, url, asked_at, status, useless, look)
VALUES (%(site_id)s, %(generation)s, %(url)s, %(now)s, %(status)s, %(useless)s, %(look)s)
ON CONFLICT (site_id) DO UPDATE SET
    generation = excluded.generation, url = excluded.url, asked_at = excluded.asked_at, status = excluded.status,
    useless = excluded.useless, look = excluded.look;

-- name: not_found_probes_forget
DELETE FROM not_found_probes WHERE site_id = %(site_id)s;
