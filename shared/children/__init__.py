"""Child processes: what can hang or crash runs there, with pixels shared through blocks."""
