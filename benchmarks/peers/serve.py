"""The other end of `benchmarks.lib.contender`: requests as JSON lines on stdin, answers on stdout. Standard library only.

A request is `{"pdf": PATH, "pictures": [PATH, ...]}`: a document, and its pages as picture files. The answer is
`{"pages": [TEXT, ...]}` with one text per page, or `{"error": MESSAGE}`. Whatever else is printed goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

Request = dict[str, Any]


def serve(read: Callable[[Request], dict[str, Any]], about: str) -> None:
    """Answer requests until stdin ends. `about` says which program this is, with its version and settings."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        print(json.dumps({"about": about}), file=answers, flush=True)
        for line in sys.stdin:
            try:
                answer = read(json.loads(line))
            except Exception as error:
                traceback.print_exc()
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=answers, flush=True)
