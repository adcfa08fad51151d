"""What YANG says, made ready once at start: modules, the schema tree, values, validation."""
