-- The body in which the last reading of a page found too little text, so that it is not downloaded again while the page
-- answers with the same. Null, for what was read before this column: the next refresh reads it in full.

ALTER TABLE pages ADD COLUMN rejected jsonb;

COMMENT ON COLUMN pages.rejected IS 'The body that the last reading found too little text in: its hash and validators, what judged it, and what it said. Null once the page has enough.';
