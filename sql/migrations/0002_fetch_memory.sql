-- What fetching remembers of a page from one refresh to the next.

ALTER TABLE pages
    ADD COLUMN held_generation integer,
    ADD COLUMN failed_refreshes integer NOT NULL DEFAULT 0;

COMMENT ON COLUMN pages.held_generation IS 'The refresh that found the page gone or forbidden while removals were held; another one that finds the same confirms it.';
COMMENT ON COLUMN pages.failed_refreshes IS 'Refreshes in a row that got no answer for the page: how long the next retry waits.';
