"""Builds the compiled module; everything else about the package is in pyproject.toml."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
# setuptools runs this file from the project's folder, but does not put it on the path.
sys.path.insert(0, str(HERE))

# Libraries that the wheel carries when it is linked against a build tree: few systems have them.
CARRIED = ("uv", "wslay", "http_parser")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def carry(name: str, folder: Path) -> None:
    """Copies a shared library, as the linker finds it, and its licence."""
    library = Path(output("cc", f"-print-file-name=lib{name}.so").strip()).resolve(strict=True)
    soname = re.search(r"SONAME +(\S+)", output("objdump", "-p", str(library)))
    if soname is None:
        sys.exit(f"{library} has no SONAME")
    shutil.copyfile(library, folder / soname[1])
    if shutil.which("dpkg-query"):
        package = re.split("[:,]", output("dpkg-query", "-S", str(library)))[0]
        licence = Path("/usr/share/doc") / package / "copyright"
        shutil.copyfile(licence, folder / f"{soname[1]}.copyright")


class BuildWithLibraries(build_py):
    """Puts the carried libraries, and their licences, beside the Python files."""

    def run(self) -> None:
        super().run()
        if not os.environ.get("ARCP_BUILD_DIR"):
            return
        folder = Path(self.build_lib) / "libarcp" / "_lib"
        folder.mkdir(parents=True, exist_ok=True)
        for name in CARRIED:
            carry(name, folder)


setup(
    cffi_modules=["build_ffi.py:builder"],
    cmdclass={"build_py": BuildWithLibraries},
    # One wheel for every Python from 3.9 on.
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
