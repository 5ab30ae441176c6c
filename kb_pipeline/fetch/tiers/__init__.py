"""One file a tier of the fetch chain."""
