"""The blocking client against a real arcpd."""
import json
import os
import signal
import subprocess
import sys
import threading
from decimal import Decimal

import pytest

import libarcp
from conftest import TOKEN, Daemon, descriptors, memory, until


@pytest.fixture
def client(daemon):
    with libarcp.Client(daemon.url, TOKEN) as client:
        yield client


def fails(status, call, kind=libarcp.Error):
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.status == status
    assert str(caught.value)
    return caught.value


# ---- ways that work ----


def test_run(daemon):
    assert libarcp.run(daemon.url, TOKEN, "worker", {"a": [1, None, "ü"]}) == {"a": [1, None, "ü"]}


def test_events_come_in_order_and_end(client):
    job = client.submit("worker", {"do": "count", "to": 50})
    events = list(job)
    logs = [event.body["message"] for event in events if event.kind == "log"]
    assert logs == [str(number) for number in range(50)]
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    assert all(event.type == "event" and event.job is job and event.ts for event in events)
    assert job.next_event() is None
    assert job.outcome == job.wait() == libarcp.Outcome("success", 50)
    assert job.result() == 50 and job.status == "success"


def test_outcome_has_the_summary(client):
    outcome = client.submit("worker", {"text": "a"}).wait()
    assert outcome == libarcp.Outcome("success", {"text": "a"}, summary="as it came")


def test_small_program(client):
    job = client.submit("hello", events=False)
    assert job.result() == "hello" and job.agent.startswith("hello") and job.id.startswith("job_")


def test_client_events_name_their_jobs(client):
    jobs = {client.submit("worker", {"do": "count", "to": 3}) for _ in range(3)}
    ended = set()
    for event in client.events():
        assert event.job in jobs
        if event.type == "ended":
            ended.add(event.job)
            if ended == jobs:
                break
    assert all(job.outcome.result == 3 for job in jobs)


def test_lease_and_budget(client):
    lease = libarcp.Lease({"fs.read": ["/srv/**"]}, budget={"USD": Decimal("1.00")})
    job = client.submit("worker", {"do": "spend", "amounts": ["0.1", "0.2", "0.000000000000000001"]}, lease=lease)
    spent = [json.loads(event.json, parse_float=Decimal)["value"] for event in job if event.body.get("name") == "cost.test"]
    assert spent == [Decimal("0.1"), Decimal("0.2"), Decimal("0.000000000000000001")]
    assert job.lease.capabilities["fs.read"] == ["/srv/**"] and job.lease.is_within(lease)
    assert job.budgets["USD"].initial == 1 and 0 < job.budgets["USD"].remaining < 1


def test_lease_as_a_dict(client):
    job = client.submit("worker", lease={"fs.read": ["/a"]})
    assert job.lease.capabilities == {"fs.read": ["/a"]}


def test_cancel(client):
    job = client.submit("worker", {"do": "wait"})
    fails("DEADLINE", lambda: job.result(0.05), libarcp.DeadlineError)
    assert job.outcome is None
    job.cancel("no longer needed")
    error = fails("CANCELLED", job.result, libarcp.JobError)
    assert error.job_id == job.id and error.outcome.status == "cancelled"


def test_next_event_has_a_timeout(client):
    job = client.submit("worker", {"do": "wait"})
    with pytest.raises(TimeoutError):
        while True:
            assert job.next_event(0.2).job is job
    job.cancel()


def test_run_with_a_timeout_cancels_the_job(daemon, client):
    fails("DEADLINE", lambda: libarcp.run(daemon.url, TOKEN, "worker", {"do": "wait"}, timeout=0.2), libarcp.DeadlineError)
    assert until(lambda: not list(client.jobs(["pending", "running"])))


def test_streamed_result_is_bytes(client):
    job = client.submit("worker", {"do": "stream", "pieces": 5})
    assert job.result() == b"".join(bytes([number]) * 1000 for number in range(5))
    assert job.outcome.streamed_bytes == 5000 and job.outcome.result is None


