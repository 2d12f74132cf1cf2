"""The client for asyncio.

The C library runs the session in a thread of its own. Here one thread waits in it for events and
hands them to the loop in batches; requests run in a few threads more. The loop never blocks and
nothing is polled. While the program has more unread events than `Options.unread_bytes_max`, the
first thread waits, so that in the end the runtime does.
"""

import asyncio
import contextlib
import threading
import warnings
import weakref
from collections import deque
from typing import Any, AsyncIterator, Callable, Mapping, Optional, Sequence, TypeVar, Union

from . import _ffi
from ._arcp import ffi, lib
from ._session import File, Session, Submission, closed, own, tag
from ._threads import Workers
from .errors import Error
from .events import (
    REPORTS,
    Event,
    JobFacts,
    JobRow,
    Options,
    Outcome,
    SessionState,
    read_event,
)
from .lease import Capabilities, Lease

_T = TypeVar("_T")

# Requests of one client that run at the same time.
_REQUESTS_MAX = 32
# What is handed to the loop at once.
_BATCH_EVENTS_MAX = 256
_BATCH_BYTES_MAX = 1 << 20
# While something is waited for, unread events may be this many times unread_bytes_max.
_UNREAD_FACTOR = 4
# What an event counts besides its text.
_EVENT_BYTES = 256


class _Item:
    """One event on its way to the loop."""

    __slots__ = ("number", "handle", "event")

    def __init__(self, number: int, handle: Any, event: "Event[AsyncJob]") -> None:
        self.number = number
        self.handle = handle  # of a job that the program has not submitted; else None
        self.event = event


class _Pump:
    """The thread that waits for events."""

    def __init__(self, client: "AsyncClient", session: Session, loop: asyncio.AbstractEventLoop) -> None:
        # The thread does not keep a client alive that was forgotten without being closed.
        self._client = weakref.ref(client)
        self._session = session
        self._loop = loop
        self._is_stopping = False
        self.may_read = threading.Event()
        self.thread = threading.Thread(target=self._run, name="libarcp-events", daemon=True)

    def stop(self) -> None:
        """Makes the thread end. Any thread."""
        if not self._is_stopping:
            self._is_stopping = True
            self.may_read.set()
            self._session.interrupt()

    def _run(self) -> None:
        event, error = ffi.new("py_event *"), ffi.new("py_error *")
        while not self._is_stopping:
            batch, result = self._read(event, error)
            end: Optional[Error] = None
            if result in (lib.PY_FAILED, lib.PY_CLOSED):
                end = _ffi.exception(error)
                end = None if end.status == "INTERRUPTED" else end
            self.may_read.clear()
            try:
                self._loop.call_soon_threadsafe(_deliver, self._client, batch, end)
            except RuntimeError:  # the loop is closed; the client cannot be closed any more
                return
            del batch
            if end is not None:
                return
            if not self._is_stopping:
                self.may_read.wait()

    def _read(self, event: Any, error: Any) -> tuple[list[_Item], int]:
        """Waits for one event and takes the ones behind it, too; and the last call's result."""
        batch: list[_Item] = []
        size = 0
        wait_ms = _ffi.FOREVER
        while len(batch) < _BATCH_EVENTS_MAX and size < _BATCH_BYTES_MAX:
            result = self._session.next(wait_ms, event, error)
            if result != lib.PY_OK:
                return batch, result
            number, handle = int(event.number), None
            if event.job and not number:
                number, handle = next(self._session.numbers), own(lib.py_job_ref(event.job))
                lib.py_job_set_tag(event.job, tag(number))
            batch.append(_Item(number, handle, read_event(event, None)))
            size += event.body.size
            wait_ms = 0
        return batch, int(lib.PY_OK)


def _deliver(client: "weakref.ref[AsyncClient]", batch: list[_Item], end: Optional[Error]) -> None:
    """Called on the loop for each batch."""
    there = client()
    if there is not None:
        there._deliver(batch, end)


class _Inbox:
    """Events that wait for the program, on the loop."""

    def __init__(self) -> None:
        self.events: "deque[Event[AsyncJob]]" = deque()
        self.bytes = 0
        self.waiters = 0
        self.changed = asyncio.Event()

    def put(self, event: "Event[AsyncJob]") -> int:
        size = _EVENT_BYTES + len(event.json)
        self.events.append(event)
        self.bytes += size
        self.changed.set()
        return size

    def take(self) -> tuple["Event[AsyncJob]", int]:
        event = self.events.popleft()
        size = _EVENT_BYTES + len(event.json)
        self.bytes -= size
        return event, size

    def clear(self) -> int:
        size, self.bytes = self.bytes, 0
        self.events.clear()
        return size


