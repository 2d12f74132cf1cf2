"""ARCP, the Agent Runtime Control Protocol: leases, budgets, and a client.

Over the C libraries libarcp and libarcp-client. Guide: docs/python.md.

* `Lease`, `Authority`, `Budget`: what a job may do and spend. No I/O.
* `Client`, `Job`: submit jobs to a runtime, follow them, resume. `AsyncClient` and `AsyncJob` are
  the same for asyncio. `run` and `run_async` are the common case in one call.
* `Error` is what they raise.
"""

from .aio import AsyncClient, AsyncJob, run_async
from .budget import Budget, Counter, Report, Reservation
from .client import Client, Job, run
from .errors import DeadlineError, Error, JobError
from .events import Credential, Event, JobBudget, JobRow, Options, Outcome, SessionState
from .gate import Authority, Decision
from .lease import Dropped, Finding, Lease, Violation

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "Authority",
    "Budget",
    "Client",
    "Counter",
    "Credential",
    "DeadlineError",
    "Decision",
    "Dropped",
    "Error",
    "Event",
    "Finding",
    "Job",
    "JobBudget",
    "JobError",
    "JobRow",
    "Lease",
    "Options",
    "Outcome",
    "Report",
    "Reservation",
    "SessionState",
    "Violation",
    "run",
    "run_async",
]
