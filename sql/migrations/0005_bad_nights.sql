-- What a refresh could not have, in words for the site's owner, and what each site shows for addresses that do not exist.

ALTER TABLE refreshes ADD COLUMN trouble text;

COMMENT ON COLUMN refreshes.trouble IS 'Why pages of this refresh gave nothing new: the commonest reasons, with how many pages each. Null when all did.';

CREATE TABLE not_found_probes (
    site_id     text PRIMARY KEY REFERENCES sites ON DELETE CASCADE,
    generation  integer NOT NULL,
    url         text NOT NULL,
    asked_at    timestamptz NOT NULL,
    status      integer NOT NULL,
    useless     text,
    look        jsonb
);
COMMENT ON TABLE not_found_probes IS 'The answer to one made-up address of each site, asked for by its last full refresh.';
COMMENT ON COLUMN not_found_probes.useless IS 'Why pages are not compared with the answer; null when they are.';
COMMENT ON COLUMN not_found_probes.look IS 'What the answer says and how it is built, without its address and what changes from one answer to the next.';