class AsyncClient:
    """A session with a runtime, for asyncio. Everything is called on the loop that connected it.

    What `Client` says holds here, too. Cancelling a task that waits ends the wait and nothing else:
    a request that was sent is not taken back, a job goes on.

    >>> async with AsyncClient("ws://127.0.0.1:7777/arcp", token) as client:
    ...     job = await client.submit("hello")
    ...     print(await job.result())
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        resume: Optional[SessionState] = None,
        options: Options = Options(),
    ) -> None:
        """Does not connect yet: ``async with`` or `connect` does. Arguments as of `Client`."""
        self._where = (url, token, resume, options)
        self._options = options
        self._workers = Workers(_REQUESTS_MAX)
        self._stop_workers = weakref.finalize(self, self._workers.stop)
        self._session: Optional[Session] = None
        self._jobs: "weakref.WeakValueDictionary[int, AsyncJob]" = weakref.WeakValueDictionary()
        self._unread = 0
        self._waiting: "set[_Inbox]" = set()
        self._needing = 0  # how many of the waiters need the pump to go on
        self._end: Optional[Error] = None
        self._closing: Optional["asyncio.Future[None]"] = None

    # ---- the session ----

    async def connect(self) -> None:
        """Connects and waits for the welcome. Raises as `Client`."""
        if self._session is not None or self._closing is not None:
            raise Error("the client was connected before", status="USAGE")
        self._loop = asyncio.get_running_loop()
        self._inbox = _Inbox()
        session = await self._start(lambda: Session(*self._where))
        if self._closing is not None:
            raise closed()
        self._session = session
        self._pump = _Pump(self, self._session, self._loop)
        self._stop_pump = weakref.finalize(self, self._pump.stop)
        self._pump.thread.start()

    async def close(self) -> None:
        """Ends the session and disconnects (about 3 s at most); jobs go on. May be called twice.

        When the task that waits is cancelled, the client is closed all the same.
        """
        if self._closing is None:
            self._loop = asyncio.get_running_loop()
            self._closing = self._loop.create_future()
            if self._session is None:
                self._stop_workers()
                self._closing.set_result(None)
            else:
                thread = threading.Thread(
                    target=self._shut_down,
                    args=(self._session, self._pump, self._workers, self._loop, self._closing),
                    name="libarcp-close",
                    daemon=True,
                )
                self._session = None
                thread.start()
            self._finish(closed())
        await asyncio.shield(self._closing)

    @staticmethod
    def _shut_down(
        session: Session,
        pump: _Pump,
        workers: Workers,
        loop: asyncio.AbstractEventLoop,
        done: "asyncio.Future[None]",
    ) -> None:
        """Ends all threads in their order, then frees the client."""
        session.close()
        workers.stop()
        pump.stop()
        pump.thread.join()
        workers.join()
        session.free()
        try:
            loop.call_soon_threadsafe(done.set_result, None)
        except RuntimeError:
            pass  # the loop was closed meanwhile

    async def __aenter__(self) -> "AsyncClient":
        await self.connect()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    def __del__(self) -> None:
        if getattr(self, "_session", None) is not None:
            warnings.warn("an AsyncClient was not closed", ResourceWarning, source=self)

    @property
    def features(self) -> frozenset[str]:
        """The features that were negotiated."""
        return self._connected().features

    @property
    def welcome(self) -> dict[str, Any]:
        """The payload of ``session.welcome``: runtime, capabilities, agents. Without resume token."""
        return self._connected().welcome

    @property
    def session_state(self) -> SessionState:
        """What it takes to resume this session later. Events that the client has received count as
        handed over, also when the program has not read them yet."""
        return self._connected().state

    async def ping(self) -> float:
        """Seconds from a ping to its pong."""
        session = self._connected()
        return await self._start(lambda: session.ping(None))

    # ---- jobs ----

    async def submit(
        self,
        agent: str,
        input: Any = None,
        *,
        lease: Union[Lease, Capabilities, None] = None,
        idempotency_key: str = "",
        max_runtime: int = 0,
        traceparent: str = "",
        tracestate: str = "",
        result_file: Optional[File] = None,
        result_bytes_max: int = 0,
        events: bool = True,
    ) -> "AsyncJob":
        """Submits a job and waits until it is accepted. Arguments and errors as of `Client.submit`."""
        submission = Submission.of(
            agent, input, lease, idempotency_key, max_runtime, traceparent, tracestate,
            result_file, result_bytes_max, events,
        )  # fmt: skip
        session = self._connected()
        number = next(session.numbers)
        # Its events may come before the submit has returned.
        job = self._jobs[number] = AsyncJob(self, None)
        job._file = submission.file
        job._handle = await self._start(lambda: session.submit(submission, number, None))
        return job

    async def subscribe(
        self, job_id: str, *, history: bool = False, from_seq: Optional[int] = None
    ) -> "AsyncJob":
        """Follows a job of any session of the same principal, as `Client.subscribe`."""
        session = self._connected()
        number = next(session.numbers)
        job = self._jobs[number] = AsyncJob(self, None)
        job._handle = await self._start(
            lambda: session.subscribe(job_id, history, from_seq, number, None)
        )
        return job

    async def cancel(self, job_id: str, reason: str = "") -> None:
        """Requests the cancellation of a job and waits until the runtime has acknowledged it."""
        session = self._connected()
        await self._start(lambda: session.cancel(job_id, reason, None))

    async def jobs(
        self,
        statuses: Sequence[str] = (),
        *,
        agent: str = "",
        created_after: str = "",
        created_before: str = "",
        page_size: int = 0,
    ) -> AsyncIterator[JobRow]:
        """The principal's jobs, fetched page by page. Arguments as of `Client.jobs`."""
        session, cursor = self._connected(), ""
        while True:
            arguments = (statuses, agent, created_after, created_before, page_size, cursor, None)
            rows, cursor = await self._start(lambda: session.page(*arguments))
            for row in rows:
                yield row
            if not cursor:
                return

    # ---- the view ----

    async def view(self, name: str, payload: Optional[Mapping[str, Any]] = None) -> dict[str, Any]:
        """Sends a request ``x-vendor.arcpd.NAME`` and waits for its response, as `Client.view`."""
        session, text = self._connected(), _ffi.to_json(dict(payload or {}))
        return await self._start(lambda: session.view(name, text, None))

    async def watch(
        self, *, jobs: bool = False, figures: bool = False, principal: str = ""
    ) -> None:
        """Has the runtime report jobs that begin or change, or its figures of each second, as
        `Client.watch`. `events` gives the reports; read on until `unwatch`."""
        session = self._connected()
        await self._start(lambda: session.watch(jobs, figures, principal, None))

    async def unwatch(self) -> None:
        """Ends the watch. Reports that were sent before may still be unread."""
        session = self._connected()
        await self._start(lambda: session.unwatch(None))

    # ---- events ----

    async def events(self) -> AsyncIterator["Event[AsyncJob]"]:
        """What is watched, and with `Options.observe` what concerns the session, and ``added`` jobs,
        until the client is closed. The events of a job come from the job.

        Raises:
            Error: why the session has ended: ``RESUME_WINDOW_EXPIRED``, ``IO``...
        """
        self._connected()
        while True:
            while self._inbox.events:
                event, size = self._inbox.take()
                self._read(size)
                yield event
            if self._end is not None:
                if self._end.status == "CLOSED":
                    return
                raise self._end
            await self._wait(self._inbox)

    # ---- inside ----

    def _connected(self) -> Session:
        if self._session is None:
            raise closed() if self._closing else Error("the client is not connected", status="USAGE")
        return self._session

    async def _start(self, call: Callable[[], _T]) -> _T:
        """Runs a call that blocks in a thread."""
        return await asyncio.wrap_future(self._workers.start(call))

    def _deliver(self, batch: list[_Item], end: Optional[Error]) -> None:
        """Puts a batch where it is read."""
        for item in batch:
            job = self._jobs.get(item.number)
            if job is None and item.handle is not None and self._options.observe:
                job = self._jobs[item.number] = AsyncJob(self, item.handle)
            if item.event.type == "event":
                # Without its job: a job that is forgotten with unread events is freed at once.
                self._unread += job._put(item.event) if job is not None else 0
            elif item.event.type == "ended":
                if job is not None:
                    job._finish()
            elif self._options.observe or item.event.type in REPORTS:
                item.event.job = job
                self._unread += self._inbox.put(item.event)
        if end is not None:
            self._finish(end)
        self._read(0)

    def _read(self, size: int) -> None:
        """Subtracts what was read or dropped, and lets the pump go on when there is room."""
        self._unread -= size
        unread_max = self._options.unread_bytes_max
        if self._unread <= unread_max or (self._needing and not self._is_stuck()):
            self._pump.may_read.set()
        elif self._needing:
            for inbox in self._waiting:
                inbox.changed.set()

    def _is_stuck(self) -> bool:
        return self._unread > _UNREAD_FACTOR * self._options.unread_bytes_max

    def _finish(self, end: Error) -> None:
        """Wakes the tasks that wait: nothing comes any more."""
        if self._end is None:
            self._end = end
        for inbox in self._waiting:
            inbox.changed.set()

    async def _wait(self, inbox: _Inbox, needs_events: bool = True) -> None:
        """Waits until the inbox may have changed, or the client has ended.

        Args:
            needs_events: False when it is read by another task, which makes room.
        """
        if needs_events and self._is_stuck():
            raise Error(
                f"{self._unread} bytes of events of other jobs have not been read", status="LIMIT"
            )
        inbox.changed.clear()
        inbox.waiters += 1
        self._waiting.add(inbox)
        self._needing += needs_events
        self._read(0)
        try:
            await inbox.changed.wait()
        finally:
            self._needing -= needs_events
            inbox.waiters -= 1
            if not inbox.waiters:
                self._waiting.discard(inbox)


