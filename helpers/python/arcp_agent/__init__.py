"""Agents of arcpd in Python, in one file without dependencies.

    import arcp_agent

    def greet(job):
        return f"hello, {job.input['name']}"

    arcp_agent.serve(greet)

arcpd starts this program for a job (`mode: arcp`), or for many jobs at the same time (`mode: serve`); the same
handler does for both. It gets the job, and what it returns is the result. A `def` runs in a thread and gets a
Job; an `async def` runs on asyncio and gets an AsyncJob, whose methods have the same names and are awaited.
An exception ends the job with an error, Denied and Refused with the runtime's own code; its traceback is on
standard error, which goes to arcpd's log.

print() is harmless: while a handler runs, standard output is standard error, and standard input is empty.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import os
import select
import sys
import threading
import traceback
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import (Any, AsyncIterator, Awaitable, Callable, Dict, Iterator, List, NoReturn, Optional, Set,
                    Tuple, Union)

__all__ = ["AsyncJob", "AsyncStream", "Cancelled", "Child", "Denied", "Failure", "Job", "Refused",
           "Stream", "ToolCall", "serve"]
__version__ = "0.1.0"

Amount = Union[Decimal, str, int]
_Line = Tuple[str, Dict[str, Any]]

# A piece of a streamed result. limits.chunk_bytes is 1 MiB.
_CHUNK_BYTES = 256 * 1024
# A pipe that can be written to takes so many bytes at once (PIPE_BUF).
_WHOLE_BYTES = 4096
# arcpd gives a process fewer jobs than this at the same time.
_JOBS_MAX = 20000
_OF_AUTHORITY = ("PERMISSION_DENIED", "LEASE_EXPIRED", "BUDGET_EXHAUSTED", "LEASE_SUBSET_VIOLATION")


class Refused(Exception):
    """The runtime answered with an error, or (raised by Job.fail) the job ends with this one."""

    def __init__(self, code: str, message: str, retryable: Optional[bool] = None,
                 details: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retryable = retryable
        self.details = details or {}


class Denied(Refused):
    """The lease or the budget does not allow it."""

    @property
    def granted(self) -> List[str]:
        """The patterns that the lease grants for the capability that was asked for."""
        return list(self.details.get("granted", []))


class Failure(Refused):
    """Raised by fail(): the job ends with this error."""


class Cancelled(Exception):
    """Raise it to end a job that was cancelled. Also raised by calls that wait when arcpd has gone."""


@dataclass(frozen=True)
class Child:
    """A job that this job delegated. Without `wait` only `job_id` is known."""

    job_id: str
    final_status: Optional[str] = None
    result: Any = None
    summary: Optional[str] = None
    error: Optional[Dict[str, Any]] = None

    @property
    def succeeded(self) -> bool:
        return self.final_status == "success"


class ToolCall:
    """A call of a tool that was allowed. Set `result` before the `with` block ends."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.result: Any = None


# ---- lines ----


def _encode(value: Any) -> str:
    """JSON with exact numbers: a Decimal is written as it is, which json.dumps does not do."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is not a number of JSON")
        return format(value, "f")
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(str(name))}:{_encode(one)}" for name, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_encode, value)) + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _to_amount(amount: Amount) -> Decimal:
    if isinstance(amount, (float, bool)):
        raise TypeError("an amount is a Decimal, a str or an int: a float is not exact")
    return Decimal(amount)


def _error_of(error: Dict[str, Any]) -> Refused:
    kind = Denied if error.get("code") in _OF_AUTHORITY else Refused
    return kind(error.get("code", "INTERNAL_ERROR"), error.get("message", ""), error.get("retryable"),
                error.get("details"))


_GONE = "arcpd has closed the connection"


class _Runtime:
    """The two pipes of this process. Lines are written whole, from any thread."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._sink_poll = select.poll()
        self._sink_poll.register(sink, select.POLLOUT)
        self._write_lock = threading.Lock()

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        with self._write_lock:
            while view:
                view = view[os.write(self._sink, view):]

    def write_at_once(self, data: bytes) -> bool:
        """Writes if that cannot block; whether it has."""
        if len(data) > _WHOLE_BYTES or not self._write_lock.acquire(blocking=False):
            return False
        try:
            is_ready = bool(self._sink_poll.poll(0))
            if is_ready:
                os.write(self._sink, data)
            return is_ready
        finally:
            self._write_lock.release()

    def batches(self) -> Iterator[List[bytes]]:
        """Lines, as they arrive. Reads by system calls: a thread in a buffered read would hold its lock
        at exit."""
        pieces: List[bytes] = []
        while True:
            data = os.read(self._source, 65536)
            if not data:
                return
            *whole, rest = data.split(b"\n")
            if whole:
                whole[0] = b"".join(pieces) + whole[0]
                pieces.clear()
                yield whole
            pieces.append(rest)


