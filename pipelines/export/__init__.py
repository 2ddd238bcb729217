"""A finished run's dataset in the formats of other loaders."""
