"""Shared by all tests: where the oracle is found."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
