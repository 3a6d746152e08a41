"""The reference pages, written from the code: `python -m docfleet.reference docs/reference`.

Settings from the fields of `shared.settings`, errors from the enum, metrics from the one table, the command line from its own help.
A test compares them with what is in the repository.
"""

from __future__ import annotations

import json
import re
import sys
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from prometheus_client.metrics import MetricWrapperBase
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from docfleet import asyncapi
from shared.contracts.errors import ErrorCode
from shared.settings import GROUPS, Settings, Stage
from shared.settings.engines import cache_folder

MASK = "********"
SECRET = re.compile(r"passw|secret|token|jaas|pem|\.key$", re.IGNORECASE)
"""Names of librdkafka's options that may hold a secret (`sasl.password`, `ssl.key.pem`, …)."""

MEANING: dict[ErrorCode, tuple[str, str]] = {
    ErrorCode.encrypted: (
        "The document asks for a password that was not given, or not the right one.",
        "Name the secret that holds it: `options.password_ref`, `--password-file`.",
    ),
    ErrorCode.corrupt: (
        "The bytes are not a document that can be opened, not even after repair.",
        "Check the file with another program; send it again from its origin.",
    ),
    ErrorCode.empty_file: (
        "The object has no bytes.",
        "Look at the upload.",
    ),
    ErrorCode.unsupported_type: (
        "The content is of a type that is not read. The name does not matter.",
        "Convert it to PDF.",
    ),
    ErrorCode.too_large: (
        "More bytes or pages than the limits allow.",
        "Raise `limits.max_file_bytes` or `limits.max_pages`, or split it.",
    ),
    ErrorCode.resource_limit: (
        "Opening or reading it would take more memory or pixels than allowed.",
        "Raise `limits.*` if the document is to be trusted.",
    ),
    ErrorCode.timeout: (
        "The deadline passed, or a task had no answer.",
        "Submit again at the next generation, with more time.",
    ),
    ErrorCode.stalled: (
        "The process that worked on it did not come back in time, twice, and was killed.",
        "Report the document; `stages.<name>.call_timeout_s` is the limit.",
    ),
    ErrorCode.crashed: (
        "The process that worked on it died twice while working on nothing else.",
        "Report the document.",
    ),
    ErrorCode.conflict: (
        "This id and generation belong to another source already.",
        "Use another id, or the next generation.",
    ),
    ErrorCode.source_missing: (
        "The object is not there, or its bucket may not be read.",
        "Look at bucket, key and `objects.sources`.",
    ),
    ErrorCode.source_changed: (
        "The object was replaced after it was submitted.",
        "Submit it again.",
    ),
    ErrorCode.model_unavailable: (
        "A network or a model server that is needed is not there.",
        "`docfleet doctor` says which.",
    ),
    ErrorCode.invalid_message: (
        "A record that cannot be read: not ours, or of another major version.",
        "Look at it in `docs.dlq`; compare with `schemas/`.",
    ),
    ErrorCode.cancelled: (
        "Somebody asked to end it.",
        "Nothing; submit it again if it is wanted.",
    ),
    ErrorCode.internal: (
        "A bug of docfleet.",
        "Report it with the stack in the header `dlt.error.stack` of `docs.dlq`.",
    ),
}
"""For every code: what happened, and what to do."""


def effective(given: Settings) -> Iterator[tuple[str, str, str]]:
    """Every setting as (environment variable, value, default), secrets masked."""
    for variable, value, field in _values(given, "DOCFLEET_"):
        if variable == "DOCFLEET_KAFKA__EXTRA":  # options under librdkafka's own names, secrets among them
            value = {name: MASK if SECRET.search(name) else text for name, text in value.items()}
        if variable == "DOCFLEET_VL__ENDPOINTS":
            value = [_without_user(url) for url in value]
        yield variable, _shown(value), _default(field)
    defaults = Stage()
    for name in GROUPS:
        stage, own = given.stage(name), Settings.model_construct(stages={}).stage(name)
        for key in Stage.model_fields:
            variable = f"DOCFLEET_STAGES__{name.upper()}__{key.upper()}"
            yield variable, _shown(getattr(stage, key)), _shown(getattr(own, key, getattr(defaults, key)))


def _values(model: BaseModel, prefix: str) -> Iterator[tuple[str, Any, FieldInfo]]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _values(value, f"{prefix}{name.upper()}__")
        elif name != "stages":
            yield f"{prefix}{name.upper()}", value, field


def _without_user(url: str) -> str:
    """`https://user:password@host` without the user's part."""
    scheme, found, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{MASK}@{host.rpartition('@')[2]}{slash}{path}" if found and "@" in host else url


