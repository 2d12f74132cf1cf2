"""What the functions of this package raise.

Besides these: `TypeError` and `ValueError` for arguments that cannot be meant, `MemoryError`.
"""

from typing import TYPE_CHECKING, Any, Mapping, Optional

if TYPE_CHECKING:
    from .events import Outcome


class Error(Exception):
    """Something failed, at the runtime or here; `str()` of it is one line for people.

    Attributes:
        status: name of the status: one of the protocol's fifteen codes (``PERMISSION_DENIED``...),
            or a local condition: ``IO``, ``CLOSED``, ``LIMIT``, ``NOT_FOUND``, ``DEADLINE``,
            ``INTERRUPTED``, ``USAGE``.
        code: the error code as the peer wrote it, also one that is not known here (``status`` is
            ``INTERNAL_ERROR`` then); "" for what failed here.
        retryable: whether the same request may succeed later.
        details: the JSON object that came with the error; empty when there was none.
        offset: byte offset in the text that could not be read; None otherwise.
    """

    def __init__(
        self,
        message: str,
        *,
        status: str,
        code: str = "",
        retryable: bool = False,
        details: Optional[Mapping[str, Any]] = None,
        offset: Optional[int] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.retryable = retryable
        self.details: Mapping[str, Any] = details if details is not None else {}
        self.offset = offset

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, status={self.status!r})"

    def __reduce__(self) -> Any:
        return _restore, (type(self), self.args, dict(self.__dict__))


class DeadlineError(Error, TimeoutError):
    """The caller's timeout passed; what was waited for may still happen. ``status`` is ``DEADLINE``."""


class JobError(Error):
    """A job did not succeed: it failed, was cancelled or ran too long.

    Attributes:
        job_id: which job.
        outcome: how it ended, an `Outcome`.
    """

    def __init__(self, message: str, *, job_id: str, outcome: "Outcome", **error: Any) -> None:
        super().__init__(message, **error)
        self.job_id = job_id
        self.outcome = outcome


def _restore(kind: type[Error], args: tuple[Any, ...], state: dict[str, Any]) -> Error:
    """Makes an exception that was pickled."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error
