"""What can happen to a call into a child process, beside the typed errors of the work itself."""

from __future__ import annotations


class ChildDied(Exception):
    """The child ended while this call was in it. It says nothing about which of the calls was the cause."""


class ChildStalled(Exception):
    """This call ran longer than its limit, and the child was killed for it."""


class ChildFault(Exception):
    """The child's code raised something untyped: a bug. The message ends with the traceback of the child."""
