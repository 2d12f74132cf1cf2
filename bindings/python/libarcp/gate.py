"""The gate: decides whether a job may do something."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Mapping, Optional

from . import _ffi
from ._arcp import ffi, lib
from .budget import Budget
from .errors import Error
from .lease import Lease


@dataclass(frozen=True)
class Decision:
    """Whether one operation is allowed; true when it is.

    Attributes:
        allowed: whether it is.
        capability, target: what was asked.
        canonical: what was matched. Act on this and not on `target`; "" when there is none.
        pattern: which pattern of the lease allowed it.
        code: of a denial: ``PERMISSION_DENIED``, ``LEASE_EXPIRED`` or ``BUDGET_EXHAUSTED``.
        reason: of a denial: ``NO_MATCH``, ``EXPIRED``, ``BUDGET``, ``NUL``... (docs/leases.md).
        currency: of a budget that is used up.
        message: of a denial, one line for people.
        details: of a denial: capability, target, canonical, granted, reason.
    """

    allowed: bool
    capability: str
    target: str
    canonical: str
    pattern: str = ""
    code: str = ""
    reason: str = ""
    currency: str = ""
    message: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.allowed


class Authority:
    """What a job holds: its lease, its budget, and its expiry anchored to the monotonic clock.

    Any thread. Targets are str, or bytes for paths that are no UTF-8; such bytes come back in
    `Decision` as lone surrogates, as `os.fsdecode` makes them.
    """

    _handle: Any

    def __init__(
        self,
        lease: Lease,
        *,
        budget: Optional[Budget] = None,
        cwd: _ffi.Bytes = "",
        model_use_required: bool = True,
        expiry_grace: float = 0.0,
        now: Optional[datetime] = None,
        parent: Optional["Authority"] = None,
    ) -> None:
        """Makes the authority of one job.

        Args:
            budget: None: one is made from the lease, below the parent's.
            cwd: absolute directory that relative paths start from; "": they are denied.
            model_use_required: a lease without ``model.use`` denies every model.
            expiry_grace: seconds added to the expiry, from 0 to 1.
            now: the time at which the expiry is anchored; None: the clock's.
            parent: of the job that delegated.

        Raises:
            Error: ``USAGE`` for a grace or a directory that is not allowed.
        """
        wall, mono = _ffi.clocks()
        self._lease = lease
        self._anchor = (wall if now is None else _ffi.wall_ns(now), mono)
        directory = _ffi.view(cwd)
        options = ffi.new(
            "py_authority_options *",
            {
                "budget": ffi.NULL if budget is None else budget._handle,
                "parent": ffi.NULL if parent is None else parent._handle,
                "wall_ns": self._anchor[0],
                "mono_ns": self._anchor[1],
                "expiry_grace_ns": int(expiry_grace * _ffi.NS),
                "cwd": directory,
                "model_use_required": model_use_required,
            },
        )
        out, error = ffi.new("arcp_authority **"), ffi.new("py_error *")
        _ffi.check(lib.py_authority_new(lease._handle, options, out, error), error)
        self._handle = ffi.gc(out[0], lib.py_authority_unref)

    @property
    def lease(self) -> Lease:
        """The lease that it was made of."""
        return self._lease

    @property
    def budget(self) -> Budget:
        """The job's budget, shared with the gate."""
        return Budget._of(lib.py_authority_budget(self._handle))

    def check(
        self, capability: str, target: _ffi.Bytes, *, at: Optional[datetime] = None
    ) -> Decision:
        """Decides about one operation: expiry, then budgets, then capability and target.

        Args:
            capability: ``fs.read``, ``tool.call``... (docs/leases.md).
            target: path, URL or name.
            at: the instant to decide for, seen from `now` of the constructor; None: the clock's.
        """
        return self._decide(self._question(capability, target, at), capability, target)

    def check_delegate(
        self, agent: str, version: str = "", *, at: Optional[datetime] = None
    ) -> Decision:
        """Decides about delegating to an agent: ``name@version``, then ``name``, then ``name@``."""
        question = self._question("agent.delegate", agent, at)
        question.update(version=_ffi.view(version), is_delegate=True)
        return self._decide(question, "agent.delegate", agent)

    def authorize(
        self, capability: str, target: _ffi.Bytes, *, at: Optional[datetime] = None
    ) -> str:
        """The canonical target to act on.

        Raises:
            Error: for a denial: ``PERMISSION_DENIED``, ``LEASE_EXPIRED`` or ``BUDGET_EXHAUSTED``,
                with `Decision.details`.
        """
        decision = self.check(capability, target, at=at)
        if not decision:
            raise Error(decision.message, status=decision.code, details=decision.details)
        return decision.canonical

    def explain(
        self, capability: str, target: _ffi.Bytes, *, at: Optional[datetime] = None
    ) -> str:
        """Why a target is allowed or denied, as lines for people."""
        return self._explain(capability, target, at, False)

    def explanation(
        self, capability: str, target: _ffi.Bytes, *, at: Optional[datetime] = None
    ) -> dict[str, Any]:
        """The same as an object: what was matched, the nearest pattern, the one that would allow it."""
        made: dict[str, Any] = json.loads(self._explain(capability, target, at, True))
        return made

    def derive(self, request: Lease) -> Lease:
        """The lease that a delegated job gets for `request`.

        Raises:
            Error: ``LEASE_SUBSET_VIOLATION`` with ``details["witness"]``.
        """
        out, error = ffi.new("arcp_lease **"), ffi.new("py_error *")
        _ffi.check(lib.py_lease_derive(self._handle, request._handle, out, error), error)
        return Lease._of(ffi.gc(out[0], lib.py_lease_unref))

    def _explain(
        self, capability: str, target: _ffi.Bytes, at: Optional[datetime], as_json: bool
    ) -> str:
        fields = self._question(capability, target, at)
        out, allowed = ffi.new("py_owned *"), ffi.new("bool *")
        question = ffi.new("py_question *", fields)
        _ffi.no_memory(lib.py_explain(self._handle, question, as_json, out, allowed))
        return _ffi.take(out[0])

    def _question(
        self, capability: str, target: _ffi.Bytes, at: Optional[datetime]
    ) -> dict[str, Any]:
        """The members of a py_question; its texts live as long as the dict."""
        if at is None:
            wall, mono = _ffi.clocks()
        else:
            wall = _ffi.wall_ns(at)
            mono = self._anchor[1] + wall - self._anchor[0]
        return {
            "wall_ns": wall,
            "mono_ns": mono,
            "capability": _ffi.view(capability),
            "target": _ffi.view(target),
        }

    def _decide(self, fields: dict[str, Any], capability: str, target: _ffi.Bytes) -> Decision:
        question, out = ffi.new("py_question *", fields), ffi.new("py_decision *")
        result = lib.py_authorize(self._handle, question, out)
        canonical, pattern = _ffi.take(out.canonical), _ffi.decode(out.pattern)
        message, details = _ffi.take(out.message), _ffi.take(out.details)
        _ffi.no_memory(result)
        asked = _ffi.encode(target).decode("utf-8", "surrogateescape")
        if out.allowed:
            return Decision(True, capability, asked, canonical, pattern)
        currency = _ffi.decode(out.currency)
        return Decision(
            False, capability, asked, canonical, "", _ffi.name(out.code), _ffi.name(out.reason),
            currency, message, json.loads(details),
        )  # fmt: skip
