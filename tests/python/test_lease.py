"""Leases and the gate: the shared vectors, and each function with its errors."""
import copy
import json
import pickle
import signal
import threading
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest

import libarcp
from conftest import ROOT, memory

VECTORS = ROOT / "tests" / "vectors"
INSTANT = datetime(2026, 5, 13, 23, 42, tzinfo=timezone.utc)


def rows(*names, least):
    found = [row for name in names for row in json.loads((VECTORS / name).read_text())["vectors"]]
    assert len(found) >= least
    return pytest.mark.parametrize("row", found, ids=lambda row: row["id"])


@rows("lease-match-vectors.json", "lease-match-more.json", least=464)
def test_match_vector(row):
    capability = row["capability"]
    try:
        lease = libarcp.Lease({capability: row["patterns"]} if capability != "cost.budget" else {})
    except libarcp.Error:
        lease = libarcp.Lease()  # a capability that cannot be in a lease is denied all the same
    target = bytes.fromhex(row["target_hex"]) if row.get("target_hex") else row["target"]
    decision = libarcp.Authority(lease, cwd="/job").check(capability, target)
    assert decision.allowed == (row["expect"] == "allow")
    if row["expect"] == "deny":
        assert decision.code == "PERMISSION_DENIED" and decision.message and not decision
        if row["deny_code"]:
            assert decision.reason == row["deny_code"]
    if row["canonical"] is not None:
        assert decision.canonical == row["canonical"]


def side(row, name):
    value = json.dumps(row[name])
    return libarcp.Lease.from_json("{}", value) if "kind" in row else libarcp.Lease.from_json(value)


@rows("lease-subset-vectors.json", "lease-subset-more.json", "lease-limits-more.json", least=394)
def test_subset_vector(row):
    parent = side(row, "parent")
    if row.get("wire"):
        with pytest.raises(libarcp.Error) as caught:
            side(row, "child")
        assert caught.value.status == "INVALID_REQUEST"
        return
    child = side(row, "child")
    violation = child.violation(parent)
    assert child.is_within(parent) == (violation is None) == row["subset"]
    if violation is None:
        child.assert_within(parent)
        return
    with pytest.raises(libarcp.Error) as caught:
        child.assert_within(parent)
    assert caught.value.status == "LEASE_SUBSET_VIOLATION"
    if violation.reason == "NO_MATCH":
        assert libarcp.Authority(child, cwd="/job").check(violation.capability, violation.witness)
        assert not libarcp.Authority(parent, cwd="/job").check(violation.capability, violation.witness)
    else:
        assert violation.witness


def test_lease_shows_what_it_was_made_of():
    lease = libarcp.Lease({"fs.read": ["/a/**", "/b"]}, budget={"USD": Decimal("2.50")}, expires_at=INSTANT)
    assert lease.capabilities == {"fs.read": ["/a/**", "/b"], "cost.budget": ["USD:2.50"]}
    assert lease.budget == {"USD": Decimal("2.5")}
    assert lease.expires_at == INSTANT
    assert json.loads(lease.constraints_json) == {"expires_at": "2026-05-13T23:42:00Z"}
    assert libarcp.Lease().expires_at is None
    assert lease == libarcp.Lease.from_json(lease.json, lease.constraints_json) != libarcp.Lease()
    assert len({lease, pickle.loads(pickle.dumps(lease)), copy.deepcopy(lease)}) == 1
    assert "fs.read" in repr(lease) and "2026" in repr(lease)


def test_lease_time_zone_becomes_utc():
    east = INSTANT.astimezone(timezone(timedelta(hours=9)))
    assert libarcp.Lease({}, expires_at=east).constraints_json == '{"expires_at":"2026-05-13T23:42:00Z"}'
    with pytest.raises(ValueError):
        libarcp.Lease({}, expires_at=datetime(2026, 5, 13))


@pytest.mark.parametrize("text", ["{", "[]", '{"fs.delete":["/"]}', '{"fs.read":[],"fs.read":[]}', "", b"\xff"])
def test_lease_text_that_is_refused(text):
    with pytest.raises(libarcp.Error) as caught:
        libarcp.Lease.from_json(text)
    assert caught.value.status == "INVALID_REQUEST" and not caught.value.retryable


