"""The blocking client."""

import contextlib
import threading
import time
import warnings
import weakref
from functools import partial
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, TypeVar, Union

from . import _ffi
from ._arcp import ffi, lib
from ._session import File, Session, Submission, milliseconds, own, tag
from ._threads import Workers
from .errors import DeadlineError, Error
from .events import Event, JobFacts, JobRow, Options, Outcome, SessionState, read_event
from .lease import Capabilities, Lease

_T = TypeVar("_T")

# How long the main thread waits in C before Python may run the handlers of signals that came.
_SLICE_MS = 100


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


class Client:
    """A session with a runtime, which stays alive whatever the program does. Any thread.

    A dropped connection is replaced and the session resumed; every event comes exactly once and in
    its job's order. Timeouts are in seconds; None is `Options.request_timeout` for requests, and no
    limit for events and results. A signal's handler (Ctrl-C) runs while the main thread waits; a
    request that was sent then is not taken back.

    >>> with Client("ws://127.0.0.1:7777/arcp", token) as client:
    ...     print(client.submit("hello").result())
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        resume: Optional[SessionState] = None,
        options: Options = Options(),
    ) -> None:
        """Connects and waits for the runtime's welcome.

        Args:
            url: ``ws://``, ``wss://`` or ``stdio:COMMAND``.
            token: bearer token; "": none.
            resume: begin by resuming this session.

        Raises:
            Error: ``IO``, ``UNAUTHENTICATED``, ``RESUME_WINDOW_EXPIRED``, ``USAGE``...
            DeadlineError: the welcome did not come in `Options.connect_timeout`.
        """
        self._workers = Workers(8)
        self._stop = weakref.finalize(self, self._workers.stop)
        self._lock = threading.Lock()
        self._jobs: "weakref.WeakValueDictionary[int, Job]" = weakref.WeakValueDictionary()
        self._reading = threading.Lock()
        self._is_closed = False
        self._session = self._ask(lambda: Session(url, token, resume, options))

    # ---- the session ----

    def close(self) -> None:
        """Ends the session and disconnects (about 3 s at most); jobs go on. May be called twice."""
        self._is_closed = True
        self._session.close()
        self._stop()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True) and hasattr(self, "_session"):
            warnings.warn("a Client was not closed", ResourceWarning, source=self)

    @property
    def features(self) -> frozenset[str]:
        """The features that were negotiated."""
        return self._session.features

    @property
    def welcome(self) -> dict[str, Any]:
        """The payload of ``session.welcome``: runtime, capabilities, agents. Without resume token."""
        return self._session.welcome

    @property
    def session_state(self) -> SessionState:
        """What it takes to resume this session later; the last event is the last one handed over."""
        return self._session.state

    def ping(self, timeout: Optional[float] = None) -> float:
        """Seconds from a ping to its pong."""
        return self._ask(lambda: self._session.ping(timeout))

    # ---- jobs ----

    def submit(
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
        timeout: Optional[float] = None,
    ) -> "Job":
        """Submits a job and waits until it is accepted.

        Args:
            agent: ``name`` or ``name@version``.
            input: what the agent gets: anything that `json` can write; None: ``{}``.
            lease: what it may do; None: nothing.
            idempotency_key: a second submit with the same key finds the first one's job.
            max_runtime: seconds; 0: no limit.
            traceparent: W3C trace context; "": a new trace.
            result_file: where a streamed result is written: a file that is open for bytes, or a
                descriptor, which is duplicated and may be closed. None: it is collected.
            result_bytes_max: bytes of a streamed result; 0: 64 MiB collected, no limit in a file.
            events: whether the job's events will be read; False: only how it ends.

        Raises:
            Error: the runtime's refusal: ``AGENT_NOT_AVAILABLE``, ``INVALID_REQUEST``,
                ``DUPLICATE_KEY``...; ``CLOSED``.
            DeadlineError: no response came in time. The job may exist.
            ValueError, TypeError: `input` is no JSON.
            OSError: `result_file` is not open.
        """
        submission = Submission.of(
            agent, input, lease, idempotency_key, max_runtime, traceparent, tracestate,
            result_file, result_bytes_max, events,
        )  # fmt: skip
        number = next(self._session.numbers)
        handle = self._ask(partial(self._session.submit, submission, number, timeout))
        job = self._job(number, lambda: handle)
        job._file = submission.file
        return job

    def subscribe(
        self,
        job_id: str,
        *,
        history: bool = False,
        from_seq: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> "Job":
        """Follows a job of any session of the same principal.

        Args:
            history: also the events that are kept.
            from_seq: only those after this number, in the numbering of the job's own session.

        Raises:
            Error: ``JOB_NOT_FOUND``, ``PERMISSION_DENIED``...
        """
        number = next(self._session.numbers)
        handle = self._ask(
            partial(self._session.subscribe, job_id, history, from_seq, number, timeout)
        )
        return self._job(number, lambda: handle)

    def cancel(self, job_id: str, reason: str = "", timeout: Optional[float] = None) -> None:
        """Requests the cancellation of a job and waits until the runtime has acknowledged it."""
        self._ask(lambda: self._session.cancel(job_id, reason, timeout))

    def jobs(
        self,
        statuses: Sequence[str] = (),
        *,
        agent: str = "",
        created_after: str = "",
        created_before: str = "",
        page_size: int = 0,
        timeout: Optional[float] = None,
    ) -> Iterator[JobRow]:
        """The principal's jobs, fetched page by page.

        Args:
            statuses: ``pending``, ``running``, ``success``, ``error``, ``cancelled``, ``timed_out``;
                empty: all.
            agent: ``name`` or ``name@version``; "": all.
            created_after, created_before: RFC 3339, exclusive; "": no bound.
            page_size: rows of one request; 0: the runtime's default.
            timeout: for each page.
        """
        cursor = ""
        while True:
            rows, cursor = self._page(
                statuses, agent, created_after, created_before, page_size, cursor, timeout
            )
            yield from rows
            if not cursor:
                return

    def _page(self, *arguments: Any) -> tuple[list[JobRow], str]:
        return self._ask(lambda: self._session.page(*arguments))

    # ---- the view ----

    def view(
        self, name: str, payload: Optional[Mapping[str, Any]] = None, *, timeout: Optional[float] = None
    ) -> dict[str, Any]:
        """Sends a request ``x-vendor.arcpd.NAME`` and waits for its response: ``jobs``, ``job``,
        ``events``, ``stderr``, ``end``, ``figures``... (docs/reference/messages.md of the C tree).

        Args:
            name: such as ``jobs``.
            payload: its members.

        Returns:
            The response. Numbers with a fraction, such as amounts, are `Decimal`.

        Raises:
            Error: the runtime's refusal; ``INVALID_REQUEST`` of a runtime without the feature
                ``x-vendor.arcpd.view``; ``USAGE`` for what is no name.
        """
        text = _ffi.to_json(dict(payload or {}))
        return self._ask(lambda: self._session.view(name, text, timeout))

    def watch(
        self,
        *,
        jobs: bool = False,
        figures: bool = False,
        principal: str = "",
        timeout: Optional[float] = None,
    ) -> None:
        """Has the runtime report jobs that begin or change, or its figures of each second, and waits
        until it does. Reports are events of the client, which must be read until `unwatch`.

        A program that watches jobs first and then asks for the view ``jobs`` misses nothing. What is
        asked for is added to what is watched already. After a lost connection the watch goes on, and
        a report with a true ``reload`` says that changes may be missing. The runtime ends the watch of a
        client that does not read: ``watch_ended``.

        Args:
            jobs: events ``jobs_changed``: the rows of the jobs as they are now.
            figures: events ``figures``; needs a role.
            principal: glob of the principals whose jobs are watched, ``*`` for all; needs a role.
                "": the client's own.

        Raises:
            Error: ``PERMISSION_DENIED``; ``USAGE`` when nothing is asked for; otherwise as `view`.
        """
        self._ask(lambda: self._session.watch(jobs, figures, principal, timeout))

    def unwatch(self, timeout: Optional[float] = None) -> None:
        """Ends the watch. Reports that were sent before may still be unread."""
        self._ask(lambda: self._session.unwatch(timeout))

    # ---- events ----

    def next_event(self, timeout: Optional[float] = None) -> Optional["Event[Job]"]:
        """The next event of any job, in the order in which they came, also ``ended``, and of what is
        watched; None when the client is closed. Read a job's events here or from the job.

        Raises:
            DeadlineError: none came in time.
            Error: why the session has ended: ``RESUME_WINDOW_EXPIRED``, ``IO``...
        """
        event, error = ffi.new("py_event *"), ffi.new("py_error *")

        with self._reading:
            result = _wait(lambda wait_ms: self._session.next(wait_ms, event, error), timeout)
            if result == lib.PY_CLOSED:
                _ffi.exception(error)
                return None
            _ffi.check(result, error)
            handle = event.job
            job = self._job(event.number, lambda: own(lib.py_job_ref(handle))) if handle else None
            if job is not None and event.type == lib.PY_JOB_ENDED:
                job._close_file()
            return read_event(event, job)

    def events(self) -> Iterator["Event[Job]"]:
        """`next_event` until the client is closed."""
        while (event := self.next_event()) is not None:
            yield event

    # ---- inside ----

    def _ask(self, call: Callable[[], _T]) -> _T:
        """Runs a request. The main thread waits where signals reach it."""
        if _is_main():
            return self._workers.start(call).result()
        return call()

    def _job(self, number: int, handle: Callable[[], Any]) -> "Job":
        """The job with this number, made when it is new; 0: it has none yet."""
        with self._lock:
            job = self._jobs.get(number)
            if job is None:
                job = Job(self, handle())
                if number == 0:
                    number = next(self._session.numbers)
                    lib.py_job_set_tag(job._handle, tag(number))
                self._jobs[number] = job
            return job


class Job(JobFacts):
    """A job that was submitted or is followed. One thread at a time reads its events.

    Iterating gives its events until it has ended; then `outcome` is there.
    """

    def __init__(self, client: Client, handle: Any) -> None:
        super().__init__(handle)
        self._client = client
        self._reading = threading.Lock()

    def next_event(self, timeout: Optional[float] = None) -> Optional["Event[Job]"]:
        """The job's next event; None when it has ended.

        Raises:
            DeadlineError: none came in time.
            Error: why none can come any more: ``CLOSED``, ``RESUME_WINDOW_EXPIRED``...
        """
        event, error = ffi.new("py_event *"), ffi.new("py_error *")

        def read(wait_ms: int) -> int:
            return int(lib.py_job_next(self._handle, wait_ms, event, error))

        with self._reading:
            result = _wait(read, timeout)
            if result == lib.PY_OK:
                is_end = event.type == lib.PY_JOB_ENDED
                if is_end:
                    self._close_file()
                made = read_event(event, self)  # frees the error's details
                return None if is_end else made
            failure = _ffi.exception(error)
            if result == lib.PY_CLOSED and self.outcome is not None:
                return None
            raise failure

    def __iter__(self) -> Iterator["Event[Job]"]:
        while (event := self.next_event()) is not None:
            yield event

    def wait(self, timeout: Optional[float] = None) -> Outcome:
        """Waits until the job has ended, dropping its events.

        Raises:
            DeadlineError: it did not end in time. It goes on.
            Error: the client was closed, or its session cannot be resumed.
        """
        error = ffi.new("py_error *")
        with self._reading:
            result = _wait(lambda wait_ms: int(lib.py_job_wait(self._handle, wait_ms, error)), timeout)
            _ffi.check(result, error)
            self._close_file()
        outcome = self.outcome
        if outcome is None:
            raise Error("the client was closed before the job ended", status="CLOSED")
        return outcome

    def result(self, timeout: Optional[float] = None) -> Any:
        """The result of a success: decoded JSON, or bytes when it was streamed. Waits as `wait`.

        Raises:
            JobError: the job failed, was cancelled or ran too long.
        """
        return self._succeeded(self.wait(timeout))

    def cancel(self, reason: str = "", timeout: Optional[float] = None) -> None:
        """Requests its cancellation and waits until the runtime has acknowledged it; `wait` tells
        how it ends."""
        self._client.cancel(self.id, reason, timeout)

    def unsubscribe(self) -> None:
        """Ends a subscription. Events that are on their way may still come."""
        self._client._session.unsubscribe(self.id)


def _wait(call: Callable[[int], int], timeout: Optional[float]) -> int:
    """Calls until the result is another than PY_DEADLINE or the time is up. In the main thread
    Python's handlers of signals run between the calls."""
    if timeout is None:
        end = None
    else:
        end = time.monotonic() + timeout
    slice_ms = _SLICE_MS if _is_main() else _ffi.FOREVER
    while True:
        left = _ffi.FOREVER if end is None else milliseconds(end - time.monotonic(), 0)
        result = call(min(left, slice_ms))
        if result != lib.PY_DEADLINE or left <= slice_ms:
            return result


def run(
    url: str,
    token: str,
    agent: str,
    input: Any = None,
    *,
    lease: Union[Lease, Capabilities, None] = None,
    timeout: Optional[float] = None,
    options: Options = Options(),
) -> Any:
    """Connects, submits one job, and returns its result: decoded JSON, or bytes when it was streamed.

    Args:
        timeout: seconds for the job, from its acceptance; None: no limit. When they have passed
            the job is cancelled.

    Raises:
        JobError: the job failed, was cancelled or ran too long.
        DeadlineError: the job did not end, or a response did not come, in time.
        Error: it could not be connected or submitted.
    """
    with Client(url, token, options=options) as client:
        job = client.submit(agent, input, lease=lease, events=False)
        try:
            return job.result(timeout)
        except DeadlineError:
            with contextlib.suppress(Error):
                job.cancel("the caller's timeout passed")
            raise