def _default(field: FieldInfo) -> str:
    return _shown(field.get_default(call_default_factory=True))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return MASK
    if isinstance(value, Path):
        return str(value).replace(str(cache_folder()), "~/.cache/docfleet")
    if isinstance(value, str):
        return value
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    """Rows of a table in settings: only what they say."""
    return value.model_dump(mode="json", exclude_defaults=True) if isinstance(value, BaseModel) else str(value)


# --- pages ------------------------------------------------------------------------------------------------------------

_NOTE = "<!-- Written by `./dev schemas` from the code; edit the code. -->\n"


def settings_page() -> str:
    """settings.md"""
    out = [
        "# Settings\n",
        _NOTE,
        "Read from the environment, then from the files of the folder `DOCFLEET_SECRETS_DIR`, then from the TOML file named by "
        "`DOCFLEET_CONFIG`, then the default. "
        'In TOML the group is a table: `[kafka]`, `bootstrap_servers = "kafka:9092"`. '
        "A secret may lie in a file instead: `DOCFLEET_SECRETS_DIR/DOCFLEET_OBJECTS__SECRET_KEY`. "
        "`docfleet settings` prints what is in effect.\n",
    ]
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            out.append(_settings_table(f"## {name}: {kind.__doc__}\n", kind, f"DOCFLEET_{name.upper()}__"))
            out += [_row_table(f"{name}.{key}", inner) for key, inner in kind.model_fields.items() if _row_type(inner)]
    out.append(
        _settings_table(
            f"## stages: one for each of {', '.join(f'`{name}`' for name in GROUPS)}\n\n"
            "Written `DOCFLEET_STAGES__REC_WORKER__MAX_IN_FLIGHT`, in TOML `[stages.rec_worker]`.\n",
            Stage,
            "DOCFLEET_STAGES__<NAME>__",
        )
    )
    plain = [f for f in Settings.model_fields.items() if f[1].description and f[0] != "stages"]
    out.append("## Others\n\n" + _table(_SETTING_COLUMNS, [_setting_row("DOCFLEET_", *item) for item in plain]))
    return "\n".join(out)


