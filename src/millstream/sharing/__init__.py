"""Which queries are contained in others, and how they are computed from these."""
