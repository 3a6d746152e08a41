"""What an error of ais_bench means, and what is to be done about it.

ais_bench raises `RuntimeError("[code][text] ")` and little more: everything that goes wrong while a model runs is -1, "general failure",
and every failed allocation is 2. The reason (207001, EL0004, 507018, …) is only printed, to standard output by C++ code. So both are looked
at: the exception, and what was printed since the call began. (Read in ais_bench 0.0.2, commit 7d48a93e: ErrorCode.cpp `GetError`,
MemoryHelper.cpp `Malloc`, ModelInferenceProcessor.cpp `Execute`; FAQ.md 4 for 507033.)
"""

from __future__ import annotations

import re
from enum import StrEnum


class Failure(StrEnum):
    """Whose trouble a failed call is."""

    memory = "memory"
    """The device has no more memory: a fresh session has more."""
    shape = "shape"
    """The om has no such gear, or takes other bytes: our own fault, and a fresh session changes nothing."""
    device = "device"
    """The device, its driver or a task on it failed: this session is of no use any more."""
    refused = "refused"
    """The om or its file is not accepted."""
    other = "other"


CODE = re.compile(r"\[(-?\d+)\]\[")
DEVICE = re.compile(r"\b50[78]\d{3}\b|0x7020014|[Oo]pen device|[Dd]evice .*lost|heartbeat")
"""507xxx and 508xxx are the runtime's codes for errors inside driver and device: 507010 no heartbeat, 507014 and 507015 an AI core's
timeout and exception, 507017 and 507018 an AI CPU's, 507033 the device cannot be set up, 507899 the driver (acl error codes, rt)."""
MEMORY = re.compile(r"\b207001\b|\bEL0004\b|\b207018\b|[Oo]ut of memory|memory allocation fail|bad.?alloc")
"""207001 is the runtime's failed allocation, EL0004 the message that goes with it; 207018 is memory used up."""
SHAPE = re.compile(
    r"not match|not matched|not correct|not a dym|is not specified for model conversion|not set\b|GEAR|output ?size is zero",
    re.IGNORECASE,
)

BAD_ALLOCATION = 2
"""ACL's and, of ais_bench, every failed allocation's."""


def code_of(message: str) -> int | None:
    """The ACL code in the text of an exception, where there is one."""
    found = CODE.search(message)
    return int(found[1]) if found else None


def failure_of(error: Exception, printed: str) -> Failure:
    """What an exception of ais_bench means, given what was printed during the call."""
    message = str(error)
    told = f"{message}\n{printed}"
    if isinstance(error, ValueError | TypeError):
        return Failure.refused
    if code_of(message) == BAD_ALLOCATION or isinstance(error, MemoryError) or MEMORY.search(told):
        return Failure.memory
    if DEVICE.search(told):
        return Failure.device
    if SHAPE.search(told):
        return Failure.shape
    return Failure.other


def reason(error: Exception, printed: str) -> str:
    """The exception and the last telling lines that were printed, on one line, for a log or an error's message."""
    lines = [line.strip() for line in printed.splitlines()]
    telling = [line for line in lines if line.startswith(("[ERROR]", "[ACL ERROR]", "[WARN]", "E", "\t"))]
    return "; ".join([str(error).strip(), *telling[-2:]])[:300]
