"""Texts, errors and clocks between Python and the C shim."""

import json
import time
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, Union, cast

from ._arcp import ffi, lib
from .errors import DeadlineError, Error

FOREVER = 2**63 - 1
NS = 1_000_000_000

Bytes = Union[str, bytes]
Amount = Union[Decimal, int, str]


def encode(text: Bytes) -> bytes:
    """The bytes of a text; those of a name that was no UTF-8 come back as they were."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def view(text: Bytes) -> tuple[Any, int]:
    """A py_text over the text, good as long as the tuple."""
    data = encode(text)
    return (ffi.from_buffer(data), len(data))


def decode(text: Any) -> str:
    """The str of a py_text or a py_owned (see encode)."""
    if not text.size:
        return ""
    return cast(bytes, ffi.unpack(text.data, text.size)).decode("utf-8", "surrogateescape")


def take_bytes(owned: Any) -> bytes:
    """The bytes of a py_owned, which is freed."""
    data = cast(bytes, ffi.unpack(owned.data, owned.size)) if owned.size else b""
    lib.py_owned_free(ffi.addressof(owned))
    return data


def take(owned: Any) -> str:
    """The str of a py_owned, which is freed."""
    return take_bytes(owned).decode("utf-8", "surrogateescape")


def name(text: Any) -> str:
    """The str of a NUL-terminated static text; "" for NULL."""
    return cast(bytes, ffi.string(text)).decode() if text else ""


def exact(number: Any) -> Decimal:
    """The Decimal of a char array that has a number."""
    return Decimal(cast(bytes, ffi.string(number)).decode())


def amount(value: Amount) -> bytes:
    """A number as the C library reads it. TypeError for a float, which is not exact."""
    if isinstance(value, bool) or not isinstance(value, (Decimal, int, str)):
        raise TypeError(f"an amount is a Decimal, an int or a str, not {type(value).__name__}")
    return str(value).encode()


def check(result: int, error: Any) -> None:
    """Raises the error of a call that failed."""
    if result != lib.PY_OK:
        raise exception(error)


def no_memory(result: int) -> None:
    """Raises MemoryError when a call failed that fails for nothing else."""
    if result != lib.PY_OK:
        raise MemoryError


def exception(error: Any) -> Error:
    """The exception that a py_error describes; its details are freed."""
    status = name(error.status)
    details = take(error.details)
    if status == "NO_MEMORY":
        raise MemoryError
    kind = DeadlineError if status == "DEADLINE" else Error
    message = cast(bytes, ffi.string(error.message)).decode("utf-8", "replace")
    return kind(
        message or status,
        status=status,
        code=cast(bytes, ffi.string(error.code)).decode("utf-8", "replace"),
        retryable=bool(error.retryable),
        details=json.loads(details) if details else {},
        offset=None if error.offset < 0 else int(error.offset),
    )


def wall_ns(moment: datetime) -> int:
    """Nanoseconds since 1970 of a datetime with a time zone."""
    if moment.tzinfo is None:
        raise ValueError("a datetime without a time zone says no instant")
    since = moment - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return ((since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def clocks() -> tuple[int, int]:
    """The wall clock and the monotonic clock (also while the machine sleeps), in ns."""
    return time.time_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def to_json(value: Any) -> str:
    """JSON text of a value. ValueError for NaN, TypeError for what is no JSON."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def from_json(text: str) -> Any:
    """The value of a JSON text; numbers with a fraction are exact."""
    return json.loads(text, parse_float=Decimal)