def test_streamed_result_goes_to_a_file(client, tmp_path):
    with open(tmp_path / "result", "wb") as file:
        outcome = client.submit("worker", {"do": "stream", "pieces": 3}, result_file=file, events=False).wait()
    assert outcome.data is None and outcome.streamed_bytes == 3000
    assert len((tmp_path / "result").read_bytes()) == 3000


def test_result_file_may_be_closed_before_the_job_has_ended(client, tmp_path):
    with open(tmp_path / "result", "wb") as file:
        number = file.fileno()
        job = client.submit("worker", {"do": "stream", "pieces": 3}, result_file=file, events=False)
    with open(tmp_path / "other", "wb") as other:
        assert other.fileno() == number
        assert job.wait().streamed_bytes == 3000
    assert (tmp_path / "result").stat().st_size == 3000 and (tmp_path / "other").stat().st_size == 0


def test_result_file_that_is_not_open(client):
    with pytest.raises(OSError):
        client.submit("worker", {"do": "stream", "pieces": 1}, result_file=1 << 20)


def test_descriptors_of_result_files_are_closed(client, tmp_path):
    with open(tmp_path / "result", "wb") as file:
        before = descriptors()
        job = client.submit("worker", {"do": "stream", "pieces": 3}, result_file=file, events=False)
        job.wait()
        assert descriptors() == before
        other = client.submit("worker", {"do": "stream", "pieces": 3}, result_file=file)
        while (event := client.next_event()).type != "ended":
            assert event.job is other
        assert descriptors() == before
        client.submit("worker", {"do": "stream", "pieces": 3}, result_file=file)  # not read
        fails("AGENT_NOT_AVAILABLE", lambda: client.submit("nobody", result_file=file))
        assert descriptors() == before


def test_streamed_result_beyond_its_limit(client):
    job = client.submit("worker", {"do": "stream", "pieces": 3}, result_bytes_max=1500)
    fails("LIMIT", job.result, libarcp.JobError)


def test_subscribe_with_history(daemon, client):
    job = client.submit("worker", {"do": "count", "to": 5})
    assert job.result() == 5
    with libarcp.Client(daemon.url, TOKEN) as observer:
        followed = observer.subscribe(job.id, history=True)
        logs = [event.body["message"] for event in followed if event.kind == "log"]
        assert logs == ["0", "1", "2", "3", "4"] and followed.result() == 5


def test_unsubscribe(daemon, client):
    job = client.submit("worker", {"do": "wait"})
    with libarcp.Client(daemon.url, TOKEN) as observer:
        observer.subscribe(job.id, history=True).unsubscribe()
    job.cancel()


def test_listing_goes_over_pages(client):
    mine = {client.submit("worker").id for _ in range(5)}
    rows = {row.job_id: row for row in client.jobs(agent="worker", page_size=2)}
    assert mine <= set(rows)
    assert rows[min(mine)].agent.startswith("worker") and rows[min(mine)].created_at.endswith("Z")


def test_session_is_resumed_from_its_state(daemon):
    first = libarcp.Client(daemon.url, TOKEN)
    job = first.submit("worker", {"do": "wait"})
    assert next(iter(job)).job is job
    state = first.session_state
    assert state.resume_token and state.resume_token not in repr(state)
    first.close()
    with libarcp.Client(daemon.url, TOKEN, resume=state, options=libarcp.Options(observe=True)) as second:
        assert second.session_state.session_id == state.session_id
        second.cancel(job.id)
        for event in second.events():
            if event.type == "ended" and event.job.id == job.id:
                break
        assert event.job.outcome.status == "cancelled"


def test_session_that_is_not_known(daemon):
    state = libarcp.SessionState("sess_00000000000000000000000000", "no token")
    fails("RESUME_WINDOW_EXPIRED", lambda: libarcp.Client(daemon.url, TOKEN, resume=state))


def test_what_was_negotiated(client):
    assert {"heartbeat", "ack", "subscribe"} <= client.features
    assert {agent["name"] for agent in client.welcome["capabilities"]["agents"]} == {"worker", "hello"}
    assert "resume_token" not in client.welcome and 0 < client.ping() < 10