class _Lines:
    """The lines of one job, and the replies that it waits for."""

    def __init__(self, runtime: _Runtime, job_id: Optional[str]) -> None:
        self._runtime = runtime
        self._job_id = job_id  # None: the only job of this process
        self._lock = threading.Lock()
        self._waiting: Optional[Dict[str, Future[Dict[str, Any]]]] = {}  # None: no reply comes any more
        self._timer: Optional[threading.Timer] = None  # until no reply comes any more
        self._why = ""
        self._last_id = 0

    def encode(self, kind: str, payload: Dict[str, Any], line_id: Optional[str] = None) -> bytes:
        line: Dict[str, Any] = {"type": kind}
        if self._job_id is not None:
            line["job_id"] = self._job_id
        if line_id is not None:
            line["id"] = line_id
        line["payload"] = payload
        # Names of files may have bytes that are not UTF-8; they must not break the line.
        return _encode(line).encode("utf-8", "replace") + b"\n"

    def write(self, kind: str, payload: Dict[str, Any]) -> None:
        self._runtime.write(self.encode(kind, payload))

    async def write_async(self, kind: str, payload: Dict[str, Any]) -> None:
        await self._send(self.encode(kind, payload))

    async def _send(self, data: bytes) -> None:
        # A full pipe blocks the writer, which must not be the loop.
        if not self._runtime.write_at_once(data):
            await asyncio.get_running_loop().run_in_executor(None, self._runtime.write, data)

    def _await_reply(self) -> Tuple[str, Future[Dict[str, Any]]]:
        future: Future[Dict[str, Any]] = Future()
        with self._lock:
            if self._waiting is None:
                raise Cancelled(self._why)
            self._last_id += 1
            line_id = str(self._last_id)
            self._waiting[line_id] = future
        return line_id, future

    def _forget(self, line_id: str) -> None:
        with self._lock:
            if self._waiting is not None:
                self._waiting.pop(line_id, None)

    def ask(self, kind: str, payload: Dict[str, Any]) -> Dict[str, Any]:
        """The payload of the reply; Refused, Denied or Cancelled."""
        line_id, future = self._await_reply()
        try:
            self._runtime.write(self.encode(kind, payload, line_id))
            return future.result()
        finally:
            self._forget(line_id)

    async def ask_async(self, kind: str, payload: Dict[str, Any]) -> Dict[str, Any]:
        line_id, future = self._await_reply()
        try:
            await self._send(self.encode(kind, payload, line_id))
            return await asyncio.wrap_future(future)
        finally:
            self._forget(line_id)

    def end_in(self, ms: int, why: str) -> None:
        """No reply comes any more after this time."""
        with self._lock:
            if self._waiting is None or self._timer is not None:
                return
            self._timer = threading.Timer(ms / 1000, self.end, [why])
            self._timer.daemon = True
        self._timer.start()

    def end(self, why: str) -> None:
        """No reply comes any more."""
        with self._lock:
            waiting, self._waiting = self._waiting or {}, None
            self._why = self._why or why
            timer = self._timer
        if timer is not None:
            timer.cancel()
        for future in waiting.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(Cancelled(why))

    def take_reply(self, line_id: Any, line: bytes, payload: Dict[str, Any]) -> None:
        with self._lock:
            future = (self._waiting or {}).pop(str(line_id), None)
        if future is None or not future.set_running_or_notify_cancel():
            return
        error = payload.get("error")
        if error is not None and "job_id" not in payload:
            future.set_exception(_error_of(error if isinstance(error, dict) else {}))
            return
        if payload.get("budget") is not None:
            payload["budget"] = _exact(line)["budget"]
        future.set_result(payload)


