"""The general machine, which runs every routine."""

from millstream.blocks.general.machine import GeneralMachine

__all__ = ["GeneralMachine"]
