"""Floor 1: everything that opens a socket to an address that came from a site."""
