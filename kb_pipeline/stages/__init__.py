"""Floor 2: each stage is a source, a sink and a derive, given to sync. Knows nothing of Dagster."""