def test_idempotency_key(client):
    first = client.submit("worker", {"n": 1}, idempotency_key="the same")
    assert client.submit("worker", {"n": 1}, idempotency_key="the same").id == first.id
    fails("DUPLICATE_KEY", lambda: client.submit("worker", {"n": 2}, idempotency_key="the same"))


def test_credentials_are_taken_once(tmp_path):
    config = tmp_path / "arcpd.yaml"
    config.write_text("""
credentials:
  provisioner: static
  endpoint: https://gateway.example/v1
  models: [fast/small]
  values: [key-number-one]
""")
    daemon = Daemon(tmp_path, "--config", config, store=f"sqlite:{tmp_path}/arcp.db")
    try:
        with libarcp.Client(daemon.url, TOKEN) as client:
            job = client.submit("worker", lease={"model.use": ["fast/*"]})
            (credential,) = job.take_credentials()
            assert (credential.value, credential.endpoint) == ("key-number-one", "https://gateway.example/v1")
            assert credential.id.startswith("cred_") and "key-number-one" not in repr(credential)
            assert job.take_credentials() == [] and job.wait().error is None
            assert client.submit("worker").take_credentials() == []
    finally:
        daemon.stop()


def test_delegated_children_are_observed(daemon):
    with libarcp.Client(daemon.url, TOKEN, options=libarcp.Options(observe=True)) as client:
        job = client.submit("worker", {"do": "delegate"}, lease={"agent.delegate": ["worker"]})
        added = []
        for event in client.events():
            if event.type == "added":
                added.append(event.job)
            if event.type == "ended" and event.job is job:
                break
        assert [child.parent_id for child in added] == [job.id]


# ---- an error for each way in ----


def test_connect_errors(daemon, closed_url, silent_url):
    fails("IO", lambda: libarcp.Client(closed_url))
    fails("UNAUTHENTICATED", lambda: libarcp.Client(daemon.url, "another token"))
    fails("DEADLINE", lambda: libarcp.Client(silent_url, options=libarcp.Options(connect_timeout=0.1)), libarcp.DeadlineError)
    fails("USAGE", lambda: libarcp.Client("http://127.0.0.1/"))
    with pytest.raises(ValueError):
        libarcp.Client(daemon.url, TOKEN, options=libarcp.Options(features=["flying"]))


def test_submit_errors(client):
    error = fails("AGENT_NOT_AVAILABLE", lambda: client.submit("nobody"))
    assert error.code == "AGENT_NOT_AVAILABLE" and not error.retryable
    fails("AGENT_VERSION_NOT_AVAILABLE", lambda: client.submit("worker@99"))
    fails("INVALID_REQUEST", lambda: client.submit("worker", lease={"fs.delete": []}))
    for input in (float("nan"), object(), {1, 2}):
        with pytest.raises((ValueError, TypeError)):
            client.submit("worker", input)


def test_job_error_has_what_the_agent_sent(client):
    job = client.submit("worker", {"do": "fail", "code": "x-vendor.test.BROKEN"})
    error = fails("INTERNAL_ERROR", job.result, libarcp.JobError)
    assert error.message == "as requested" and error.retryable
    assert error.details["why"] == "test" and error.outcome.status == "error"


def test_other_request_errors(client):
    fails("JOB_NOT_FOUND", lambda: client.subscribe("job_00000000000000000000000000"))
    fails("JOB_NOT_FOUND", lambda: client.cancel("job_00000000000000000000000000"))
    with pytest.raises(ValueError):
        list(client.jobs(["finished"]))


def test_a_closed_client(daemon):
    closed = libarcp.Client(daemon.url, TOKEN)
    job = closed.submit("worker", {"do": "wait"}, max_runtime=1)
    closed.close()
    closed.close()
    fails("CLOSED", lambda: closed.submit("worker"))
    fails("CLOSED", closed.ping)
    fails("CLOSED", job.wait)
    fails("CLOSED", lambda: list(job))
    assert list(closed.events()) == [] and job.outcome is None


