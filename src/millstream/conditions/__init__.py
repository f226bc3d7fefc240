"""Which conditions imply or exclude each other: a small decision procedure."""
