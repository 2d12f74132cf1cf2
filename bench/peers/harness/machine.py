"""Where and of what a run was taken."""

import datetime
import os
import platform
import subprocess
from pathlib import Path


def first_line(command, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False, **options)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else ""


def value_in(path, name, separator):
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    for line in lines:
        left, _, right = line.partition(separator)
        if left.strip() == name:
            return right.strip().strip('"')
    return ""


def commit_of(root):
    commit = first_line(["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"])
    changed = first_line(["git", "-C", str(root), "status", "--porcelain", "--untracked-files=no",
                          "--", ".", ":!docs/performance.md", ":!docs/performance.svg"])
    return (commit or "unknown") + (", changed" if changed else "")


def facts(root, build):
    """Pairs of a name and a text; and the load before the run began."""
    memory_kb = value_in("/proc/meminfo", "MemTotal", ":").split(" ")[0]
    memory = f"{int(memory_kb) / 1048576:.0f} GiB" if memory_kb.isdigit() else "?"
    compiler = value_in(build / "CMakeCache.txt", "CMAKE_C_COMPILER:FILEPATH", "=")
    compiler = compiler or value_in(build / "CMakeCache.txt", "CMAKE_C_COMPILER:STRING", "=") or "cc"
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit_of(root),
        "processor": value_in("/proc/cpuinfo", "model name", ":") or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": memory,
        "system": f"{value_in('/etc/os-release', 'PRETTY_NAME', '=')}, Linux {platform.release()}",
        "ours": f"{first_line([str(build / 'bin' / 'arcpd'), '--version'])}, "
                f"{value_in(build / 'CMakeCache.txt', 'CMAKE_BUILD_TYPE:STRING', '=')}, "
                f"{first_line([compiler, '--version'])}",
        "load": f"{os.getloadavg()[0]:.2f}",
    }
