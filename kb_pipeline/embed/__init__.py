"""Floor 1: the Embedder protocol and its implementations."""
