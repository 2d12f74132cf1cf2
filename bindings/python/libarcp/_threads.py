"""Threads for calls that block in the C library."""

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Callable, Optional, TypeVar

from .errors import Error

_T = TypeVar("_T")


class Workers:
    """Daemon threads, started as calls need them and at most `count_max`. Any thread."""

    def __init__(self, count_max: int) -> None:
        self._count_max = count_max
        self._lock = threading.Lock()
        self._calls: "SimpleQueue[Optional[tuple[Future[Any], Callable[[], Any]]]]" = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._pending = 0
        self._is_stopped = False

    def start(self, call: Callable[[], _T]) -> "Future[_T]":
        """Runs the call in a thread. Raises `Error` ``CLOSED`` after `stop`."""
        future: "Future[_T]" = Future()
        with self._lock:
            if self._is_stopped:
                raise Error("the client is closed", status="CLOSED")
            if self._pending >= len(self._threads) and len(self._threads) < self._count_max:
                thread = threading.Thread(target=self._work, name="libarcp", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._pending += 1
            self._calls.put((future, call))
        return future

    def _work(self) -> None:
        while True:
            started = self._calls.get()
            if started is None:
                return
            _run(*started)
            # What it refers to is not kept until the next call.
            del started
            with self._lock:
                self._pending -= 1

    def stop(self) -> None:
        """Ends the threads when they have finished the calls that were started."""
        with self._lock:
            if not self._is_stopped:
                self._is_stopped = True
                for _ in self._threads:
                    self._calls.put(None)

    def join(self) -> None:
        """Waits until the threads have ended, after `stop`."""
        for thread in self._threads:
            thread.join()


def _run(future: "Future[_T]", call: Callable[[], _T]) -> None:
    try:
        if future.set_running_or_notify_cancel():
            try:
                result = call()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
    finally:
        # The traceback of an error refers to this frame: no circle.
        del future, call