def _message(line: bytes) -> Optional[Dict[str, Any]]:
    """The line, with a payload that is an object; None, and a message, when it is none."""
    try:
        message = json.loads(line)
        if isinstance(message, dict):
            payload = message.get("payload")
            message["payload"] = {} if payload is None else payload
            if isinstance(message["payload"], dict):
                return message
    except (ValueError, RecursionError):
        pass
    print(f"arcp-agent: arcpd sent a line that is not an object: {line[:200]!r}", file=sys.stderr)
    return None


def _exact(line: bytes) -> Dict[str, Any]:
    """The payload of a line, with numbers as Decimals."""
    payload = json.loads(line, parse_float=Decimal, parse_int=Decimal).get("payload")
    return payload if isinstance(payload, dict) else {}


# ---- what a handler may say: the lines of arcp-agent(7) ----


def _event(kind: str, body: Dict[str, Any]) -> _Line:
    return "job.event", {"kind": kind, "body": {name: one for name, one in body.items() if one is not None}}


def _delegation(agent: str, input: Any, lease: Optional[Dict[str, List[str]]], expires_at: Optional[str],
                delegate_id: Optional[str], wait: bool) -> _Line:
    payload = {"agent": agent, "input": input, "wait": wait, "lease_request": lease,
               "lease_constraints": {"expires_at": expires_at} if expires_at is not None else None,
               "delegate_id": delegate_id}
    return "delegate", {name: one for name, one in payload.items() if one is not None or name == "input"}


def _cost(currency: str, amount: Amount, what: str) -> _Line:
    return _event("metric", {"name": f"cost.{what}", "value": _to_amount(amount), "unit": currency})


def _chunk(data: Union[str, bytes], more: bool) -> _Line:
    is_text = isinstance(data, str)
    text = data if isinstance(data, str) else base64.b64encode(data).decode("ascii")
    return "result.chunk", {"data": text, "encoding": "utf8" if is_text else "base64", "more": more}


def _tool_error(error: BaseException) -> Dict[str, Any]:
    if isinstance(error, Refused):
        return {"code": error.code, "message": error.message}
    return {"code": "INTERNAL_ERROR", "message": f"{type(error).__name__}: {error}"}


class _Pieces:
    """Cuts what is written into chunks. The last one is kept, because it says that it is the last."""

    def __init__(self) -> None:
        self._held: Union[str, bytes] = ""
        self.is_closed = False

    def add(self, data: Union[str, bytes]) -> List[_Line]:
        if self.is_closed:
            raise ValueError("the stream is closed")
        lines = []
        if self._held and isinstance(self._held, str) != isinstance(data, str):
            lines.append(_chunk(self._held, True))
            self._held = data
        else:
            self._held = self._held + data if self._held else data  # type: ignore[operator]
        while len(self._held) > _CHUNK_BYTES:
            lines.append(_chunk(self._held[:_CHUNK_BYTES], True))
            self._held = self._held[_CHUNK_BYTES:]
        return lines

    def close(self) -> List[_Line]:
        if self.is_closed:
            return []
        self.is_closed = True
        return [_chunk(self._held, False)]


class _Cancellation:
    """Whether the job was cancelled, and why."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.reason: Optional[str] = None  # client, timeout, lease_expired, parent or shutdown
        self.message: Optional[str] = None  # of the canceller
        self.grace_ms: Optional[int] = None  # until SIGTERM

    def is_set(self) -> bool:
        return self._event.is_set()

    def _set(self, payload: Dict[str, Any]) -> None:
        if not self._event.is_set():
            self.reason = payload.get("reason")
            self.message = payload.get("message")
            self.grace_ms = payload.get("grace_ms")
            self._event.set()


class CancelFlag(_Cancellation):
    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits until the job is cancelled, for at most `timeout` seconds; whether it is."""
        return self._event.wait(timeout)


class AsyncCancelFlag(_Cancellation):
    """Made, and set, on the loop."""

    def __init__(self) -> None:
        super().__init__()
        self._async_event = asyncio.Event()
        self._task: Optional[asyncio.Future[Any]] = None

    def _follow(self, task: asyncio.Future[Any]) -> None:
        """The task that is cancelled, too."""
        self._task = task

    def _set(self, payload: Dict[str, Any]) -> None:
        super()._set(payload)
        self._async_event.set()
        if self._task is not None:
            self._task.cancel()

    async def wait(self) -> bool:
        """Waits until the job is cancelled."""
        return await self._async_event.wait()


