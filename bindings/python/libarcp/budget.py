"""Budgets: exact counters per currency, in a tree. Amounts are never floats."""

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Optional

from . import _ffi
from ._arcp import ffi, lib
from .errors import Error

if TYPE_CHECKING:
    from .lease import Lease

_REPORTS_MAX = 16


@dataclass(frozen=True)
class Counter:
    """One counter of a node: ``remaining`` is initial - spent - reserved, negative after an overspend."""

    initial: Decimal
    spent: Decimal
    remaining: Decimal


@dataclass(frozen=True)
class Report:
    """A counter that crossed a twentieth of its initial amount, or was used up, by one spend.

    Attributes:
        budget: whose counter: the node, or one above it.
        currency: which counter.
        remaining: after the spend, reserved amounts subtracted.
        exhausted: used up by what was spent, without what is reserved.
    """

    budget: "Budget"
    currency: str
    remaining: Decimal
    exhausted: bool


class Budget:
    """What a job may still spend. What is spent at a node is taken from every node above it, too.

    Any thread. Amounts are Decimal, int or str (a float raises TypeError); digits beyond the 18th
    after the point round up.
    """

    _handle: Any

    def __init__(self, lease: "Lease", parent: Optional["Budget"] = None) -> None:
        """A node with the counters of the lease's ``cost.budget``, below `parent`."""
        out, error = ffi.new("arcp_budget **"), ffi.new("py_error *")
        above = ffi.NULL if parent is None else parent._handle
        _ffi.check(lib.py_budget_new(lease._handle, above, out, error), error)
        self._handle = _own(out[0])

    @classmethod
    def _of(cls, handle: Any) -> "Budget":
        """The budget of a reference that is owned."""
        budget = cls.__new__(cls)
        budget._handle = _own(handle)
        return budget

    @property
    def parent(self) -> Optional["Budget"]:
        """The node above; None at the root."""
        handle = lib.py_budget_parent(self._handle)
        return Budget._of(handle) if handle else None

    @property
    def counters(self) -> dict[str, Counter]:
        """The node's own counters by currency, in the lease's order."""
        found: dict[str, Counter] = {}
        counter = ffi.new("py_counter *")
        while lib.py_budget_counter(self._handle, len(found), counter):
            found[_ffi.decode(counter.currency)] = Counter(
                _ffi.exact(counter.initial), _ffi.exact(counter.spent), _ffi.exact(counter.remaining)
            )
        return found

    def available(self, currency: str) -> Optional[Decimal]:
        """What can still be spent: the least that remains here or above; None: nothing counts it."""
        text = ffi.new("char[44]")
        if not lib.py_budget_available(self._handle, _ffi.view(currency), text):
            return None
        return _ffi.exact(text)

    @property
    def exhausted(self) -> Optional[str]:
        """The first currency, here or above, of which nothing is left; None while all have some."""
        currency = ffi.new("py_text *")
        if lib.py_budget_is_open(self._handle, currency):
            return None
        return _ffi.decode(currency)

    def spend(self, currency: str, amount: _ffi.Amount) -> list[Report]:
        """Takes an amount here and above, also when it overdraws: the cost was real.

        A currency that no node counts changes nothing.

        Returns:
            The counters to report, nearest node first.

        Raises:
            Error: ``INVALID_REQUEST`` for a negative amount, or what is no number.
        """
        return self._spend(currency, b"", _ffi.amount(amount))

    def _spend(self, currency: str, held: bytes, amount: bytes) -> list[Report]:
        reports = ffi.new("py_report[]", _REPORTS_MAX)
        count, error = ffi.new("size_t *"), ffi.new("py_error *")
        result = lib.py_budget_spend(
            self._handle, _ffi.view(currency), _ffi.view(held), _ffi.view(amount),
            reports, _REPORTS_MAX, count, error,
        )  # fmt: skip
        _ffi.check(result, error)
        return [
            Report(
                Budget._of(row.budget), _ffi.decode(row.currency), _ffi.exact(row.remaining), row.exhausted
            )
            for row in reports[0 : count[0]]
        ]

    def reserve(self, currency: str, amount: _ffi.Amount) -> "Reservation":
        """Holds an amount here and above, all or nothing, until it is settled or released.

        As a context manager the reservation is released at the end, unless it was settled:

        >>> with budget.reserve("USD", "0.40") as reserved:
        ...     cost = call_the_model()
        ...     reserved.settle(cost)

        Raises:
            Error: ``BUDGET_EXHAUSTED`` when a node has less; ``INVALID_REQUEST`` as `spend`.
        """
        held, done, error = _ffi.amount(amount), ffi.new("bool *"), ffi.new("py_error *")
        _ffi.check(
            lib.py_budget_reserve(self._handle, _ffi.view(currency), _ffi.view(held), done, error), error
        )
        if not done[0]:
            raise Error(
                f"{amount} {currency} cannot be reserved: {self.available(currency)} remain",
                status="BUDGET_EXHAUSTED",
            )
        return Reservation(self, currency, held)

    def __eq__(self, other: object) -> bool:
        """The same node."""
        return isinstance(other, Budget) and bool(self._handle == other._handle)

    def __hash__(self) -> int:
        return hash(self._handle)

    def __repr__(self) -> str:
        left = ", ".join(f"{name} {counter.remaining}" for name, counter in self.counters.items())
        return f"Budget({left})"


class Reservation:
    """An amount that is held. Exactly one of `settle` and `release` ends it; one thread at a time."""

    def __init__(self, budget: Budget, currency: str, held: bytes) -> None:
        self._budget = budget
        self._currency = currency
        self._held: Optional[bytes] = held

    def settle(self, amount: _ffi.Amount) -> list[Report]:
        """Spends `amount`, which may be less or more than what was held, and gives the rest back.

        Raises:
            Error: ``USAGE`` when the reservation has ended; ``INVALID_REQUEST`` as `Budget.spend`.
        """
        spent = _ffi.amount(amount)
        held = self._end()
        try:
            return self._budget._spend(self._currency, held, spent)
        except Error:  # it was refused
            self._held = held
            raise

    def release(self) -> None:
        """Gives back what was held. Raises `Error` ``USAGE`` when the reservation has ended."""
        currency, error = _ffi.view(self._currency), ffi.new("py_error *")
        held = _ffi.view(self._end())
        _ffi.check(lib.py_budget_release(self._budget._handle, currency, held, error), error)

    def _end(self) -> bytes:
        """The amount that was held. Marks the reservation as ended before the call that ends it, so
        that an exception from a signal's handler (Ctrl-C) does not let it end twice."""
        held, self._held = self._held, None
        if held is None:
            raise Error("the reservation was settled or released before", status="USAGE")
        return held

    def __enter__(self) -> "Reservation":
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._held is not None:
            self.release()


def _own(handle: Any) -> Any:
    return ffi.gc(handle, lib.py_budget_unref)
