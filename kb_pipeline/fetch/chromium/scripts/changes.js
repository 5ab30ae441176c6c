// How many changes of the document were seen (scripts/init.js): a 32-bit number, whatever the page did to the counter.
() => { const seen = window[Symbol.for("kb.changes")]; return (seen ? seen.count : 0) | 0; }
