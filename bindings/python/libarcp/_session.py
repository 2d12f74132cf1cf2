"""A connected client of the C library, with its blocking calls. `Client` and `AsyncClient` use it."""

import itertools
import json
import math
import os
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Iterator, Optional, Protocol, Sequence, Union

from . import _ffi
from ._arcp import ffi, lib
from .errors import DeadlineError, Error
from .events import JobRow, Options, SessionState, read_row
from .lease import Capabilities, Lease, read


class HasFileno(Protocol):
    """A file that the operating system knows."""

    def fileno(self) -> int: ...


File = Union[int, HasFileno]

DEFAULT = -1  # of requests


def milliseconds(timeout: Optional[float], default: int) -> int:
    """A timeout as the C library has it; `default` for None."""
    if timeout is None:
        return default
    return min(_ffi.FOREVER, max(0, math.ceil(timeout * 1000))) if timeout != math.inf else _ffi.FOREVER


class Descriptor:
    """A duplicate of a program's descriptor, which the program may close at any time. It is closed
    when its job has ended, at the latest when nothing refers to it."""

    def __init__(self, file: File) -> None:
        self.number = -1
        self.number = os.dup(file if isinstance(file, int) else file.fileno())

    def close(self) -> None:
        number, self.number = self.number, -1
        if number >= 0:
            os.close(number)

    __del__ = close


def _numbered(name: Any) -> dict[str, int]:
    """The numbers of the names that a function of the shim has."""
    numbers: dict[str, int] = {}
    while text := _ffi.name(name(len(numbers))):
        numbers[text] = len(numbers)
    return numbers


FEATURES = _numbered(lib.py_feature_name)
STATUSES = _numbered(lib.py_job_status_name)


def _bits(names: Any, numbers: dict[str, int], what: str) -> int:
    bits = 0
    for name in names:
        if name not in numbers:
            raise ValueError(f"no {what} is called {name!r}: " + ", ".join(numbers))
        bits |= 1 << numbers[name]
    return bits


@dataclass(frozen=True)
class Submission:
    """The arguments of a submit, checked and encoded where it was called."""

    agent: str
    input: str
    lease: Optional[Lease]
    idempotency_key: str
    max_runtime: int
    traceparent: str
    tracestate: str
    file: Optional[Descriptor]
    result_bytes_max: int
    events: bool

    @classmethod
    def of(
        cls,
        agent: str,
        input: Any,
        lease: Union[Lease, Capabilities, None],
        idempotency_key: str,
        max_runtime: int,
        traceparent: str,
        tracestate: str,
        result_file: Optional[File],
        result_bytes_max: int,
        events: bool,
    ) -> "Submission":
        return cls(
            agent, _ffi.to_json({} if input is None else input), read(lease), idempotency_key,
            max_runtime, traceparent, tracestate,
            None if result_file is None else Descriptor(result_file), result_bytes_max, events,
        )  # fmt: skip


