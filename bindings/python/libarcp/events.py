"""What a client reads: events, outcomes, rows of listings, and options."""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Iterable, Mapping, Optional, TypeVar

from . import _ffi
from ._arcp import ffi, lib
from .errors import Error, JobError
from .lease import Lease

if TYPE_CHECKING:
    from ._session import Descriptor

_JobT = TypeVar("_JobT")

# What is watched.
REPORTS = ("jobs_changed", "figures", "watch_ended")
_TYPES = (
    "connected", "disconnected", "resumed", "closed", "added", "event", "ended", "notice", *REPORTS
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """How a client connects. Times are in seconds, sizes in bytes.

    Attributes:
        name, version: of the program, sent to the runtime; "": the library's.
        tls_ca_file: for ``wss://``: PEM file of authorities; "": the system's.
        features: names to negotiate; None: all that the library knows.
        connect_timeout: for one attempt: transport and handshake.
        connect_retry: how long the first connection is tried again; 0: one attempt.
        request_timeout: until the response to a request.
        reconnect: whether a dropped connection is replaced and the session resumed.
        give_up: when reconnecting stops; 0: at the end of the runtime's resume window.
        observe: also report what concerns no job of the program: the session, delegated
            children, and the jobs of a session that is resumed.
        unread_bytes_max: unread events beyond this stop the reading of the connection.
        frame_bytes_max: a larger frame of the runtime ends the connection.
    """

    name: str = ""
    version: str = ""
    tls_ca_file: str = ""
    features: Optional[Iterable[str]] = None
    connect_timeout: float = 10.0
    connect_retry: float = 0.0
    request_timeout: float = 30.0
    reconnect: bool = True
    give_up: float = 0.0
    observe: bool = False
    unread_bytes_max: int = 16 << 20
    frame_bytes_max: int = 16 << 20


@dataclass(frozen=True)
class SessionState:
    """What it takes to come back to a session later, also from another process.

    `resume_token` is a secret: it and the token give access to the session. `repr` leaves it out.
    """

    session_id: str
    resume_token: str = field(repr=False)
    last_event_seq: int = 0


class Event(Generic[_JobT]):
    """Something that happened.

    Attributes:
        type: ``event`` of a job; ``ended``: a job's last one; with `Options.observe` also
            ``added`` (a job that the program did not submit), ``connected``, ``disconnected``,
            ``resumed``, ``closed`` (the client, for good) and ``notice``; after `Client.watch` also
            ``jobs_changed``, ``figures`` and ``watch_ended``.
        job: which job; None for what concerns the session, and for what is watched.
        seq: number of the event in the session; 0: none.
        kind: of an ``event``: ``log``, ``status``, ``metric``, ``progress``, ``tool_call``...
        ts: RFC 3339 time as the runtime wrote it; may be "".
        json: the body as JSON text. Numbers are exact in it:
            ``json.loads(event.json, parse_float=Decimal)``.
        error: of ``disconnected``, ``closed``, ``notice`` and ``watch_ended``.
        retry_in: of ``disconnected``: seconds until the next attempt.
    """

    def __init__(
        self,
        type: str,
        job: Optional[_JobT],
        *,
        seq: int = 0,
        kind: str = "",
        ts: str = "",
        json: str = "",
        error: Optional[Error] = None,
        retry_in: float = 0.0,
    ) -> None:
        self.type = type
        self.job = job
        self.seq = seq
        self.kind = kind
        self.ts = ts
        self.json = json
        self.error = error
        self.retry_in = retry_in

    @cached_property
    def body(self) -> Any:
        """The body, decoded: a dict, or None where there is none. Numbers with a fraction are float;
        in what is watched they are Decimal."""
        if not self.json:
            return None
        return _ffi.from_json(self.json) if self.type in REPORTS else json.loads(self.json)

    def __repr__(self) -> str:
        what = f" {self.kind} {self.json}" if self.kind else ""
        return f"<Event {self.type}{what}>"


def read_event(event: Any, job: Optional[_JobT]) -> Event[_JobT]:
    """Copies a py_event."""
    return Event(
        _TYPES[event.type],
        job,
        seq=event.seq,
        kind=_ffi.decode(event.kind),
        ts=_ffi.decode(event.ts),
        json=_ffi.decode(event.body),
        error=_ffi.exception(event.error) if event.has_error else None,
        retry_in=event.retry_in_ms / 1000,
    )


@dataclass(frozen=True)
class Outcome:
    """How a job ended.

    Attributes:
        status: ``success``, ``error``, ``cancelled`` or ``timed_out``.
        result: of a success: the result, decoded; None when it was streamed.
        data: a result that was streamed and collected; None otherwise.
        streamed_bytes: size of a streamed result, wherever it went.
        summary: what the agent wrote about its result; may be "".
        error: why it did not succeed, or why the result is not whole; None for a success.
    """

    status: str
    result: Any = None
    data: Optional[bytes] = None
    streamed_bytes: int = 0
    summary: str = ""
    error: Optional[Error] = None

    @property
    def value(self) -> Any:
        """The result: decoded JSON, or bytes when it was streamed."""
        return self.result if self.data is None else self.data


@dataclass(frozen=True)
class JobBudget:
    """What a job may still spend in one currency, as the runtime last reported it."""

    initial: Optional[Decimal]
    remaining: Decimal


@dataclass(frozen=True)
class Credential:
    """A credential for an upstream that the runtime has issued for one job.

    Attributes:
        id: what the runtime calls it.
        value: the secret. `repr` leaves it out; Python cannot wipe it from memory.
        endpoint: of the upstream.
        profile: of the upstream's API, ``openai`` for instance; may be "".
        constraints: what the upstream enforces: ``cost.budget``, ``model.use``, ``expires_at``.
    """

    id: str
    value: str = field(repr=False)
    endpoint: str
    profile: str
    constraints: Mapping[str, Any]


@dataclass(frozen=True)
class JobRow:
    """One job of a listing; "" where the runtime left a member out."""

    job_id: str
    agent: str
    status: str
    created_at: str
    parent_job_id: str
    trace_id: str
    last_event_seq: int


def read_row(row: Any) -> JobRow:
    """Copies a py_job_row."""
    return JobRow(
        _ffi.decode(row.job_id),
        _ffi.decode(row.agent),
        _ffi.decode(row.status),
        _ffi.decode(row.created_at),
        _ffi.decode(row.parent_job_id),
        _ffi.decode(row.trace_id),
        row.last_event_seq,
    )


class JobFacts:
    """What `Job` and `AsyncJob` have in common: what is known about a job without waiting."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._file: "Optional[Descriptor]" = None  # where a streamed result is written
        self._outcome: Optional[Outcome] = None

    @cached_property
    def _facts(self) -> Any:
        facts = ffi.new("py_job_facts *")
        lib.py_job_facts_of(self._handle, facts)
        return facts

    @property
    def id(self) -> str:
        """The job's id."""
        return _ffi.decode(self._facts.id)

    @property
    def agent(self) -> str:
        """The agent that runs it: ``name@version``, as far as the runtime sends it."""
        return _ffi.decode(self._facts.agent)

    @property
    def trace_id(self) -> str:
        """The W3C trace id: 32 hex digits, or ""."""
        return _ffi.decode(self._facts.trace_id)

    @property
    def parent_id(self) -> str:
        """The job that delegated this one, or ""."""
        return _ffi.decode(self._facts.parent_id)

    @property
    def lease(self) -> Optional[Lease]:
        """The effective lease; None when the runtime does not send it."""
        lease = _ffi.decode(self._facts.lease)
        return Lease.from_json(lease, _ffi.decode(self._facts.constraints)) if lease else None

    @property
    def status(self) -> str:
        """As far as the client knows: ``pending``, ``running``, or how it ended."""
        return _ffi.name(lib.py_job_status(self._handle))

    @property
    def budgets(self) -> dict[str, JobBudget]:
        """What it may still spend, by currency."""
        found: dict[str, JobBudget] = {}
        budget = ffi.new("py_job_budget *")
        while lib.py_job_budget_at(self._handle, len(found), budget):
            currency = ffi.string(budget.currency).decode("utf-8", "replace")
            initial = _ffi.exact(budget.initial) if ffi.string(budget.initial) else None
            found[currency] = JobBudget(initial, _ffi.exact(budget.remaining))
        return found

    def take_credentials(self) -> list[Credential]:
        """The credentials that came with the job. Empty when they were taken before: the client
        wipes its copy."""
        out = ffi.new("py_owned *")
        _ffi.no_memory(lib.py_job_take_credentials(self._handle, out))
        return [
            Credential(**{**row, "constraints": json.loads(row["constraints"] or "{}")})
            for row in json.loads(_ffi.take(out[0]))
        ]

    @property
    def outcome(self) -> Optional[Outcome]:
        """How it ended; None until its end was read."""
        out = ffi.new("py_outcome *")
        if self._outcome is not None or not lib.py_job_outcome(self._handle, out):
            return self._outcome
        error = _ffi.exception(out.error) if out.has_error else None
        result = _ffi.decode(out.result)
        is_collected = out.streamed and (out.bytes.size or not out.streamed_bytes)
        self._outcome = Outcome(
            status=_ffi.name(out.status),
            result=json.loads(result) if result else None,
            data=bytes(ffi.buffer(out.bytes.data, out.bytes.size)) if is_collected else None,
            streamed_bytes=out.streamed_bytes,
            summary=_ffi.decode(out.summary),
            error=error,
        )
        return self._outcome

    def _close_file(self) -> None:
        """The job has ended: nothing more is written."""
        if self._file is not None:
            self._file.close()

    def _succeeded(self, outcome: Outcome) -> Any:
        """The result of a success. Raises JobError."""
        if outcome.error is None:
            return outcome.value
        why = outcome.error
        raise JobError(
            why.message, job_id=self.id, outcome=outcome, status=why.status, code=why.code,
            retryable=why.retryable, details=why.details,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        """The same job of the same client."""
        if not isinstance(other, JobFacts) or self._handle is None:
            return self is other
        return bool(self._handle == other._handle)

    def __hash__(self) -> int:
        return hash(self._handle)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.status}>"
