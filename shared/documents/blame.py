"""Whose fault an exception is: a parser that trips over a file says `corrupt`, our own mistakes must not hide behind that."""

from __future__ import annotations

from pathlib import Path


def raised_in(error: BaseException, package: str) -> bool:
    """Whether the innermost Python frame of the traceback lies in this installed package."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and package in Path(at.tb_frame.f_code.co_filename).parts
