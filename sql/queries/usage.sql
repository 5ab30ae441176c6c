-- Daily counters and tenants' allowances.

-- Adds only while the sum stays within the limit (null: no limit); no row says it did not fit.
-- name: usage_add
INSERT INTO usage AS u (day, tenant, name, amount)
SELECT %(day)s, %(tenant)s, %(name)s, %(amount)s
WHERE %(most)s::bigint IS NULL OR %(amount)s::bigint <= %(most)s::bigint
ON CONFLICT (day, tenant, name) DO UPDATE SET amount = u.amount + excluded.amount
WHERE %(most)s::bigint IS NULL OR u.amount + excluded.amount <= %(most)s::bigint
RETURNING amount;

-- name: usage_of_day
SELECT coalesce(sum(amount), 0)::bigint FROM usage
WHERE day = %(day)s AND tenant = %(tenant)s AND name = %(name)s;

-- name: allowances_get
SELECT tenant, max_pages, max_tokens FROM allowances WHERE tenant = %(tenant)s;

-- name: allowances_set
INSERT INTO allowances (tenant, max_pages, max_tokens) VALUES (%(tenant)s, %(max_pages)s, %(max_tokens)s)
ON CONFLICT (tenant) DO UPDATE SET max_pages = excluded.max_pages, max_tokens = excluded.max_tokens;
