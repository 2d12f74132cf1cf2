"""The lease questions of `make bench-peers`, put to the Python SDK: see bench/peer_lease.c.

    lease.py FILE MILLISECONDS
"""

import json
import sys
import time

from arcp import PermissionDeniedError
from arcp.runtime import LeaseOpContext, is_lease_subset, validate_lease_op


def ask_gate(lease, target):
    try:
        validate_lease_op(lease, LeaseOpContext(capability="fs.read", target=target))
    except PermissionDeniedError:
        return False
    return True


def measure(name, ask, questions, patience_sec):
    """Each question once for the answers, then all of them until the time is over."""
    yes = sum(ask(*question) for question in questions)
    asked = 0
    began = time.perf_counter()
    taken = 0.0
    while taken < patience_sec:
        for question in questions:
            ask(*question)
        asked += len(questions)
        taken = time.perf_counter() - began
    print(json.dumps({"name": name, "ns": round(taken * 1e9 / asked, 2), "yes": yes}), flush=True)


def main(path, milliseconds):
    with open(path, encoding="utf-8") as file:
        asked = json.load(file)
    patience_sec = milliseconds / 1000
    for row in asked["leases"]:
        questions = [(row["lease"], target) for target in row["targets"]]
        measure(row["name"], ask_gate, questions, patience_sec)
    for row in asked["subsets"]:
        measure(row["name"], is_lease_subset, [(row["child"], row["parent"])], patience_sec)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: lease.py FILE MILLISECONDS")
    main(sys.argv[1], int(sys.argv[2]))