def test_error_has_the_offset_of_what_is_no_json():
    with pytest.raises(libarcp.Error) as caught:
        libarcp.Lease.from_json('{"fs.read": nothing}')
    assert caught.value.offset == 12


def test_amount_that_is_a_float_is_refused():
    with pytest.raises(TypeError):
        libarcp.Lease({}, budget={"USD": 0.1})


def test_violation_has_a_witness():
    parent = libarcp.Lease({"fs.read": ["/srv/data/**"]})
    violation = libarcp.Lease({"fs.read": ["/srv/**"]}).violation(parent)
    assert violation.capability == "fs.read" and violation.child_pattern == "/srv/**"
    assert violation.witness == "/srv" and violation.reason == "NO_MATCH" and "/srv/**" in violation.message
    with pytest.raises(libarcp.Error) as caught:
        libarcp.Lease({"fs.read": ["/srv/**"]}).assert_within(parent)
    assert caught.value.details["witness"] == violation.witness


def test_narrow():
    request = libarcp.Lease({"fs.read": ["/srv/**"], "tool.call": ["search"]}, budget={"USD": "10"})
    ceiling = libarcp.Lease({"fs.read": ["/srv/data/**"]}, budget={"USD": "2.5"})
    lease, dropped = request.narrow(ceiling)
    assert lease.capabilities["fs.read"] == ["/srv/data/**"] and lease.capabilities["tool.call"] == []
    assert lease.budget == {"USD": Decimal("2.5")}
    assert lease.is_within(request)
    assert libarcp.Dropped("fs.read", "/srv/**", ("/srv/data/**",)) in dropped
    kept, _ = request.narrow(ceiling, absent_is_open=True)
    assert kept.capabilities["tool.call"] == ["search"]


def test_lint():
    lease = libarcp.Lease({"tool.call": ["*"], "fs.read": ["/a", "/a"]}, expires_at=INSTANT)
    kinds = {finding.kind for finding in lease.lint(INSTANT + timedelta(days=1))}
    assert {"narrow", "redundant", "expired"} <= kinds
    assert "expired" not in {finding.kind for finding in lease.lint(INSTANT - timedelta(days=1))}


def test_gate_answers_with_the_pattern_and_the_details():
    gate = libarcp.Authority(libarcp.Lease({"fs.read": ["/srv/data/**"]}))
    allowed = gate.check("fs.read", "/srv/data/../data/a")
    assert allowed and allowed.canonical == "/srv/data/a" and allowed.pattern == "/srv/data/**"
    denied = gate.check("fs.read", "/etc/passwd")
    assert denied.details["granted"] == ["/srv/data/**"] and "/etc/passwd" in denied.message
    assert gate.authorize("fs.read", "/srv/data/a") == "/srv/data/a"
    with pytest.raises(libarcp.Error) as caught:
        gate.authorize("fs.read", "/etc/passwd")
    assert caught.value.status == "PERMISSION_DENIED" and caught.value.details["reason"] == denied.details["reason"]


def test_gate_takes_bytes():
    gate = libarcp.Authority(libarcp.Lease({"fs.read": ["/data/*"]}))
    decision = gate.check("fs.read", b"/data/\xff")
    assert decision and decision.canonical.encode("utf-8", "surrogateescape") == b"/data/\xff"
    assert gate.check("fs.read", decision.canonical)
    assert gate.check("fs.read", b"/data/\0").reason == "NUL"


def test_gate_relative_paths_need_a_directory():
    lease = libarcp.Lease({"fs.read": ["/job/**"]})
    assert libarcp.Authority(lease, cwd="/job").check("fs.read", "./a").canonical == "a"
    assert not libarcp.Authority(lease).check("fs.read", "a")
    with pytest.raises(libarcp.Error) as caught:
        libarcp.Authority(lease, cwd="job")
    assert caught.value.status == "USAGE"