class _JobBase:
    def __init__(self, runtime: _Runtime, line: bytes) -> None:
        message = json.loads(line)
        start = message.get("payload") or {}
        self._lines = _Lines(runtime, message.get("job_id"))
        self._calls = 0
        self._lock = threading.Lock()
        self._is_streamed = False
        # A member that is null is the same as one that is absent.
        self.id: str = start.get("job_id") or ""
        self.agent: str = start.get("agent") or ""  # name@version
        self.input: Any = start.get("input")
        self.lease: Dict[str, List[str]] = start.get("lease") or {}
        self.expires_at: Optional[str] = (start.get("lease_constraints") or {}).get("expires_at")
        # What can still be spent by currency, exact, as of the start and of the last spend().
        self.budget: Dict[str, Decimal] = _exact(line).get("budget") or {}
        self.credentials: List[Dict[str, Any]] = start.get("credentials") or []
        self.endpoints: Dict[str, Any] = start.get("endpoints") or {}
        self.cwd: Optional[str] = start.get("cwd")
        self.trace_id: Optional[str] = start.get("trace_id")
        self.traceparent: Optional[str] = start.get("traceparent")
        self.parent_id: Optional[str] = start.get("parent_job_id")
        self.features: List[str] = start.get("features") or []

    def _next_call(self) -> str:
        with self._lock:
            self._calls += 1
            return f"call-{self._calls}"

    def _take_budget(self, reply: Dict[str, Any]) -> Dict[str, Decimal]:
        self.budget = reply.get("budget") or self.budget
        return self.budget

    def fail(self, code: str, message: str, retryable: Optional[bool] = None,
             details: Optional[Dict[str, Any]] = None) -> NoReturn:
        """Ends the job with this error (raises Failure)."""
        raise Failure(code, message, retryable, details)


class Job(_JobBase):
    """A job, for a handler that is a `def`. Its methods may be called from any thread."""

    def __init__(self, runtime: _Runtime, line: bytes) -> None:
        super().__init__(runtime, line)
        self.cancelled = CancelFlag()

    def _tell(self, line: _Line) -> None:
        self._lines.write(*line)

    def _ask(self, line: _Line) -> Dict[str, Any]:
        return self._lines.ask(*line)

    def authorize(self, capability: str, target: str) -> None:
        """Asks before an operation; Denied when the lease does not allow it."""
        if self._ask(("authorize", {"capability": capability, "target": target})).get("allow") is not True:
            raise Denied("PERMISSION_DENIED", f"{capability} of {target!r} was not allowed")

    def allowed(self, capability: str, target: str) -> bool:
        try:
            self.authorize(capability, target)
        except Denied:
            return False
        return True

    def log(self, message: str, level: str = "info") -> None:
        """`level`: debug, info, warn or error."""
        self._tell(_event("log", {"level": level, "message": str(message)}))

    def thought(self, text: str) -> None:
        self._tell(_event("thought", {"text": text}))

    def status(self, phase: str, message: Optional[str] = None) -> None:
        self._tell(_event("status", {"phase": phase, "message": message}))

    def progress(self, current: Union[int, float], total: Union[int, float, None] = None,
                 units: Optional[str] = None, message: Optional[str] = None) -> None:
        self._tell(_event("progress", {"current": current, "total": total, "units": units,
                                       "message": message}))

    def metric(self, name: str, value: Union[int, float, Decimal], unit: Optional[str] = None,
               dimensions: Optional[Dict[str, Any]] = None) -> None:
        self._tell(_event("metric", {"name": name, "value": value, "unit": unit, "dimensions": dimensions}))

    def artifact(self, uri: str, content_type: str, byte_size: Optional[int] = None,
                 sha256: Optional[str] = None) -> None:
        self._tell(_event("artifact_ref", {"uri": uri, "content_type": content_type,
                                           "byte_size": byte_size, "sha256": sha256}))

    def event(self, kind: str, body: Dict[str, Any]) -> None:
        """An event of any kind, such as x-vendor.example.step; Refused when it is not valid."""
        self._ask(("job.event", {"kind": kind, "body": body}))

    def spend(self, currency: str, amount: Amount, what: str = "agent") -> Dict[str, Decimal]:
        """Charges the budget, as the metric cost.WHAT; what can still be spent, by currency. Denied
        when the budget is exhausted. TypeError for a float, which is not exact."""
        return self._take_budget(self._ask(_cost(currency, amount, what)))

    @contextmanager
    def tool(self, name: str, args: Any = None) -> Iterator[ToolCall]:
        """Calls a tool: Denied when the lease does not allow tool.call of `name`. The value that is
        set as `result` is recorded at the end of the block, or the exception that ends it."""
        call = ToolCall(self._next_call())
        self._ask(_event("tool_call", {"tool": name, "call_id": call.call_id,
                                       "args": {} if args is None else args}))
        try:
            yield call
        except BaseException as error:
            self._tell(_event("tool_result", {"call_id": call.call_id, "error": _tool_error(error)}))
            raise
        self._tell(("job.event", {"kind": "tool_result",
                                  "body": {"call_id": call.call_id, "result": call.result}}))

    def delegate(self, agent: str, input: Any = None, lease: Optional[Dict[str, List[str]]] = None,
                 expires_at: Optional[str] = None, delegate_id: Optional[str] = None,
                 wait: bool = True) -> Child:
        """Starts a job of another agent, whose lease lies within this job's. With `wait` it returns
        when the child has ended, however it did. Denied, Refused."""
        return Child(**_child(self._ask(_delegation(agent, input, lease, expires_at, delegate_id, wait))))

    def stream(self) -> Stream:
        """A long result, piece by piece: a file that takes str and bytes. The handler then returns
        nothing, or a str, which is the summary."""
        self._is_streamed = True
        return Stream(self)


