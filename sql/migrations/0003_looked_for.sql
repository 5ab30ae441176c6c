-- What the last full reading of a page looked for, so that a page that has not changed is judged by the site's present
-- options. Null, for what was read before this column: the next refresh reads it in full.

ALTER TABLE pages ADD COLUMN looked_for text[];

COMMENT ON COLUMN pages.looked_for IS 'What the last full reading of the page looked for: noindex, links …; while the site''s options ask for more, the page is asked without comparison.';
