"""Budgets: exact, in a tree, with reservations."""
import threading
from decimal import Decimal

import pytest

import libarcp
from libarcp import _ffi


def budget(amount="5", parent=None, currency="USD"):
    return libarcp.Budget(libarcp.Lease({}, budget={currency: amount}), parent)


def test_counters_are_exact():
    node = budget("0.3")
    for _ in range(3):
        node.spend("USD", Decimal("0.1"))
    assert node.counters["USD"] == libarcp.Counter(Decimal("0.3"), Decimal("0.3"), Decimal(0))
    assert node.exhausted == "USD"


def test_smallest_and_largest_amounts():
    largest = Decimal("170141183460469231731.687303715884105727")
    node = budget(largest)
    assert node.available("USD") == largest
    node.spend("USD", Decimal("0.000000000000000001"))
    assert str(node.available("USD"))[-3:] == "726"
    node.spend("USD", Decimal("1E-30"))  # rounds up
    assert str(node.available("USD"))[-3:] == "725"


@pytest.mark.parametrize("amount", [0.1, True, None, b"1"])
def test_amount_of_another_type(amount):
    with pytest.raises(TypeError):
        budget().spend("USD", amount)


@pytest.mark.parametrize("amount", ["-1", Decimal("-0.1"), Decimal("NaN"), Decimal("Infinity"), "", "1 USD"])
def test_amount_that_is_refused(amount):
    node = budget()
    for call in (node.spend, node.reserve):
        with pytest.raises(libarcp.Error) as caught:
            call("USD", amount)
        assert caught.value.status == "INVALID_REQUEST"
    assert node.available("USD") == 5


def test_spend_is_taken_from_every_node_above():
    root = budget("5")
    child = budget("2", root)
    reports = child.spend("USD", "2")
    assert root.available("USD") == 3 and child.available("USD") == 0
    assert [(report.budget, report.remaining, report.exhausted) for report in reports] == [
        (child, Decimal(0), True), (root, Decimal(3), False)]
    assert child.parent == root and root.parent is None and len({root, child.parent}) == 1


def test_overspend_is_taken_too():
    node = budget("1")
    node.spend("USD", 3)
    assert node.counters["USD"].remaining == -2 and node.exhausted == "USD"


def test_currency_that_nothing_counts():
    node = budget()
    assert node.available("EUR") is None and node.spend("EUR", 1) == [] and node.exhausted is None


def test_reservation_is_settled():
    node = budget("1")
    with node.reserve("USD", "0.6") as reserved:
        assert node.available("USD") == Decimal("0.4")
        reserved.settle("0.5")
    assert node.counters["USD"].spent == Decimal("0.5") and node.available("USD") == Decimal("0.5")
    for end in (reserved.release, lambda: reserved.settle(1)):
        with pytest.raises(libarcp.Error) as caught:
            end()
        assert caught.value.status == "USAGE"


def test_reservation_is_released_by_an_exception():
    node = budget("1")
    with pytest.raises(KeyError), node.reserve("USD", 1):
        raise KeyError
    assert node.available("USD") == 1


def test_reservation_beyond_what_remains():
    root = budget("1")
    with pytest.raises(libarcp.Error) as caught:
        budget("5", root).reserve("USD", 2)
    assert caught.value.status == "BUDGET_EXHAUSTED" and root.available("USD") == 1


def test_settle_with_a_wrong_amount_keeps_the_reservation():
    node = budget("1")
    reserved = node.reserve("USD", "0.5")
    with pytest.raises(libarcp.Error):
        reserved.settle("-1")
    reserved.release()
    assert node.available("USD") == 1


@pytest.mark.parametrize("end, remains", [("release", "0.75"), ("settle", "0.25")])
def test_reservation_whose_end_is_interrupted_is_not_released_again(monkeypatch, end, remains):
    def interrupted(result, error):
        raise KeyboardInterrupt

    node = budget("1")
    other = node.reserve("USD", "0.25")
    with pytest.raises(KeyboardInterrupt), node.reserve("USD", "0.5") as reserved, monkeypatch.context() as patch:
        patch.setattr(_ffi, "check", interrupted)
        reserved.release() if end == "release" else reserved.settle("0.5")
    assert node.available("USD") == Decimal(remains)
    other.release()


def test_threads_spend_exactly():
    root = budget("1000")

    def work():
        node = budget("1000", root)
        for _ in range(500):
            node.reserve("USD", "0.02").settle("0.01")

    working = [threading.Thread(target=work) for _ in range(4)]
    for thread in working:
        thread.start()
    for thread in working:
        thread.join()
    assert root.counters["USD"].spent == 20 and root.available("USD") == 980
