"""Floor 3: partitions, assets, checks, sensors, jobs, resources. Only here is Dagster imported."""
