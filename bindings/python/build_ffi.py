"""Describes the compiled module `libarcp._arcp` to cffi; setup.py builds it.

Where the C libraries are taken from:

* ``ARCP_BUILD_DIR`` names a CMake build directory of the C tree (``make python`` does): its static
  libraries are linked in, the headers are those of ``ARCP_SOURCE_DIR``.
* otherwise the installed ``libarcp-client`` that pkg-config finds is linked dynamically.
"""

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from cffi import FFI  # type: ignore[import]

HERE = Path(__file__).resolve().parent
SOURCES = ["src/shim_parts.c", "src/shim_lease.c", "src/shim_client.c"]
HEADERS = ["src/shim.h", "src/shim_parts.h"]


def declarations() -> str:
    """The part of shim.h that cffi reads."""
    text = (HERE / "src" / "shim.h").read_text(encoding="utf-8")
    return text.split("/* --- for cffi: begin --- */")[1].split("/* --- for cffi: end --- */")[0]


def from_build_tree(build: Path, source: Path) -> dict[str, Any]:
    """Arguments for the compiler and the linker: static libraries of a build tree."""
    libraries = [build / "lib" / "libarcp-client.a", build / "lib" / "libarcp.a"]
    return {
        "include_dirs": [str(source / "include")],
        "extra_objects": [str(library) for library in libraries],
        "depends": [str(library) for library in libraries] + HEADERS,
        "libraries": ["uv", "wslay", "http_parser", "ssl", "crypto", "pthread"],
        # The three that few systems have are in the wheel (setup.py). What is linked in stays
        # private, so that a program may load another libarcp besides; debug information is left out.
        "extra_link_args": ["-Wl,-rpath,$ORIGIN/_lib", "-Wl,--exclude-libs,ALL", "-Wl,-S"],
    }


def from_pkg_config() -> dict[str, Any]:
    """Arguments for the compiler and the linker: installed shared libraries."""

    def ask(option: str) -> list[str]:
        command = ["pkg-config", option, "libarcp-client"]
        return shlex.split(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)

    return {"extra_compile_args": ask("--cflags"), "extra_link_args": ask("--libs")}


def builder() -> Any:
    """The FFI object that setup.py hands to cffi."""
    build = os.environ.get("ARCP_BUILD_DIR", "")
    source = os.environ.get("ARCP_SOURCE_DIR", "")
    places = from_build_tree(Path(build), Path(source)) if build else from_pkg_config()
    places["include_dirs"] = ["src", *places.get("include_dirs", [])]
    # Only the module's own entry is for others.
    places["extra_compile_args"] = ["-fvisibility=hidden", *places.get("extra_compile_args", [])]
    ffi = FFI()
    ffi.cdef(declarations())
    ffi.set_source("libarcp._arcp", '#include "shim.h"', sources=SOURCES, **places)
    return ffi
