"""Measures the pipeline on real and generated sites, beside the script one would otherwise write."""