def test_gate_expiry_is_decided_for_an_instant():
    lease = libarcp.Lease({"fs.read": ["/**"]}, expires_at=INSTANT)
    gate = libarcp.Authority(lease, now=INSTANT - timedelta(hours=1))
    assert gate.check("fs.read", "/a", at=INSTANT - timedelta(seconds=1))
    late = gate.check("fs.read", "/a", at=INSTANT + timedelta(seconds=1))
    assert (late.code, late.reason) == ("LEASE_EXPIRED", "EXPIRED")
    assert not libarcp.Authority(lease, now=INSTANT + timedelta(hours=1)).check("fs.read", "/a")


def test_gate_budget_that_is_used_up():
    gate = libarcp.Authority(libarcp.Lease({"tool.call": ["search"]}, budget={"USD": "1"}))
    assert gate.check("tool.call", "search")
    gate.budget.spend("USD", "1")
    denied = gate.check("tool.call", "search")
    assert (denied.code, denied.reason, denied.currency) == ("BUDGET_EXHAUSTED", "BUDGET", "USD")


def test_gate_models_and_delegation():
    gate = libarcp.Authority(libarcp.Lease({"agent.delegate": ["pdf@1"]}))
    assert gate.check_delegate("pdf", "1") and not gate.check_delegate("pdf", "2")
    assert not gate.check("model.use", "gpt-4")
    assert libarcp.Authority(libarcp.Lease({"model.use": ["gpt-*"]})).check("model.use", "gpt-4")


def test_explain():
    gate = libarcp.Authority(libarcp.Lease({"fs.read": ["/srv/data/*"]}))
    assert "/srv/data/*" in gate.explain("fs.read", "/srv/data/a/b")
    assert gate.explanation("fs.read", "/srv/data/a")["allow"] is True


def test_derive():
    parent = libarcp.Authority(libarcp.Lease({"fs.read": ["/srv/**"]}, budget={"USD": "5"}))
    child = parent.derive(libarcp.Lease({"fs.read": ["/srv/a"]}, budget={"USD": "2"}))
    assert child.is_within(parent.lease)
    with pytest.raises(libarcp.Error) as caught:
        parent.derive(libarcp.Lease({"fs.read": ["/etc/**"]}))
    assert caught.value.status == "LEASE_SUBSET_VIOLATION" and caught.value.details["witness"]


def test_errors_can_be_pickled():
    with pytest.raises(libarcp.Error) as caught:
        libarcp.Lease.from_json("{")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.status, again.offset) == (str(caught.value), "INVALID_REQUEST", caught.value.offset)


def test_threads_share_a_gate():
    gate = libarcp.Authority(libarcp.Lease({"fs.read": ["/srv/**"]}))
    wrong = []

    def ask(number):
        for i in range(2000):
            path = f"/srv/{number}/./{i}"
            if gate.check("fs.read", path).canonical != f"/srv/{number}/{i}":
                wrong.append(path)

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert wrong == []


def everything():
    lease = libarcp.Lease({"fs.read": ["/srv/**"]}, budget={"USD": "5"})
    gate = libarcp.Authority(lease, cwd="/srv")
    gate.check("fs.read", "/srv/a")
    gate.check("fs.read", "/etc/passwd")
    gate.explain("fs.read", "/etc/passwd")
    gate.derive(libarcp.Lease({"fs.read": ["/srv/a"]}))
    other = libarcp.Lease({"fs.read": ["/**"]})
    assert other.violation(lease)
    other.narrow(lease)
    other.lint()
    gate.budget.spend("USD", "1")
    for wrong in (lambda: libarcp.Lease({"x": []}), lambda: other.assert_within(lease)):
        with pytest.raises(libarcp.Error):
            wrong()


def test_a_signal_handler_that_asks_does_not_change_the_answer():
    gate = libarcp.Authority(libarcp.Lease({"fs.read": ["/srv/**"]}))
    calls = 0

    def ask(number, frame):
        nonlocal calls
        calls += 1
        assert gate.check("fs.read", "/srv/./of/the/handler").allowed

    before = signal.signal(signal.SIGALRM, ask)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
        while calls < 2000:
            assert gate.check("fs.read", "/srv/./a").canonical == "/srv/a"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_nothing_leaks():
    for _ in range(300):
        everything()
    before = memory()
    for _ in range(3000):
        everything()
    # A leak of one lease each would be some MiB.
    assert memory() - before < 1 << 20
