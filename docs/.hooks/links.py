"""Links that leave the documentation for other files of the repository: on the site they are names of files, not links.

In the repository they lead somewhere, so they are checked there: a file that is not there is a warning, which `strict` makes an error.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

log = logging.getLogger("mkdocs.hooks.links")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """The page with links to files outside its folder as plain text."""
    docs = Path(config["docs_dir"]).resolve()
    here = docs / Path(page.file.src_uri).parent

    def shown(found: re.Match[str]) -> str:
        target = (here / found[2]).resolve()
        if target.is_relative_to(docs) and not target.is_dir():
            return found[0]
        if not target.exists():
            log.warning("%s links to %s, which is not in the repository", page.file.src_uri, found[2])
        return found[1]

    return _LINK.sub(shown, markdown)
