"""The YANG modules that accel-agent brings along, as package data: `name@revision.yang`, and their trees."""
