"""Floor 1: PostgreSQL (control plane) and Lance (data plane)."""
