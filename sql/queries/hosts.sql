-- Politeness that all runs share, and the last robots.txt of each origin. The clock is the server's, so that
-- machines whose clocks differ still agree.

-- Reserves the next free moment of a host, and gives the seconds until it. The row lock makes callers queue. A row from
-- the future was written before the server's clock was set back, and would keep the host closed until then.
-- name: hosts_reserve
INSERT INTO hosts AS h (host, next_slot_at, updated_at)
VALUES (%(host)s, clock_timestamp() + make_interval(secs => %(gap)s::float8), clock_timestamp())
ON CONFLICT (host) DO UPDATE SET
    next_slot_at = CASE WHEN h.updated_at > clock_timestamp() THEN clock_timestamp()
                        ELSE greatest(clock_timestamp(), least(h.next_slot_at,
                             clock_timestamp() + make_interval(secs => %(furthest)s::float8))) END
                   + make_interval(secs => %(gap)s::float8 * h.slowdown),
    updated_at = clock_timestamp()
RETURNING greatest(0, extract(epoch FROM h.next_slot_at - clock_timestamp())::float8
                      - %(gap)s::float8 * h.slowdown);

-- name: hosts_hold
INSERT INTO hosts AS h (host, next_slot_at, updated_at)
VALUES (%(host)s, clock_timestamp() + make_interval(secs => %(seconds)s::float8), clock_timestamp())
ON CONFLICT (host) DO UPDATE SET
    next_slot_at = CASE WHEN h.updated_at > clock_timestamp() THEN excluded.next_slot_at
                        ELSE greatest(h.next_slot_at, excluded.next_slot_at) END,
    updated_at = clock_timestamp();

-- name: hosts_set_slowdown
INSERT INTO hosts AS h (host, slowdown, updated_at) VALUES (%(host)s, %(slowdown)s, clock_timestamp())
ON CONFLICT (host) DO UPDATE SET slowdown = excluded.slowdown, updated_at = clock_timestamp();

-- name: hosts_get
SELECT host, next_slot_at, slowdown, updated_at FROM hosts WHERE host = %(host)s;

-- name: robots_files_get
SELECT origin, status, body, fetched_at FROM robots_files WHERE origin = %(origin)s;

-- name: robots_files_put
INSERT INTO robots_files (origin, status, body, fetched_at)
VALUES (%(origin)s, %(status)s, %(body)s, %(fetched_at)s)
ON CONFLICT (origin) DO UPDATE SET status = excluded.status, body = excluded.body, fetched_at = excluded.fetched_at;
