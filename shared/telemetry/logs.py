"""Logs: one line an event, to stderr; JSON for machines or text for people.

`log = structlog.get_logger()` anywhere; `configure` once per process, before the first line. Lines of other libraries (logging) come out
in the same form, from `warning` on. What a line may say: identities, counts, durations, codes. Never text of a document.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from shared.settings import Telemetry


def configure(settings: Telemetry, service: str) -> None:
    """Set up this process's logs; `service` is on every JSON line and before every line of text. May be called again."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    first: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.StackInfoRenderer(),
    ]
    last: list[Processor]
    if settings.format == "json":
        last = [_named(service), structlog.processors.format_exc_info, _json]
        first.append(structlog.processors.TimeStamper(fmt="iso", utc=True))
    else:
        last = [structlog.processors.format_exc_info, _text(service)]
        first.append(structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False))
    structlog.configure(
        processors=[*first, *last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*first, structlog.stdlib.ExtraAdder()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(level, logging.WARNING))


def _named(service: str) -> Processor:
    def add(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        event["service"] = service
        return event

    return add


def _json(_: WrappedLogger, __: str, event: EventDict) -> str:
    return orjson.dumps(event, default=repr, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()


def _text(service: str) -> Processor:
    """Our own line, not structlog's console renderer: that one imports a traceback formatter that costs start-up time."""

    def render(_: WrappedLogger, __: str, event: EventDict) -> str:
        time, level = event.pop("timestamp", ""), event.pop("level", "info")
        message, trace = event.pop("event", ""), event.pop("exception", None)
        rest = " ".join(f"{key}={_shown(value)}" for key, value in event.items())
        line = f"{time} {service} {level}: {message}" + (f"  {rest}" if rest else "")
        return f"{line}\n{trace}" if trace else line

    return render


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return repr(text) if isinstance(value, str) and (" " in text or not text) else text
