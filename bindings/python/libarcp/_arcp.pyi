# The compiled module (see build_ffi.py): cffi's two objects, which have no types of their own.
from typing import Any

ffi: Any
lib: Any
