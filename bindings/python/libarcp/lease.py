"""Leases: what a job may do. See docs/leases.md of the C library for every rule."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import cached_property
from typing import Any, Mapping, Optional, Sequence, Union

from . import _ffi
from ._arcp import ffi, lib
from .errors import Error

Capabilities = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Violation:
    """Why a lease is not within another: its first capability that is wider.

    Attributes:
        capability: of the child; ``expires_at`` for the constraint.
        child_pattern: the child's pattern, amount or instant.
        witness: what the child allows and the other lease does not: a canonical target, an amount
            (``USD:10``) or an instant. "" when none was found in time (``TOO_COMPLEX``).
        reason: ``NO_MATCH``, ``BUDGET``, ``EXPIRED`` or ``TOO_COMPLEX``.
        message: one line for people.
    """

    capability: str
    child_pattern: str
    witness: str
    reason: str
    message: str


@dataclass(frozen=True)
class Dropped:
    """One change that narrowing made.

    Attributes:
        capability: of the request.
        pattern: which pattern did not stay; None for a limit that the request did not name.
        narrowed_to: what stands in its place; empty when it fell away.
    """

    capability: str
    pattern: Optional[str]
    narrowed_to: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """Something odd about a lease.

    Attributes:
        kind: ``dead``, ``redundant``, ``broad``, ``narrow``, ``budget_zero`` or ``expired``.
        message: one line for people.
        capability, index, pattern: where; None when it is about the whole lease.
    """

    kind: str
    message: str
    capability: Optional[str] = None
    index: Optional[int] = None
    pattern: Optional[str] = None


class Lease:
    """What one job may do, how much it may spend, until when. Immutable; any thread.

    >>> Lease({"fs.read": ["/srv/data/**"]}, budget={"USD": Decimal("2.50")})
    """

    _handle: Any

    def __init__(
        self,
        capabilities: Optional[Capabilities] = None,
        *,
        budget: Optional[Mapping[str, _ffi.Amount]] = None,
        expires_at: Union[datetime, str, None] = None,
    ) -> None:
        """Compiles a lease.

        Args:
            capabilities: patterns by capability, as on the wire; ``cost.budget`` may be among them.
            budget: amounts by currency, added to ``cost.budget``: Decimal, int or str.
            expires_at: a datetime with a time zone, or RFC 3339 text in UTC with ``Z``. That it is
                in the future is not checked.

        Raises:
            Error: ``INVALID_REQUEST``: capability, index and reason are in the message.
        """
        patterns = {name: list(values) for name, values in (capabilities or {}).items()}
        if budget:
            amounts = patterns.setdefault("cost.budget", [])
            amounts += [f"{currency}:{_plain(value)}" for currency, value in budget.items()]
        constraints = {} if expires_at is None else {"expires_at": _instant(expires_at)}
        self._handle = _parse(_ffi.to_json(patterns), _ffi.to_json(constraints))

    @classmethod
    def from_json(cls, lease: _ffi.Bytes, constraints: _ffi.Bytes = "") -> "Lease":
        """Reads a lease from JSON text: the bare map, and ``{"expires_at": ...}`` or "".

        Raises:
            Error: ``INVALID_REQUEST``, with the offset of what is no JSON.
        """
        return cls._of(_parse(lease, constraints))

    @classmethod
    def _of(cls, handle: Any) -> "Lease":
        """The lease of a handle that is owned."""
        lease = cls.__new__(cls)
        lease._handle = handle
        return lease

    @cached_property
    def _texts(self) -> tuple[str, str]:
        patterns, constraints = ffi.new("py_owned *"), ffi.new("py_owned *")
        result = lib.py_lease_text(self._handle, patterns, constraints)
        texts = _ffi.take(patterns[0]), _ffi.take(constraints[0])
        _ffi.no_memory(result)
        return texts

    @property
    def json(self) -> str:
        """The bare map of the wire: capabilities and patterns in the order they were given."""
        return self._texts[0]

    @property
    def constraints_json(self) -> str:
        """``{"expires_at": ...}`` as it was given; ``{}`` for a lease that does not expire."""
        return self._texts[1]

    @property
    def capabilities(self) -> dict[str, list[str]]:
        """Patterns by capability; those of ``cost.budget`` are its amounts."""
        made: dict[str, list[str]] = json.loads(self.json)
        return made

    @property
    def budget(self) -> dict[str, Decimal]:
        """The total by currency."""
        from .budget import Budget

        return {name: counter.initial for name, counter in Budget(self).counters.items()}

    @property
    def expires_at(self) -> Optional[datetime]:
        """The instant, rounded down to microseconds; None for a lease that does not expire."""
        nanoseconds = lib.py_lease_expires_ns(self._handle)
        if nanoseconds == _ffi.FOREVER:
            return None
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=nanoseconds // 1000)

    def violation(self, parent: "Lease") -> Optional[Violation]:
        """None when everything that this lease allows is allowed by `parent`; else what is not."""
        out, error = ffi.new("py_violation *"), ffi.new("py_error *")
        result = lib.py_lease_subset(self._handle, parent._handle, out, error)
        details, witness = _ffi.take(out.details), _ffi.take(out.witness)
        _ffi.check(result, error)
        message = ffi.string(out.message).decode("utf-8", "replace")
        if not out.reason:
            return None
        found = json.loads(details)
        return Violation(
            found["capability"], found["child_pattern"], witness, _ffi.name(out.reason), message
        )

    def is_within(self, parent: "Lease") -> bool:
        """Whether everything that this lease allows is allowed by `parent`."""
        return self.violation(parent) is None

    def assert_within(self, parent: "Lease") -> None:
        """Raises `Error` ``LEASE_SUBSET_VIOLATION`` with ``details["witness"]`` unless `is_within`."""
        error = ffi.new("py_error *")
        _ffi.check(lib.py_lease_assert_subset(self._handle, parent._handle, error), error)

    def narrow(self, ceiling: "Lease", *, absent_is_open: bool = False) -> tuple["Lease", list[Dropped]]:
        """This lease narrowed by a ceiling, never wider than either, and what changed.

        Args:
            ceiling: what a policy allows at most.
            absent_is_open: whether a capability that the ceiling does not name stays as it is;
                else it falls away.
        """
        out, dropped = ffi.new("arcp_lease **"), ffi.new("py_owned *")
        error = ffi.new("py_error *")
        result = lib.py_lease_narrow(self._handle, ceiling._handle, absent_is_open, out, dropped, error)
        _ffi.check(result, error)
        lease = Lease._of(_own(out[0]))
        changes = [
            Dropped(row["capability"], row.get("pattern"), tuple(row.get("narrowed_to", ())))
            for row in json.loads(_ffi.take(dropped[0]))
        ]
        return lease, changes

    def lint(self, now: Optional[datetime] = None) -> list[Finding]:
        """What is odd about the lease; `now` (the clock's) decides whether it has expired."""
        out = ffi.new("py_owned *")
        _ffi.no_memory(lib.py_lease_lint(self._handle, _wall(now), out))
        return [Finding(**row) for row in json.loads(_ffi.take(out[0]))]

    def __eq__(self, other: object) -> bool:
        """Equal texts: the same capabilities, patterns and expiry in the same order."""
        return isinstance(other, Lease) and self._texts == other._texts

    def __hash__(self) -> int:
        return hash(self._texts)

    def __repr__(self) -> str:
        constraints = "" if self.constraints_json == "{}" else f", {self.constraints_json}"
        return f"Lease({self.json}{constraints})"

    def __reduce__(self) -> Any:
        return Lease.from_json, self._texts


def read(lease: Union[Lease, Capabilities, None]) -> Optional[Lease]:
    """The lease that an argument gives."""
    return lease if lease is None or isinstance(lease, Lease) else Lease(lease)


def _parse(lease: _ffi.Bytes, constraints: _ffi.Bytes) -> Any:
    out, error = ffi.new("arcp_lease **"), ffi.new("py_error *")
    _ffi.check(lib.py_lease_parse(_ffi.view(lease), _ffi.view(constraints), out, error), error)
    return _own(out[0])


def _own(lease: Any) -> Any:
    return ffi.gc(lease, lib.py_lease_unref)


def _instant(moment: Union[datetime, str]) -> str:
    if isinstance(moment, str):
        return moment
    _ffi.wall_ns(moment)  # which refuses one without a time zone
    return moment.astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z"


def _plain(value: _ffi.Amount) -> str:
    """An amount without exponent, as leases have it."""
    text = _ffi.amount(value).decode()
    return format(value, "f") if isinstance(value, Decimal) else text


def _wall(now: Optional[datetime]) -> int:
    return _ffi.clocks()[0] if now is None else _ffi.wall_ns(now)
