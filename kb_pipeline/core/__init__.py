"""Floor 0, pure: no sockets, files, SQL, clock or Dagster."""
