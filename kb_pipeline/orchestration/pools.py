"""Pools: how many steps of one kind run at once, over all sites and machines."""

from typing import Final

FETCH: Final = "fetch"
"""Steps that wait for other people's servers."""
EMBED: Final = "embed"
"""Steps that run the embedding model, which uses every core by itself."""

POOL_LIMITS: Final = {FETCH: 8, EMBED: 1}
"""What a new instance begins with; `dagster instance concurrency set` or the UI changes it."""