class Session:
    """A connection that resumes itself. Every method may be called from any thread."""

    def __init__(
        self, url: str, token: str, resume: Optional[SessionState], options: Options
    ) -> None:
        """Connects and waits for the welcome."""
        state = resume or SessionState("", "")
        fields = {
            "url": _ffi.view(url),
            "token": _ffi.view(token),
            "name": _ffi.view(options.name),
            "version": _ffi.view(options.version),
            "tls_ca_file": _ffi.view(options.tls_ca_file),
            "session_id": _ffi.view(state.session_id),
            "resume_token": _ffi.view(state.resume_token),
            "last_event_seq": state.last_event_seq,
            "features": 0 if options.features is None else _bits(options.features, FEATURES, "feature"),
            "connect_timeout_ms": milliseconds(options.connect_timeout, 0),
            "connect_retry_ms": milliseconds(options.connect_retry, 0),
            "request_timeout_ms": milliseconds(options.request_timeout, 0),
            "give_up_ms": milliseconds(options.give_up, 0),
            "unread_bytes_max": options.unread_bytes_max,
            "frame_bytes_max": options.frame_bytes_max,
            "no_reconnect": not options.reconnect,
            "observe": options.observe,
        }
        out, error = ffi.new("arcp_client **"), ffi.new("py_error *")
        _ffi.check(lib.py_client_connect(ffi.new("py_client_options *", fields), out, error), error)
        self.handle = _own(out[0], lib.py_client_free)
        self.numbers = itertools.count(1)  # of jobs
        self._process = os.getpid()
        self._is_observing = options.observe
        # Of jobs whose events are read although the program has no Job of them.
        self._files: dict[int, Descriptor] = {}
        self._is_reading = False
        # Of jobs that were forgotten during a call of `next`, which may be writing to them.
        self._forgotten: list[Descriptor] = []

    def close(self) -> None:
        """Ends the session and disconnects; waits about 3 s at most. Not for a forked child."""
        if os.getpid() == self._process:
            lib.py_client_close(self.handle)

    def interrupt(self) -> None:
        """Makes the calls that wait return."""
        if os.getpid() == self._process:
            lib.py_client_interrupt(self.handle)

    def free(self) -> None:
        """Frees the client: no other thread is inside it, and nothing is called any more."""
        ffi.release(self.handle)

    # ---- what is known ----

    @property
    def features(self) -> frozenset[str]:
        bits = lib.py_client_features(self.handle)
        return frozenset(name for name, number in FEATURES.items() if bits >> number & 1)

    @property
    def welcome(self) -> dict[str, Any]:
        out, error = ffi.new("py_owned *"), ffi.new("py_error *")
        _ffi.check(lib.py_client_welcome(self.handle, out, error), error)
        made: dict[str, Any] = json.loads(_ffi.take(out[0]))
        return made

    @property
    def state(self) -> SessionState:
        out, error = ffi.new("py_session_state *"), ffi.new("py_error *")
        _ffi.check(lib.py_client_session_state(self.handle, out, error), error)
        return SessionState(
            _ffi.take(out.session_id), _ffi.take(out.resume_token), out.last_event_seq
        )

    # ---- requests ----

    def submit(self, job: Submission, number: int, timeout: Optional[float]) -> Any:
        """The handle of the job that was accepted."""
        lease, constraints = (job.lease.json, job.lease.constraints_json) if job.lease else ("", "")
        fields = {
            "agent": _ffi.view(job.agent),
            "input": _ffi.view(job.input),
            "lease": _ffi.view(lease),
            "constraints": _ffi.view("" if constraints == "{}" else constraints),
            "idempotency_key": _ffi.view(job.idempotency_key),
            "traceparent": _ffi.view(job.traceparent),
            "tracestate": _ffi.view(job.tracestate),
            "max_runtime_sec": job.max_runtime,
            "fd": -1 if job.file is None else job.file.number,
            "bytes_max": job.result_bytes_max,
            "outcome_only": not job.events,
            "tag": tag(number),
        }
        out, error = ffi.new("arcp_job **"), ffi.new("py_error *")
        options = ffi.new("py_submit_options *", fields)
        if job.file is not None and self._is_observing:
            self._files[number] = job.file
        try:
            wait = milliseconds(timeout, DEFAULT)
            _ffi.check(lib.py_client_submit(self.handle, options, wait, out, error), error)
        except DeadlineError:
            raise  # the job may still come
        except BaseException:
            self._files.pop(number, None)
            raise
        return own(out[0]) if job.file is None else own(out[0], partial(self._forget, job.file))

    def _forget(self, file: Descriptor) -> None:
        """Called when the handle of the job with this file has been given back."""
        if self._is_reading:
            self._forgotten.append(file)

    def next(self, wait_ms: int, event: Any, error: Any) -> int:
        """Reads the next event of any job. One thread at a time."""
        self._is_reading = True
        try:
            result = int(lib.py_client_next(self.handle, wait_ms, event, error))
        finally:
            self._is_reading = False
            self._forgotten.clear()
        if result == lib.PY_OK and event.type == lib.PY_JOB_ENDED:
            self._files.pop(event.number, None)
        return result

    def subscribe(
        self, job_id: str, history: bool, from_seq: Optional[int], number: int, timeout: Optional[float]
    ) -> Any:
        """The handle of a job of any session."""
        fields = {
            "job_id": _ffi.view(job_id),
            "history": history or from_seq is not None,
            "has_from": from_seq is not None,
            "from": from_seq or 0,
            "fd": -1,
            "tag": tag(number),
        }
        out, error = ffi.new("arcp_job **"), ffi.new("py_error *")
        options = ffi.new("py_subscribe_options *", fields)
        wait = milliseconds(timeout, DEFAULT)
        _ffi.check(lib.py_client_subscribe(self.handle, options, wait, out, error), error)
        return own(out[0])

    def unsubscribe(self, job_id: str) -> None:
        error = ffi.new("py_error *")
        _ffi.check(lib.py_client_unsubscribe(self.handle, _ffi.view(job_id), error), error)

    def cancel(self, job_id: str, reason: str, timeout: Optional[float]) -> None:
        error = ffi.new("py_error *")
        wait = milliseconds(timeout, DEFAULT)
        result = lib.py_client_cancel(self.handle, _ffi.view(job_id), _ffi.view(reason), wait, error)
        _ffi.check(result, error)

    def ping(self, timeout: Optional[float]) -> float:
        error, trip = ffi.new("py_error *"), ffi.new("int64_t *")
        _ffi.check(lib.py_client_ping(self.handle, milliseconds(timeout, DEFAULT), trip, error), error)
        return int(trip[0]) / _ffi.NS

    def page(
        self,
        statuses: Sequence[str],
        agent: str,
        created_after: str,
        created_before: str,
        limit: int,
        cursor: str,
        timeout: Optional[float],
    ) -> tuple[list[JobRow], str]:
        """One page of a listing, and the cursor of the next; "" on the last."""
        fields = {
            "statuses": _bits(statuses, STATUSES, "status"),
            "agent": _ffi.view(agent),
            "created_after": _ffi.view(created_after),
            "created_before": _ffi.view(created_before),
            "cursor": _ffi.view(cursor),
            "limit": limit,
        }
        out, error = ffi.new("arcp_job_page **"), ffi.new("py_error *")
        options = ffi.new("py_list_options *", fields)
        result = lib.py_client_list(self.handle, options, milliseconds(timeout, DEFAULT), out, error)
        _ffi.check(result, error)
        page = ffi.gc(out[0], lib.py_job_page_free)
        return list(_rows(page)), _ffi.decode(lib.py_job_page_next_cursor(page))

    # ---- the view ----

    def view(self, name: str, payload: str, timeout: Optional[float]) -> dict[str, Any]:
        """The response to a request ``x-vendor.arcpd.NAME``."""
        out, error = ffi.new("py_owned *"), ffi.new("py_error *")
        wait = milliseconds(timeout, DEFAULT)
        result = lib.py_client_view(self.handle, name.encode(), _ffi.view(payload), wait, out, error)
        _ffi.check(result, error)
        made: dict[str, Any] = _ffi.from_json(_ffi.take(out[0]))
        return made

    def watch(self, jobs: bool, figures: bool, principal: str, timeout: Optional[float]) -> None:
        error = ffi.new("py_error *")
        fields = {"jobs": jobs, "figures": figures, "principal": _ffi.view(principal)}
        options = ffi.new("py_watch_options *", fields)
        _ffi.check(
            lib.py_client_watch(self.handle, options, milliseconds(timeout, DEFAULT), error), error
        )

    def unwatch(self, timeout: Optional[float]) -> None:
        error = ffi.new("py_error *")
        _ffi.check(lib.py_client_unwatch(self.handle, milliseconds(timeout, DEFAULT), error), error)


def _rows(page: Any) -> Iterator[JobRow]:
    row = ffi.new("py_job_row *")
    for i in range(lib.py_job_page_count(page)):
        lib.py_job_page_row(page, i, row)
        yield read_row(row)


def tag(number: int) -> Any:
    """A job's number as the C library keeps it: a pointer that is never followed."""
    return ffi.cast("void *", number)


def own(job: Any, then: Callable[[], None] = lambda: None) -> Any:
    """A job's handle, which is given back when nothing refers to it; `then` follows."""
    give_back = lib.py_job_unref  # also while the interpreter ends

    def unref(owned: Any) -> None:
        give_back(owned)
        then()

    return _own(job, unref)


def _own(handle: Any, free: Callable[[Any], None]) -> Any:
    """A handle that is freed when nothing refers to it, but not in a forked child: its thread is not
    there, and its lock may be held for ever."""
    getpid = os.getpid
    process = getpid()

    def release(owned: Any) -> None:
        if getpid() == process:
            free(owned)

    return ffi.gc(handle, release)


def closed() -> Error:
    return Error("the client is closed", status="CLOSED")
