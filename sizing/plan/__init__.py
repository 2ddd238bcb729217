"""A plan: YAML ── load ── plan, of the settings of each section, each of the types in fields."""