# ---- threads, signals, leaks ----


def test_threads_share_a_client(client):
    results = []

    def work(number):
        results.append(client.submit("worker", {"n": number}).result(30)["n"])

    working = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in working:
        thread.start()
    for thread in working:
        thread.join()
    assert sorted(results) == list(range(8))


def test_closing_ends_a_wait_of_another_thread(daemon):
    client = libarcp.Client(daemon.url, TOKEN)
    job = client.submit("worker", {"do": "wait"}, max_runtime=1)
    caught = []

    def work():
        try:
            job.result()
        except libarcp.Error as error:
            caught.append(error.status)

    thread = threading.Thread(target=work)
    thread.start()
    client.close()
    thread.join(30)
    assert caught == ["CLOSED"]


@pytest.mark.parametrize("wait", ["job.result()", "client.submit('worker').result(); client.next_event()", "list(job)"])
def test_interrupt_ends_a_wait(daemon, wait):
    program = f"""
import libarcp, sys
with libarcp.Client({daemon.url!r}, {TOKEN!r}) as client:
    job = client.submit("worker", {{"do": "wait"}})
    next(iter(job))
    try:
        print("waiting", flush=True)
        {wait}
    except KeyboardInterrupt:
        job.cancel()
        print("interrupted", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted\n" and process.returncode == 0


def test_interrupt_ends_a_request(silent_url):
    program = f"""
import libarcp
try:
    print("waiting", flush=True)
    libarcp.Client({silent_url!r}, options=libarcp.Options(connect_timeout=300))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted\n" and process.returncode == 0


def test_a_client_that_is_forgotten_says_so(daemon):
    with pytest.warns(ResourceWarning):
        libarcp.Client(daemon.url, TOKEN)


def test_a_forked_child_leaves_the_client_alone(daemon):
    program = f"""
import gc, os, time, libarcp
client = libarcp.Client({daemon.url!r}, {TOKEN!r})
job = client.submit("worker", {{"do": "wait"}})
child = os.fork()
if child == 0:
    began = time.monotonic()
    client.close()
    del job, client
    gc.collect()
    os._exit(7 if time.monotonic() - began < 2 else 8)  # a close waits 3 s for a thread that is not there
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
job.cancel()
print(job.wait().status)
client.close()
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=30, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\ncancelled\n", "")


def test_nothing_leaks(daemon, closed_url, at_rest):
    def once():
        with libarcp.Client(daemon.url, TOKEN) as client:
            job = client.submit("hello")
            list(job)
            job.result()
            client.submit("hello")  # not read
            list(client.jobs(page_size=50))
            for wrong in (lambda: client.submit("nobody"), lambda: libarcp.Client(closed_url)):
                with pytest.raises(libarcp.Error):
                    wrong()

    for _ in range(10):
        once()
    assert at_rest()
    before = (descriptors(), memory())
    for _ in range(40):
        once()
    assert at_rest() and descriptors() == before[0]
    assert memory() - before[1] < 2 << 20


def test_ends_of_failed_jobs_do_not_leak(client):
    def read():
        job = client.submit("worker", {"do": "fail", "code": "x-vendor.test.BROKEN", "pad": 200_000})
        assert [event.type for event in job if event.type != "event"] == []

    for _ in range(5):
        read()
    before = memory()
    for _ in range(40):
        read()
    assert memory() - before < 4 << 20


def test_timeouts_do_not_leak(client):
    job = client.submit("worker", {"do": "wait"})

    def once():
        for _ in range(20000):
            with pytest.raises(libarcp.DeadlineError):
                job.wait(0)

    once()
    before = memory()
    once()
    assert memory() - before < 256 << 10
    job.cancel()


def test_events_do_not_leak(client):
    def once():
        job = client.submit("worker", {"do": "count", "to": 2000, "size": 1000})
        assert sum(1 for event in job if event.body) >= 2000

    once()
    before = memory()
    for _ in range(5):
        once()
    assert memory() - before < 4 << 20