def _row_type(field: FieldInfo) -> type[BaseModel] | None:
    """The type of the rows, where a setting is a table."""
    for kind in typing.get_args(field.annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
    return None


def _row_table(name: str, field: FieldInfo) -> str:
    """What a row of a table in settings may say, and the default rows."""
    kind = _row_type(field)
    assert kind is not None
    told = _outdented(kind.__doc__ or "")
    columns = [
        [
            f"`{key}`",
            _type(inner.annotation),
            f"`{default}`" if not inner.is_required() and (default := _default(inner)) else "",
            inner.description or "",
        ]
        for key, inner in kind.model_fields.items()
    ]
    rows = [f"- `{_shown(row)}`" for row in field.get_default(call_default_factory=True)]
    return "\n".join(
        [
            f"### {name}\n",
            told + "\n",
            _table(["Field", "Type", "Default", "Meaning"], columns),
            *(["The default, row by row:\n", *rows] if rows else ["There is no row by default."]),
            "",
        ]
    )


_SETTING_COLUMNS = ["Variable", "Type", "Default", "Meaning"]


def _settings_table(title: str, model: type[BaseModel], prefix: str) -> str:
    return title + "\n" + _table(_SETTING_COLUMNS, [_setting_row(prefix, *item) for item in model.model_fields.items()])


def _setting_row(prefix: str, name: str, field: FieldInfo) -> list[str]:
    default = "" if _row_type(field) else _default(field)
    return [
        f"`{prefix}{name.upper()}`",
        _type(field.annotation),
        f"`{default}`" if default else "",
        field.description or "",
    ]


def _type(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is list and isinstance(arguments[0], type) and issubclass(arguments[0], BaseModel):
        return "table (JSON; `[[…]]` in TOML)"
    if origin in (list, dict):
        return f"{origin.__name__} of {', '.join(_type(a) for a in arguments)} (JSON)"
    if arguments:  # X | None
        return _type(next(a for a in arguments if a is not type(None)))
    return {
        SecretStr: "secret",
        str: "text",
        float: "number",
        int: "integer",
        bool: "`true`, `false`",
        Path: "path",
        Any: "anything",
    }.get(kind, str(kind))


def errors_page() -> str:
    """errors.md"""
    rows = [[f"`{code}`", code.category.value, "yes" if code.retryable else "no", *MEANING[code]] for code in ErrorCode]
    return "\n".join(
        [
            "# Errors\n",
            _NOTE,
            "One enum, found in `errors[]` of a document, in `docs.parsed`, in the header `dlt.error.code` of `docs.dlq` and in the label "
            "`code` of metrics. *Again* says whether the same document may succeed when it is submitted again unchanged. "
            "A store or a broker that is away is no error of a document: the fleet waits.\n",
            _table(["Code", "Category", "Again", "What happened", "What to do"], rows),
        ]
    )


def metrics_page() -> str:
    """metrics.md"""
    from shared.telemetry import metrics

    rows: list[list[str]] = []
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            name = metric._name + ("_total" if metric._type == "counter" else "")
            rows.append(
                [
                    f"`{name}`",
                    str(metric._type),
                    metrics.unit(metric._name),
                    ", ".join(f"`{x}`" for x in metric._labelnames),
                    str(metric._documentation),
                ]
            )
    return "\n".join(
        [
            "# Metrics\n",
            _NOTE,
            "Every service serves them in Prometheus' text format on `/metrics` of its port (`stages.<name>.http_port`), "
            "beside `/livez` and `/readyz`. Which service a sample is of is the scraper's `job` and `instance`. "
            "Histograms have `_bucket`, `_sum` and `_count`; those of recorded traces carry exemplars with a `trace_id` where the scraper asks "
            "for OpenMetrics. No label names a document, a page or a tenant.\n",
            _table(["Name", "Type", "Unit", "Labels", "Meaning"], rows),
        ]
    )


def cli_page() -> str:
    """cli.md"""
    import typer

    from docfleet.cli.main import app

    root = typer.main.get_command(app)
    return "# Command line\n\n" + _NOTE + "\n" + "\n".join(_commands(root, "docfleet"))


def topics_page() -> str:
    """topics.md"""
    from shared.streams.catalog import load

    rows = [
        [
            f"`{topic.name}`",
            topic.purpose + (" The join's own." if topic.internal else ""),
            topic.key,
            ", ".join(f"`{name}`" for name in topic.records),
            ", ".join(topic.written_by),
            ", ".join([*(f"`{group}`" for group in topic.groups), *topic.readers]),
            str(topic.partitions),
            topic.cleanup,
        ]
        for topic in load().topics
    ]
    columns = [
        "Topic",
        "What for",
        "Key",
        "Records",
        "Written by",
        "Read by group, or by whom without one",
        "Partitions",
        "Cleanup",
    ]
    return "\n".join(
        [
            "# Topics\n",
            _NOTE,
            "From `topics.yaml`, which `docfleet topics apply` makes true. The same for programs, with the schema of every record and its "
            "headers: [asyncapi.json](asyncapi.json) (AsyncAPI 3.0). Schemas of what is stored: the folder `schemas/`.\n",
            _table(columns, rows),
        ]
    )


def _commands(command: Any, name: str, level: int = 2) -> Iterator[str]:
    params = [p for p in command.params if p.name != "help"]
    arguments = [p.metavar or p.name.upper() for p in params if p.param_type_name == "argument"]
    children = sorted(getattr(command, "commands", {}).items())
    usage = " ".join([name, *(["COMMAND"] if children else []), *(["[OPTIONS]"] if params else []), *arguments])
    yield f"{'#' * level} {name}\n\n`{usage}`\n\n{_outdented(command.help or '')}\n"
    rows = [
        [", ".join(f"`{o}`" for o in (*p.opts, *p.secondary_opts)), _option_default(p), p.help or ""]
        for p in params
        if p.param_type_name == "option"
    ]
    if rows:
        yield _table(["Option", "Default", "Meaning"], rows)
    for child, below in children:
        yield from _commands(below, f"{name} {child}", level + 1)


def _option_default(param: Any) -> str:
    default = getattr(param.default, "value", param.default)
    return (
        "" if default in (None, [], ()) or callable(default) else f"`{json.dumps(default, default=str).strip(chr(34))}`"
    )


def _outdented(text: str) -> str:
    """A docstring's lines without their common indentation; four more make an example a code block."""
    import inspect

    return inspect.cleandoc(text)


def _table(columns: list[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return "\n".join([line(columns), "|" + "---|" * len(columns), *map(line, rows)]) + "\n"


PAGES = {
    "settings.md": settings_page,
    "errors.md": errors_page,
    "metrics.md": metrics_page,
    "cli.md": cli_page,
    "topics.md": topics_page,
    "asyncapi.json": asyncapi.page,
}


def write(folder: Path) -> list[Path]:
    """Write all pages into `folder`; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")
        files.append(folder / name)
    return files


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m docfleet.reference FOLDER    (docs/reference in this repository)")
    print(f"{len(write(Path(sys.argv[1])))} reference pages written")
