"""What the runtime shows and reports, by the blocking client and the asyncio client."""
import asyncio
import os
import signal
from decimal import Decimal

import pytest

import libarcp
from conftest import TOKEN, Daemon
from libarcp import _ffi, events

CONFIG = """
tokens:
  - {{token: operator, principal: operator{role}}}
"""


def write_config(folder, role):
    config = folder / "arcpd.yaml"
    config.write_text(CONFIG.format(role=f", role: {role}" if role else ""))
    return config


@pytest.fixture
def staffed(tmp_path):
    """A daemon with a token that has a role."""
    daemon = Daemon(tmp_path, "--config", write_config(tmp_path, "operator"))
    yield daemon
    daemon.stop()


@pytest.fixture
def client(daemon):
    with libarcp.Client(daemon.url, TOKEN) as client:
        yield client


def fails(status, call):
    with pytest.raises(libarcp.Error) as caught:
        call()
    assert caught.value.status == status
    return caught.value


def until_success(client, job_id):
    """The ids in the reports up to that of the job's success."""
    seen = []
    for event in client.events():
        if event.type == "jobs_changed":
            assert event.job is None and not event.body.get("reload")
            rows = event.body["jobs"]
            seen += [row["job_id"] for row in rows]
            if any(row["job_id"] == job_id and row["status"] == "success" for row in rows):
                return seen
    raise AssertionError("the client was closed")


# ---- the view ----


def test_a_view_is_decoded_with_exact_amounts(client):
    job = client.submit("worker", {"do": "spend", "amounts": ["0.1", "0.2"]}, lease=libarcp.Lease({}, budget={"USD": "5"}))
    job.wait()
    shown = client.view("job", {"job_id": job.id})
    assert shown["job_id"] == job.id and shown["status"] == "success"
    assert shown["budget"]["USD"] == {"cap": 5, "spent": Decimal("0.3")}
    assert job.id in [row["job_id"] for row in client.view("jobs", {"limit": 1})["jobs"]]


def test_a_view_that_is_refused_raises_the_runtimes_code(client):
    assert fails("JOB_NOT_FOUND", lambda: client.view("job", {"job_id": "job_00000000000000000000000000"})).code == "JOB_NOT_FOUND"
    fails("INVALID_REQUEST", lambda: client.view("no_such_view"))
    fails("PERMISSION_DENIED", lambda: client.view("sessions"))


@pytest.mark.parametrize("name", ["", "Jobs", "x-vendor.arcpd.jobs", "watch", "unwatch", "ж"])
def test_a_name_that_is_none_is_refused_before_it_is_sent(client, name):
    fails("USAGE", lambda: client.view(name))


def test_a_runtime_without_the_feature_is_not_asked(daemon):
    with libarcp.Client(daemon.url, TOKEN, options=libarcp.Options(features=["ack"])) as client:
        fails("INVALID_REQUEST", lambda: client.view("jobs"))
        fails("INVALID_REQUEST", lambda: client.watch(jobs=True))


# ---- watching ----


def test_jobs_that_change_are_reported_without_observe(client):
    client.watch(jobs=True)
    job = client.submit("worker", events=False)
    assert until_success(client, job.id)[-1] == job.id


def test_nothing_is_reported_between_unwatch_and_watch(client):
    client.watch(jobs=True)
    client.unwatch()
    unseen = client.submit("worker", events=False)
    unseen.wait()
    client.watch(jobs=True)
    job = client.submit("worker", events=False)
    assert unseen.id not in until_success(client, job.id)


def test_a_watch_of_nothing_is_refused(client):
    fails("USAGE", client.watch)


def test_figures_and_other_principals_need_a_role(client):
    fails("PERMISSION_DENIED", lambda: client.watch(figures=True))
    fails("PERMISSION_DENIED", lambda: client.watch(jobs=True, principal="*"))


def test_a_role_watches_the_jobs_of_all_and_the_figures(staffed):
    with libarcp.Client(staffed.url, "operator") as operator, libarcp.Client(staffed.url, TOKEN) as client:
        operator.watch(jobs=True, figures=True, principal="*")
        job = client.submit("worker", events=False)
        assert job.id in until_success(operator, job.id)
        event = next(event for event in operator.events() if event.type == "figures")
        assert event.body["at"].endswith("Z") and event.error is None


def test_a_role_that_is_taken_away_ends_the_watch(staffed, tmp_path):
    with libarcp.Client(staffed.url, "operator") as operator:
        operator.watch(jobs=True, principal="*")
        write_config(tmp_path, "")
        os.kill(staffed.process.pid, signal.SIGHUP)
        event = next(event for event in operator.events() if event.type == "watch_ended")
        assert event.error.status == "PERMISSION_DENIED" and event.body is None


def test_amounts_of_reports_are_exact():
    assert events.Event("jobs_changed", None, json='{"spent":0.1}').body == {"spent": Decimal("0.1")}
    assert isinstance(events.Event("event", None, kind="metric", json='{"value":0.1}').body["value"], float)
    assert [events._TYPES[number] for number in (_ffi.lib.PY_NOTICE, _ffi.lib.PY_WATCH_ENDED)] == ["notice", "watch_ended"]


# ---- asyncio ----


def test_asyncio_has_the_same(daemon):
    async def run():
        async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
            with pytest.raises(libarcp.Error) as caught:
                await client.view("Jobs")
            assert caught.value.status == "USAGE"
            await client.watch(jobs=True)
            job = await client.submit("worker", events=False)
            async for event in client.events():
                assert event.type == "jobs_changed" and event.job is None
                if any(row["job_id"] == job.id and row["status"] == "success" for row in event.body["jobs"]):
                    break
            await client.unwatch()
            assert (await client.view("jobs", {"limit": 1}))["jobs"][0]["job_id"] == job.id
            with pytest.raises(libarcp.Error):
                await client.watch(figures=True)

    asyncio.run(asyncio.wait_for(run(), 60))
