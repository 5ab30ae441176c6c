"""Floor 2: search over the live version. Reads the store, never a stage."""
