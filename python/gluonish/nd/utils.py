"""MXNet's place for making, saving and loading arrays: ``nd.utils.load`` is ``nd.load``."""

from gluonish.nd.creation import array, empty, zeros
from gluonish.nd.files import load, load_frombuffer, save

__all__ = ["array", "empty", "load", "load_frombuffer", "save", "zeros"]
