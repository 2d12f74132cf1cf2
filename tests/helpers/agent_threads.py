"""The agents of helpers_test.py, with handlers that are a `def`: the input's `do` says which one."""
import gc
import sys
import threading
from decimal import Decimal

import arcp_agent


def echo(job):
    print("a print")
    job.log("a\nline", level="warn")
    job.progress(1, total=2, units="files")
    return {"input": job.input, "cwd": job.cwd, "lease": job.lease, "id": job.id}


def ask(job):
    job.authorize("fs.read", "/srv/a")
    return job.allowed("fs.read", "/srv/b")


def denied(job):
    try:
        job.authorize("fs.read", "/etc/shadow")
    except arcp_agent.Denied as error:
        job.log(f"{error.code} {error.granted}")
        raise


def spend(job):
    before = job.budget["USD"]
    left = job.spend("USD", "0.1234567890123456789", what="search")["USD"]
    try:
        job.spend("USD", 0.5)
    except TypeError:
        job.log("no float")
    return [str(before), str(left), str(job.budget["USD"])]


def tools(job):
    with job.tool("web.search", {"q": "x"}) as call:
        call.result = ["found"]
    try:
        with job.tool("web.fails"):
            raise ValueError("no network")
    except ValueError:
        pass
    with job.tool("web.denied"):
        job.log("never")


def delegate(job):
    child = job.delegate("reader", {"path": "/a"}, lease={"fs.read": ["/a"]}, expires_at="2030-01-01T00:00:00Z")
    failed = job.delegate("reader", delegate_id="d2")
    assert not failed.succeeded and failed.error["code"] == "TIMEOUT"
    job.delegate("reader", lease={"fs.read": ["/**"]})
    return child.result


def stream(job):
    with job.stream() as out:
        out.write("é" * 300_000)
        out.write(b"\x00\xff")
        out.write(b"\x01")
        out.write("end")
    return "four pieces"


def cancel(job):
    job.log("waits")
    job.cancelled.wait()
    assert job.cancelled.is_set() and job.cancelled.grace_ms == 3000
    raise arcp_agent.Cancelled()


def crash(job):
    raise KeyError("no such thing")


def bad_result(job):
    return {"a": {1, 2}}


def fail(job):
    job.fail("x-vendor.example.BUSY", "try again", retryable=True, details={"retry_after_ms": 5})


def many(job):
    def write(number):
        for i in range(100):
            job.metric(f"m{number}", Decimal(i) / 10, unit="s")
    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def rotate(job):
    job.authorize("fs.read", "/srv/a")
    return [one["value"] for one in job.credentials]


def wait_for_reply(job):
    job.authorize("fs.read", "/srv/a")


def kept(job):
    gc.collect()
    return [sum(isinstance(one, arcp_agent.Job) for one in gc.get_objects()),
            sum(isinstance(one, threading.Timer) for one in threading.enumerate())]


if __name__ == "__main__":
    arcp_agent.serve(lambda job: globals()[job.input["do"]](job))
    sys.exit(0)
