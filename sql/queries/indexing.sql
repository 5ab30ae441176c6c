-- What the derivation of a site writes back to the ledger, and what publishing asks of it.

-- The chunks of pages that are about to be replaced, and none for those that leave.
-- name: indexing_record_chunks
UPDATE pages p SET chunk_count = f.chunk_count, title = coalesce(f.title, p.title)
FROM unnest(%(page_ids)s::text[], %(titles)s::text[], %(chunk_counts)s::integer[]) AS f (page_id, title, chunk_count)
WHERE p.site_id = %(site_id)s AND p.page_id = f.page_id;

-- name: indexing_mark_live
UPDATE pages SET last_indexed_at = %(now)s
WHERE site_id = %(site_id)s AND page_id = ANY (%(page_ids)s::text[]);

-- The refresh that publishing ends: open, and with an outcome for every page. One that waits for approval is not.
-- name: indexing_refresh_to_end
SELECT * FROM refreshes WHERE site_id = %(site_id)s AND finished_at IS NULL AND fetched_at IS NOT NULL;

-- The newest refresh whose pages were fetched: what the texts, and so the vectors, are of.
-- name: indexing_generation
SELECT coalesce(max(generation), 0) FROM refreshes WHERE site_id = %(site_id)s AND fetched_at IS NOT NULL;

-- What the ledger says the index holds.
-- name: indexing_expected
SELECT count(*) AS pages, coalesce(sum(chunk_count), 0)::bigint AS chunks
FROM pages WHERE site_id = %(site_id)s AND chunk_count > 0 AND removed_generation IS NULL;

-- Of that, what belongs to pages that a step could not do.
-- name: indexing_expected_of_failed
SELECT count(*) AS pages, coalesce(sum(p.chunk_count), 0)::bigint AS chunks
FROM pages p JOIN failures f ON f.site_id = p.site_id AND f.key = p.page_id AND f.step = %(step)s
WHERE p.site_id = %(site_id)s AND p.chunk_count > 0 AND p.removed_generation IS NULL;

-- name: indexing_expected_pages
SELECT page_id AS key, '' AS fingerprint
FROM pages WHERE site_id = %(site_id)s AND chunk_count > 0 AND removed_generation IS NULL ORDER BY page_id;

-- name: indexing_removed
SELECT page_id FROM pages WHERE site_id = %(site_id)s AND removed_generation IS NOT NULL ORDER BY page_id;
