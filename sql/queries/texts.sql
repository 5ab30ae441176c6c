-- What extraction tells the ledger of each page's text.

-- name: texts_record
UPDATE pages p SET title = f.title, characters = f.characters
FROM unnest(%(page_ids)s::text[], %(titles)s::text[], %(characters)s::integer[]) AS f (page_id, title, characters)
WHERE p.site_id = %(site_id)s AND p.page_id = f.page_id;
