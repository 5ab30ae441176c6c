"""The one partition dimension: a site. Keys are site ids, and follow the registry (sensor `site_registry`)."""

from typing import Final

import dagster as dg

PARTITION_TAG: Final = "dagster/partition"

sites: Final = dg.DynamicPartitionsDefinition(name="sites")
