"""What an error that is nobody's typed outcome means for the record it came with.

A death convicts only a record that ran alone: a child works on several records at once, and all of them see it die. So its
records run again, one by one, with nothing beside them; a record whose child dies twice while it is alone is `crashed` (`stalled`
when the last time it was killed for taking too long). An untyped error is a bug; the record gets one more try, alone, in case a
neighbour was the cause.
"""

from __future__ import annotations

from shared.children.errors import ChildDied, ChildStalled
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.streams.offsets import FATAL_DEATHS
from shared.streams.work import Item


def convicted(item: Item) -> DocfleetError | None:
    """The outcome of a record that has died alone often enough, before it is tried again."""
    deaths = item.assignment.tracker.deaths(item.offset)
    return crashed(deaths) if deaths >= FATAL_DEATHS else None


def crashed(deaths: int) -> DocfleetError:
    """The outcome of a poisonous record."""
    return DocfleetError(
        ErrorCode.crashed,
        f"the process working on it ended {deaths} times while it worked on nothing else",
        attempts=deaths,
    )


def verdict(item: Item, error: Exception) -> DocfleetError | None:
    """The record's outcome after an error that is not typed; none means that it runs again, alone.

    `item.alone` says whether it ran alone this time; what is learned is kept in its tracker and in `item`.
    """
    tracker = item.assignment.tracker
    if isinstance(error, ChildDied | ChildStalled):
        if not item.alone:
            tracker.accuse(item.offset)
            return None
        deaths = tracker.died_alone(item.offset)
        if deaths < FATAL_DEATHS:
            return None
        if isinstance(error, ChildStalled):
            return DocfleetError(
                ErrorCode.stalled, f"it took longer than its limit {deaths} times and was ended", attempts=deaths
            )
        return crashed(deaths)
    if not item.faulted:
        item.faulted = True
        return None
    return DocfleetError(ErrorCode.internal, f"unexpected {type(error).__name__}", attempts=item.attempts)
