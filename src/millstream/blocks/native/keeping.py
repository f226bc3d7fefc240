"""Compiled programs, kept on disk: a program is compiled once, not by every process.

A program lies in a folder of the user's cache, in a file that is named by a digest of its text and
of all that its meaning rests on. Numba keeps the machine code beside it. Where no folder can be
used, programs are compiled in memory.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from millstream.blocks.native.frontier import Parameter
from millstream.files import private_folder

Compiled = Callable[..., tuple[Any, ...]]

CACHE = "native"
RUNTIME = Path(__file__).with_name("runtime.py")
"""What programs call, which is imported with Numba, when there is a program to compile."""


@lru_cache(maxsize=512)
def compiled(source: str, takes: tuple[Parameter, ...]) -> Compiled:
    """The program as machine code: taken from the cache, or made and put there."""
    signature = tuple(map(_type, takes))
    folder = private_folder(CACHE)
    if folder is not None:
        with suppress(OSError, RuntimeError, ImportError):  # of a folder that cannot be used
            return _made(_kept(folder, source), signature, True)
    module = ModuleType("millstream_native")
    exec(compile(source, "<millstream native>", "exec"), module.__dict__)
    return _made(module, signature, False)


def is_compiled(source: str) -> bool:
    """Whether the machine code of a program is on disk; without a folder for it, never."""
    folder = private_folder(CACHE)
    if folder is None:
        return False
    pattern = f"millstream_{digest_of(source)}.run-*.nbi"
    return next((folder / "__pycache__").glob(pattern), None) is not None


def _made(module: ModuleType, signature: Sequence[Any], cache: bool) -> Compiled:
    from numba import njit

    program = njit(cache=cache, error_model="numpy")(module.run)
    program.compile(tuple(signature))
    program.disable_compile()
    return program


def _type(parameter: Parameter) -> Any:
    from numba import types

    kinds = {"np.int64": types.int64, "np.float64": types.float64, "np.bool_": types.boolean}
    if parameter.type == "int":
        return types.int64
    written = parameter.role in ("slot", "slot valid")
    return types.Array(kinds[parameter.type], 1, "C", readonly=not written)


def _kept(folder: Path, source: str) -> ModuleType:
    """The module of a program; its file is written once, whole or not at all."""
    name = f"millstream_{digest_of(source)}"
    path = folder / f"{name}.py"
    if not path.exists():
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(source)
            with suppress(FileExistsError):  # another process was first
                os.link(temporary, path)
        finally:
            os.unlink(temporary)
    if path.read_text() != source:
        raise OSError(f"{path} is not what was written")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # by which Numba finds it when it reads machine code
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=512)
def digest_of(source: str) -> str:
    """A name for the text of a program, of what it calls, and of what compiles it."""
    helpers = RUNTIME.read_text()
    versions = f"{sys.version} {version('numba')} {np.__version__}"
    return hashlib.sha256("\0".join([source, helpers, versions]).encode()).hexdigest()[:32]
