"""The package: its version, its types, its wheel."""
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import libarcp
from conftest import BINARIES, ROOT
from test_docs import PROGRAMS

OUT = Path(os.environ["ARCP_BINARY_DIR"]) / "python"


def mypy(*arguments, cwd):
    command = ["/usr/bin/python3", "-m", "mypy", "--strict", f"--cache-dir={OUT}/mypy", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_version_is_the_trees():
    version = re.search(r"project\(arcp VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    shown = subprocess.run([BINARIES / "arcp", "--version"], capture_output=True, text=True, check=True).stdout
    assert libarcp.__version__ == version and version in shown
    assert f'version = "{version}"' in (ROOT / "bindings/python/pyproject.toml").read_text()


def test_the_package_passes_mypy_strict():
    mypy("libarcp", cwd=ROOT / "bindings" / "python")


def test_the_programs_of_the_documentation_pass_mypy_strict(tmp_path):
    (tmp_path / "libarcp").symlink_to(ROOT / "bindings" / "python" / "libarcp")
    for number, program in enumerate(PROGRAMS):
        (tmp_path / f"program{number}.py").write_text(program.text)
    mypy(*[f"program{number}.py" for number in range(len(PROGRAMS))], cwd=tmp_path)


def test_every_public_name_has_a_docstring():
    for name in libarcp.__all__:
        thing = getattr(libarcp, name)
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                assert value.__doc__, f"{name}.{member}"


def test_the_wheel_has_what_it_needs():
    (wheel,) = OUT.glob("libarcp-*-abi3-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"libarcp/py.typed", "libarcp/_arcp.pyi", "libarcp/_arcp.abi3.so"} <= set(names)
    for library in ("libuv", "libwslay", "libhttp_parser"):
        carried = [name for name in names if name.startswith(f"libarcp/_lib/{library}.so")]
        assert len(carried) == 2 and min(carried) + ".copyright" == max(carried)
    assert len(list(OUT.glob("libarcp-*.tar.gz"))) == 1


def test_the_sdist_builds_against_installed_libraries(tmp_path):
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", OUT.parent, "--prefix", prefix], stdout=subprocess.DEVNULL, check=True)
    (archive,) = OUT.glob("libarcp-*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(tmp_path)
    folder = tmp_path / archive.name[: -len(".tar.gz")]
    (found,) = prefix.glob("**/pkgconfig")
    environment = {"PATH": os.environ["PATH"], "PKG_CONFIG_PATH": str(found), "LD_LIBRARY_PATH": str(found.parent),
                   "PYTHONPATH": str(folder)}
    for command in (["setup.py", "-q", "build_ext", "--inplace"], ["-c", "import libarcp; print(libarcp.Lease().json)"]):
        done = subprocess.run([sys.executable, "-B", *command], cwd=folder, env=environment, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "{}\n"


def test_the_module_finds_the_carried_libraries():
    program = "import libarcp; print(open('/proc/self/maps').read())"
    maps = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    for library in ("libuv", "libwslay", "libhttp_parser"):
        assert re.search(rf"/libarcp/_lib/{library}\.so", maps), maps
    assert "libarcp.so" not in maps and "libarcp-client.so" not in maps