class Stream:
    """See Job.stream(). Refused when a piece is too much."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._pieces = _Pieces()

    def write(self, data: Union[str, bytes]) -> int:
        for line in self._pieces.add(data):
            self._job._ask(line)
        return len(data)

    def close(self) -> None:
        for line in self._pieces.close():
            self._job._ask(line)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:  # else the job fails, and its result is not complete
            self.close()


class AsyncJob(_JobBase):
    """A job, for a handler that is an `async def`: the methods of Job, awaited. When the job is
    cancelled, the handler's task is."""

    def __init__(self, runtime: _Runtime, line: bytes) -> None:
        super().__init__(runtime, line)
        self.cancelled = AsyncCancelFlag()

    async def _tell(self, line: _Line) -> None:
        await self._lines.write_async(*line)

    async def _ask(self, line: _Line) -> Dict[str, Any]:
        return await self._lines.ask_async(*line)

    async def authorize(self, capability: str, target: str) -> None:
        reply = await self._ask(("authorize", {"capability": capability, "target": target}))
        if reply.get("allow") is not True:
            raise Denied("PERMISSION_DENIED", f"{capability} of {target!r} was not allowed")

    async def allowed(self, capability: str, target: str) -> bool:
        try:
            await self.authorize(capability, target)
        except Denied:
            return False
        return True

    async def log(self, message: str, level: str = "info") -> None:
        await self._tell(_event("log", {"level": level, "message": str(message)}))

    async def thought(self, text: str) -> None:
        await self._tell(_event("thought", {"text": text}))

    async def status(self, phase: str, message: Optional[str] = None) -> None:
        await self._tell(_event("status", {"phase": phase, "message": message}))

    async def progress(self, current: Union[int, float], total: Union[int, float, None] = None,
                       units: Optional[str] = None, message: Optional[str] = None) -> None:
        await self._tell(_event("progress", {"current": current, "total": total, "units": units,
                                             "message": message}))

    async def metric(self, name: str, value: Union[int, float, Decimal], unit: Optional[str] = None,
                     dimensions: Optional[Dict[str, Any]] = None) -> None:
        await self._tell(_event("metric", {"name": name, "value": value, "unit": unit,
                                           "dimensions": dimensions}))

    async def artifact(self, uri: str, content_type: str, byte_size: Optional[int] = None,
                       sha256: Optional[str] = None) -> None:
        await self._tell(_event("artifact_ref", {"uri": uri, "content_type": content_type,
                                                 "byte_size": byte_size, "sha256": sha256}))

    async def event(self, kind: str, body: Dict[str, Any]) -> None:
        await self._ask(("job.event", {"kind": kind, "body": body}))

    async def spend(self, currency: str, amount: Amount, what: str = "agent") -> Dict[str, Decimal]:
        return self._take_budget(await self._ask(_cost(currency, amount, what)))

    @asynccontextmanager
    async def tool(self, name: str, args: Any = None) -> AsyncIterator[ToolCall]:
        call = ToolCall(self._next_call())
        await self._ask(_event("tool_call", {"tool": name, "call_id": call.call_id,
                                             "args": {} if args is None else args}))
        try:
            yield call
        except BaseException as error:
            await self._tell(_event("tool_result", {"call_id": call.call_id, "error": _tool_error(error)}))
            raise
        await self._tell(("job.event", {"kind": "tool_result",
                                        "body": {"call_id": call.call_id, "result": call.result}}))

    async def delegate(self, agent: str, input: Any = None, lease: Optional[Dict[str, List[str]]] = None,
                       expires_at: Optional[str] = None, delegate_id: Optional[str] = None,
                       wait: bool = True) -> Child:
        line = _delegation(agent, input, lease, expires_at, delegate_id, wait)
        return Child(**_child(await self._ask(line)))

    def stream(self) -> AsyncStream:
        self._is_streamed = True
        return AsyncStream(self)


