"""How many generated cases: a third of them in every test run, all with `make laws`."""

import os

SCALE = int(os.environ.get("MILLSTREAM_SCALE", "1"))
