-- What people are shown of sites and pages. Read-only.

-- Every site with what is live of it, how its newest refresh went, and its newest full one: a retry that ended well
-- says nothing of that. Pages are counted only where a refresh ever held any: a listing of sites reads no large ledger.
-- name: overview_sites
SELECT s.site_id, s.url, s.state, s.tenant, s.next_refresh_at, s.last_error, s.last_error_at, s.approved_pages,
       p.pages AS live_pages, p.rows AS live_chunks, p.published_at AS live_since, p.table_name AS live_table,
       r.generation, r.kind AS refresh_kind, r.started_at AS refresh_started_at, r.finished_at AS refresh_finished_at,
       r.outcome AS refresh_outcome, r.reason AS refresh_reason,
       l.generation AS full_generation, l.outcome AS full_outcome, l.reason AS full_reason,
       CASE WHEN EXISTS (SELECT FROM refreshes h WHERE h.site_id = s.site_id AND h.held_removals > 0)
            THEN (SELECT count(*) FROM pages q
                  WHERE q.site_id = s.site_id AND q.state IN ('gone', 'forbidden', 'duplicate')
                    AND q.held_generation IS NOT NULL AND q.content_hash IS NOT NULL AND q.removed_generation IS NULL)
            ELSE 0 END AS held_removals
FROM sites s
LEFT JOIN publications p ON p.site_id = s.site_id AND p.live
LEFT JOIN LATERAL (SELECT * FROM refreshes f WHERE f.site_id = s.site_id ORDER BY f.generation DESC LIMIT 1) r ON true
LEFT JOIN LATERAL (SELECT * FROM refreshes f WHERE f.site_id = s.site_id AND f.kind = 'full'
                   ORDER BY f.generation DESC LIMIT 1) l ON true
ORDER BY s.site_id;

-- Pages that an address leads to, in any site or in one: its own row, or one that knows it as another address.
-- name: overview_pages_at
SELECT DISTINCT ON (f.site_id, f.page_id) f.site_id, f.page_id, f.known_as, p.tiers
FROM (SELECT site_id, page_id, NULL AS known_as FROM pages WHERE url = %(url)s
      UNION ALL
      SELECT q.site_id, q.page_id, NULL FROM sites s JOIN pages q ON q.site_id = s.site_id AND q.page_id = %(page_id)s
      UNION ALL
      SELECT a.site_id, a.page_id, a.kind FROM sites s JOIN aliases a ON a.site_id = s.site_id AND a.alias_id = %(page_id)s
     ) f
JOIN pages p ON p.site_id = f.site_id AND p.page_id = f.page_id
WHERE %(site_id)s::text IS NULL OR f.site_id = %(site_id)s::text
ORDER BY f.site_id, f.page_id, f.known_as NULLS FIRST;

-- Pages of a site, optionally in one state, by address.
-- name: overview_pages
SELECT url, state, reason, status_code, tier, characters, chunk_count, last_fetched_at, last_indexed_at
FROM pages
WHERE site_id = %(site_id)s AND (%(state)s::text IS NULL OR state = %(state)s::text)
ORDER BY url LIMIT %(most)s;

-- name: overview_server_version
SELECT current_setting('server_version');
