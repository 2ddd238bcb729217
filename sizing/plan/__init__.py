"""A plan, which `plan` loads from YAML: settings of each section, of the types in fields."""