class AsyncStream:
    """See Job.stream(); `async with`."""

    def __init__(self, job: AsyncJob) -> None:
        self._job = job
        self._pieces = _Pieces()

    async def write(self, data: Union[str, bytes]) -> int:
        for line in self._pieces.add(data):
            await self._job._ask(line)
        return len(data)

    async def close(self) -> None:
        for line in self._pieces.close():
            await self._job._ask(line)

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            await self.close()


def _child(reply: Dict[str, Any]) -> Dict[str, Any]:
    return {name: reply[name] for name in ("job_id", "final_status", "result", "summary", "error")
            if name in reply}


# ---- the process ----


def _open_runtime() -> _Runtime:
    """Takes the two pipes: from now on print() goes to standard error, and nobody reads ours."""
    if os.isatty(0):
        raise SystemExit("This program is an agent: arcpd starts it for each job, and writes the job to its "
                         "standard input. docs/writing-agents.md shows how to try it by hand.")
    sys.stdout.flush()
    runtime = _Runtime(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return runtime


def _end(job: _JobBase, result: Any) -> _Line:
    if job._is_streamed:
        return "job.result", {"summary": result} if isinstance(result, str) else {}
    return "job.result", {"result": result}


def _end_with(job: Union[Job, AsyncJob], error: BaseException) -> _Line:
    if isinstance(error, (Cancelled, asyncio.CancelledError)):
        reason = job.cancelled.message or job.cancelled.reason or str(error) or "cancelled"
        return "job.error", {"code": "CANCELLED", "message": reason}
    if isinstance(error, Refused):
        payload = {"code": error.code, "message": error.message, "retryable": error.retryable,
                   "details": error.details or None}
        return "job.error", {name: one for name, one in payload.items() if one is not None}
    traceback.print_exception(type(error), error, error.__traceback__)
    return "job.error", {"code": "INTERNAL_ERROR", "message": f"{type(error).__name__}: {error}"}


def _take(job: Union[Job, AsyncJob], kind: str, payload: Dict[str, Any], re: Any, line: bytes) -> None:
    """Takes a line for the job that is not its first."""
    if kind == "reply":
        job._lines.take_reply(re, line, payload)
    elif kind == "job.cancel":
        job.cancelled._set(payload)
    elif kind == "job.credentials":
        job.credentials = payload.get("credentials") or []


def _leave(job: Union[Job, AsyncJob]) -> None:
    """arcpd has gone."""
    job._lines.end(_GONE)
    job.cancelled._set({"reason": "shutdown", "message": _GONE, "grace_ms": 0})


class _Jobs:
    """The jobs of this process. Lines are taken in the order in which they arrive."""

    def __init__(self, make: Callable[[bytes], Union[Job, AsyncJob]], start: Callable[[Any], Any]) -> None:
        self._make = make  # of a job.start
        self._start = start
        self._jobs: Dict[Optional[str], Union[Job, AsyncJob]] = {}
        self.is_served = False  # lines name their job

    def take(self, line: bytes) -> None:
        message = _message(line)
        if message is None:
            return
        kind, payload, job_id = str(message.get("type")), message["payload"], message.get("job_id")
        if kind == "job.start":
            self.is_served = job_id is not None
            job = self._make(line)
            self._jobs[job_id] = job  # before it can end
            self._start(job)
            return
        found = self._jobs.get(job_id)
        if found is not None:
            _take(found, kind, payload, message.get("re"), line)
            if kind == "job.cancel" and self.is_served:
                # When the grace is over, arcpd has ended the job and replies to nothing any more.
                found._lines.end_in(payload.get("grace_ms") or 0, "cancelled")

    def ended(self, job: Union[Job, AsyncJob]) -> None:
        self._jobs.pop(job._lines._job_id, None)
        job._lines.end("the job has ended")

    def leave(self) -> None:
        for job in list(self._jobs.values()):
            _leave(job)


def _encode_end(job: Union[Job, AsyncJob], end: _Line) -> bytes:
    try:
        return job._lines.encode(*end)
    except (TypeError, ValueError) as error:  # the result is no JSON
        return job._lines.encode(*_end_with(job, error))


def _run_threads(runtime: _Runtime, handler: Callable[[Job], Any]) -> None:
    """Jobs run in threads, and another one reads."""
    pool = ThreadPoolExecutor(_JOBS_MAX, thread_name_prefix="job")
    over = threading.Event()

    def run(job: Job) -> None:
        try:
            end = _end(job, handler(job))
        except BaseException as error:  # pylint: disable=broad-except
            end = _end_with(job, error)
        jobs.ended(job)
        try:
            runtime.write(_encode_end(job, end))
        finally:
            if not jobs.is_served:
                over.set()

    jobs = _Jobs(lambda line: Job(runtime, line), lambda job: pool.submit(run, job))

    def read() -> None:
        for batch in runtime.batches():
            for line in batch:
                jobs.take(line)
        jobs.leave()
        over.set()

    threading.Thread(target=read, daemon=True, name="arcp").start()
    over.wait()
    pool.shutdown()


def _run_loop(runtime: _Runtime, handler: Callable[[AsyncJob], Awaitable[Any]]) -> None:
    """Jobs run on a loop, and a thread reads."""
    async def main() -> None:
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        tasks: Set[asyncio.Future[Any]] = set()

        def start(job: AsyncJob) -> None:
            task = asyncio.ensure_future(handler(job))
            job.cancelled._follow(task)
            tasks.add(task)
            task.add_done_callback(lambda done: finish(job, done))

        def finish(job: AsyncJob, task: asyncio.Future[Any]) -> None:
            tasks.discard(task)
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            data = _encode_end(job, _end(job, task.result()) if error is None else _end_with(job, error))
            jobs.ended(job)
            if not runtime.write_at_once(data):
                writing = loop.run_in_executor(None, runtime.write, data)
                tasks.add(writing)
                writing.add_done_callback(tasks.discard)
            if not jobs.is_served:
                over.set()

        jobs = _Jobs(lambda line: AsyncJob(runtime, line), start)

        def take(batch: List[bytes]) -> None:
            for line in batch:
                jobs.take(line)

        def leave() -> None:
            jobs.leave()
            over.set()

        def read() -> None:
            try:
                for batch in runtime.batches():
                    loop.call_soon_threadsafe(take, batch)
                loop.call_soon_threadsafe(leave)
            except RuntimeError:
                pass  # the handler has ended, and its loop with it

        threading.Thread(target=read, daemon=True, name="arcp").start()
        await over.wait()
        while tasks:
            await asyncio.wait(tasks)
            await asyncio.sleep(0)  # the end of a job may still be written
    asyncio.run(main())


def serve(handler: Union[Callable[[Job], Any], Callable[[AsyncJob], Awaitable[Any]]]) -> None:
    """Runs the handler for the job that arcpd gives to this process, and returns when it has ended; or for
    all jobs that it gives (`mode: serve`), and returns when arcpd has closed the connection."""
    runtime = _open_runtime()
    if inspect.iscoroutinefunction(handler):
        _run_loop(runtime, handler)
    else:
        _run_threads(runtime, handler)  # type: ignore[arg-type]