class AsyncJob(JobFacts):
    """A job that was submitted or is followed, on the loop of its client.

    ``async for`` gives its events until it has ended; then `outcome` is there.
    """

    def __init__(self, client: AsyncClient, handle: Any) -> None:
        super().__init__(handle)
        self._client = client
        self._inbox = _Inbox()
        self._has_ended = False
        self._readers = 0
        self._waiters = 0

    async def next_event(self) -> Optional["Event[AsyncJob]"]:
        """The job's next event; None when it has ended.

        Raises:
            Error: why none can come any more: ``CLOSED``, ``RESUME_WINDOW_EXPIRED``...
        """
        while not self._inbox.events:
            if self._has_ended:
                return None
            if self._client._end is not None:
                raise self._client._end
            await self._client._wait(self._inbox)
        event, size = self._inbox.take()
        self._client._read(size)
        event.job = self
        return event

    async def events(self) -> AsyncIterator["Event[AsyncJob]"]:
        """`next_event` until the job has ended."""
        self._readers += 1
        try:
            while (event := await self.next_event()) is not None:
                yield event
        finally:
            self._readers -= 1
            self._inbox.changed.set()  # for those in wait()

    def __aiter__(self) -> AsyncIterator["Event[AsyncJob]"]:
        return self.events()

    async def wait(self) -> Outcome:
        """Waits until the job has ended. Its events are dropped, unless something iterates over them.

        Raises:
            Error: the client was closed, or its session cannot be resumed.
        """
        self._waiters += 1
        try:
            while not self._has_ended:
                if self._client._end is not None:
                    raise self._client._end
                if not self._readers:
                    self._client._read(self._inbox.clear())
                await self._client._wait(self._inbox, needs_events=not self._readers)
        finally:
            self._waiters -= 1
        outcome = self.outcome
        if outcome is None:
            raise closed()
        return outcome

    async def result(self) -> Any:
        """The result of a success: decoded JSON, or bytes when it was streamed. Waits as `wait`.

        Raises:
            JobError: the job failed, was cancelled or ran too long.
        """
        return self._succeeded(await self.wait())

    async def cancel(self, reason: str = "") -> None:
        """Requests its cancellation and waits until the runtime has acknowledged it; `wait` tells
        how it ends."""
        await self._client.cancel(self.id, reason)

    def unsubscribe(self) -> None:
        """Ends a subscription. Events that are on their way may still come."""
        self._client._connected().unsubscribe(self.id)

    def _put(self, event: "Event[AsyncJob]") -> int:
        if self._waiters and not self._readers:
            return 0
        return self._inbox.put(event)

    def _finish(self) -> None:
        self._close_file()
        self._has_ended = True
        self._inbox.changed.set()

    def __del__(self) -> None:
        # May run in any thread.
        inbox = getattr(self, "_inbox", None)
        if inbox is not None and inbox.bytes:
            try:
                self._client._loop.call_soon_threadsafe(self._client._read, inbox.bytes)
            except RuntimeError:
                pass  # the loop is closed


async def run_async(
    url: str,
    token: str,
    agent: str,
    input: Any = None,
    *,
    lease: Union[Lease, Capabilities, None] = None,
    options: Options = Options(),
) -> Any:
    """Connects, submits one job, and returns its result, as `run` does.

    When the task is cancelled (`asyncio.timeout`, `asyncio.wait_for`) the job is cancelled, too.
    """
    async with AsyncClient(url, token, options=options) as client:
        submitting = asyncio.ensure_future(client.submit(agent, input, lease=lease, events=False))
        try:
            return await (await asyncio.shield(submitting)).result()
        except asyncio.CancelledError:
            # A submit that was sent is not taken back: without its job there is nothing to cancel.
            with contextlib.suppress(Exception):
                await (await submitting).cancel("the caller's task was cancelled")
            raise
