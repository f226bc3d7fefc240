"""The door to files: folders of whole files, on this machine or in a store."""

from millstream.files.arrow import ArrowFolder
from millstream.files.folder import Folder, MissingFile, StoreError
from millstream.files.local import LocalFolder
from millstream.files.lock import Lock, lock
from millstream.files.opening import open_file, open_folder
from millstream.files.private import private_folder
from millstream.files.problems import ordinary, writing

__all__ = [
    "ArrowFolder",
    "Folder",
    "LocalFolder",
    "Lock",
    "MissingFile",
    "StoreError",
    "lock",
    "open_file",
    "open_folder",
    "ordinary",
    "private_folder",
    "writing",
]
