"""Every setting of docfleet, with its default and its meaning: the reference page is generated from this file.

Read from the environment (`DOCFLEET_KAFKA__BOOTSTRAP_SERVERS=…`, two underscores between group and name), from the files of the
folder that `DOCFLEET_SECRETS_DIR` names (one secret a file, called like the variable, as Kubernetes mounts them), from the TOML file that
`DOCFLEET_CONFIG` names, then from the defaults, in that order. What is given is never repeated in an error: it may be a secret.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, Self, cast

import msgspec
from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import (
    BaseSettings,
    NestedSecretsSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from shared.contracts.document import Label
from shared.contracts.options import Options, Priority

GROUPS = {
    "ingest": "ingest",
    "layout_worker": "layout-worker",
    "rec_worker": "rec-worker",
    "vl_worker": "vl-worker",
    "compose": "assembler-compose",
    "join": "assembler-join",
}
"""Service part to its consumer group; also the keys of `stages`."""


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "docfleet"


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_default=True, hide_input_in_errors=True)


class Kafka(_Group):
    """The broker."""

    bootstrap_servers: str = Field("127.0.0.1:9092", description="Kafka brokers, `host:port` separated by commas.")
    embedded: bool = Field(
        False,
        description="The broker is librdkafka's in-process one (`docfleet parse` sets this): consumer protocol, topics appear by themselves.",
    )
    group_protocol: Literal["classic", "consumer"] = Field(
        "classic",
        description="`classic` is cooperative-sticky, a member for each lane; `consumer` is KIP-848 (brokers 4.0 and newer).",
    )
    session_timeout_ms: int = Field(
        10_000, ge=1_000, description="A worker silent for longer loses its partitions (classic protocol)."
    )
    group_instance_id: str | None = Field(None, description="Static membership: a name that survives restarts.")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT",
        description="Kafka security protocol. With TLS the broker's name is always compared with its certificate.",
    )
    sasl_mechanism: Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER"] | None = Field(
        None, description="How a service proves who it is, with `SASL_SSL` or `SASL_PLAINTEXT`."
    )
    sasl_username: str | None = Field(None, description="SASL user (SCRAM, PLAIN).")
    sasl_password: SecretStr | None = Field(None, description="SASL password (SCRAM, PLAIN).")
    sasl_oauthbearer_token_endpoint_url: str | None = Field(
        None,
        description="Where a token is asked for (OAUTHBEARER; OpenID Connect, client credentials), `https://…`.",
    )
    sasl_oauthbearer_client_id: str | None = Field(None, description="Client id at the token endpoint.")
    sasl_oauthbearer_client_secret: SecretStr | None = Field(None, description="Client secret at the token endpoint.")
    sasl_oauthbearer_scope: str | None = Field(None, description="Scope of the token; none asks for none.")
    ssl_ca_location: str | None = Field(
        None, description="CA bundle (PEM), path, for brokers and the token endpoint; none is the system's."
    )
    ssl_certificate_location: str | None = Field(
        None, description="Certificate of this service (PEM), path, where the broker asks for one (mutual TLS)."
    )
    ssl_key_location: str | None = Field(None, description="Key of that certificate (PEM), path.")
    ssl_key_password: SecretStr | None = Field(None, description="Password of that key.")
    extra: dict[str, str] = Field(
        {},
        repr=False,
        description="Any other librdkafka option, applied last. The join's consumer is not of librdkafka: it does not see them.",
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.security_protocol.startswith("SASL"):
            needed = {
                None: ["sasl_mechanism"],
                "OAUTHBEARER": [
                    "sasl_oauthbearer_token_endpoint_url",
                    "sasl_oauthbearer_client_id",
                    "sasl_oauthbearer_client_secret",
                ],
            }.get(self.sasl_mechanism, ["sasl_username", "sasl_password"])
            if missing := [name for name in needed if not getattr(self, name)]:
                raise ValueError(f"security_protocol {self.security_protocol} needs {', '.join(missing)}")
        elif self.sasl_mechanism is not None:
            raise ValueError(f"sasl_mechanism needs a security_protocol with SASL, not {self.security_protocol}")
        if (self.ssl_certificate_location is None) != (self.ssl_key_location is None):
            raise ValueError("ssl_certificate_location and ssl_key_location belong together")
        return self


class Objects(_Group):
    """The object store."""

    kind: Literal["folder", "s3"] = Field(
        "s3", description="`folder` keeps objects below `folder`; `s3` is MinIO or any S3."
    )
    folder: Path = Field(Path("docfleet-objects"), description="Root of the folder store.")
    endpoint: str = Field("127.0.0.1:9000", description="S3 endpoint, `host:port`.")
    secure: bool = Field(
        False, description="HTTPS to the S3 endpoint; its name is always compared with its certificate."
    )
    ssl_ca_location: Path | None = Field(
        None, description="CA bundle (PEM), path; none is `SSL_CERT_FILE`, else the one of certifi."
    )
    region: str = Field("us-east-1", description="S3 region; set so that no request is spent on finding it.")
    access_key: SecretStr | None = Field(None, description="S3 access key.")
    secret_key: SecretStr | None = Field(None, description="S3 secret key.")
    bucket: str = Field("docfleet", description="Bucket of work objects and results.")
    sources: list[str] = Field(
        [], description="Buckets documents may lie in; empty means every bucket the credentials can read."
    )
    connections: int = Field(32, ge=1, le=512, description="Connections and threads per process.")
    connect_timeout_s: float = Field(2.0, gt=0, description="Seconds to connect.")
    read_timeout_s: float = Field(20.0, gt=0, description="Seconds without a byte.")


class Stage(_Group):
    """One consumer group; `stages.<name>` for ingest, layout_worker, rec_worker, vl_worker, compose, join."""

    max_in_flight: int = Field(8, ge=1, le=2_000, description="Records worked on at once; more are not admitted.")
    max_in_flight_bytes: int = Field(
        512 * 2**20,
        ge=2**20,
        description="Decoded bytes worked on at once, as the stage estimates them; one record always fits.",
    )
    drain_s: float = Field(20.0, ge=0, description="Seconds to finish what is in flight at SIGTERM.")
    revoked_s: float = Field(
        20.0,
        ge=0,
        description="The same when partitions are revoked. The whole group waits for it, and the worker polls nothing meanwhile.",
    )
    commit_interval_s: float = Field(0.5, gt=0, le=60, description="Seconds between commits.")
    call_timeout_s: float = Field(
        120.0, gt=0, description="Seconds a child process may take over one call before it is killed as stalled."
    )
    http_port: int = Field(0, ge=0, le=65_535, description="Port of /livez, /readyz and /metrics; 0 takes a free one.")


class Limits(_Group):
    """What a document may cost; beyond it there is a typed error."""

    max_file_bytes: int = Field(500 * 2**20, ge=1, description="Size of a source object. `too_large`.")
    max_pages: int = Field(10_000, ge=1, description="Pages of a document. `too_large`.")
    max_image_pixels: int = Field(
        200_000_000, ge=1, description="Pixels of one image before it is decoded. `resource_limit`."
    )
    max_page_pixels: int = Field(
        16_000_000,
        ge=10_000,
        description="Pixels of a page picture; a larger page is rendered smaller, with the warning `render_scaled`.",
    )
    max_page_characters: int = Field(
        1_000_000, ge=1, description="Characters of one page's own text. `resource_limit`."
    )
    max_page_drawings: int = Field(
        20_000,
        ge=1,
        description="Painted items of a page that are looked at for ruling lines, boxes and covered text; a page with more (a map, a plot)"
        " is looked at as a picture.",
    )
    max_flow_characters: int = Field(
        10_000_000, ge=1, description="Characters of a document without pages (DOCX). `resource_limit`."
    )
    max_archive_members: int = Field(
        4_096, ge=1, description="Members of an archive that is a document (DOCX). `resource_limit`."
    )
    max_archive_ratio: int = Field(
        200,
        ge=1,
        description="Times by which a member of such an archive may grow when it is unpacked; looked at from 1 MiB on. `resource_limit`.",
    )
    max_unpacked_bytes: int = Field(
        256 * 2**20,
        ge=1,
        description="Bytes that are unpacked of such an archive in all, counted as they come, whatever it says itself. `resource_limit`.",
    )
    max_stream_bytes: int = Field(
        256 * 2**20,
        ge=2**20,
        description="Bytes that one content stream of a PDF's page unpacks to, through all its filters. `resource_limit`.",
    )
    max_decoded_bytes: int = Field(
        2 * 2**30,
        ge=2**20,
        description="The same of all pages of a document together, as far as one child looked at them. `resource_limit`.",
    )
    child_memory_bytes: int = Field(
        3 * 2**30, ge=2**28, description="Address space of a document child. Beyond it: `resource_limit`."
    )
    page_timeout_s: float = Field(
        60.0, gt=0, description="Seconds to open one page or document in the document child. `stalled`."
    )
    max_regions: int = Field(500, ge=1, description="Regions of a page; more are joined into one region of text.")
    max_record_bytes: int = Field(
        1_000_000, ge=20_000, description="Size of an incoming record that is looked at; larger ones are dead letters."
    )
    passwords: Path | None = Field(
        None, description="Folder of secrets that `options.password_ref` may name, one password a file."
    )


class Engines(_Group):
    """Where networks run."""

    kind: Literal["auto", "openvino", "onnxruntime", "ascend", "cann"] = Field(
        "auto",
        description="`auto` takes the faster one for this processor: OpenVINO with AVX-512, else ONNX Runtime. `ascend` runs `om` files on an"
        " NPU, `cann` the ONNX files there; neither is ever chosen by itself.",
    )
    profile: Literal["auto", "openvino", "onnxruntime", "ascend"] = Field(
        "auto",
        description="How lines are padded and batched; `auto` is the engine's own way. Another engine's makes their texts comparable to the letter.",
    )
    precision: Literal["auto", "f32", "bf16"] = Field(
        "auto", description="`auto` is bf16 where the CPU computes it faster: with AMX, or as measured (OpenVINO only)."
    )
    streams: int = Field(0, ge=0, le=64, description="Inferences at once per engine child; 0 is one per core.")
    models: Path = Field(default_factory=lambda: _cache_folder() / "models", description="Folder of installed models.")
    compiled: Path = Field(
        default_factory=lambda: _cache_folder() / "compiled", description="Cache of compiled networks."
    )
    recycle_bytes: int = Field(
        1_100 * 2**20,
        ge=2**20,
        description="Memory of its own (without libraries) at which an engine child is replaced, once its calls have ended. Warm: some 500 MB.",
    )
    ascend_target: str = Field(
        "",
        pattern=r"^[a-z0-9_-]*$",
        description="Which `om` files, as named to `docfleet models build --target`; empty takes those that are there, if they are of one target.",
    )
    ascend_device: int = Field(
        0, ge=0, le=255, description="Index of the card among those `ASCEND_RT_VISIBLE_DEVICES` shows to the process."
    )
    ascend_call_timeout_s: float = Field(
        30.0, gt=0, description="Seconds one inference on an NPU may take before its session is killed as hung."
    )
    ascend_start_timeout_s: float = Field(
        300.0,
        gt=0,
        description="Seconds without progress in which a session has to load its `om` and run every gear once.",
    )
    ascend_recycle_bytes: int = Field(
        4 * 2**30,
        ge=2**20,
        description="Device memory of one session, as npu-smi tells it, at which it is replaced between two calls.",
    )
    ascend_watch_s: float = Field(15.0, gt=0, le=3_600, description="Seconds between two looks at device memory.")
    ascend_environment: dict[str, str] = Field(
        {}, description="Variables of the processes that hold NPU sessions, over the defaults and over the environment."
    )


class IngestRule(_Group):
    """A row of `ingest.rules`: what is done with objects like this.

    Rows are tried in order and the first whose conditions all hold decides; where none holds, everything is accepted as it is.
    Buckets that may be read at all are `objects.sources`. A row with `tenant` makes the objects that tenant's own: a submission that names
    another tenant does not get at them. `accept: false` and `options` are for bucket notifications; whoever submits an object by name
    wants it, with the options given there.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$", description="For logs.")
    bucket: str | None = Field(None, description="Only objects of this bucket; `*` and `?` as in file names.")
    prefix: str = Field("", description="Only keys that begin so.")
    suffixes: list[str] = Field([], description="Only keys that end so, letter case aside; empty means any.")
    min_bytes: int | None = Field(
        None, ge=0, description="Only objects of this size or more; one whose size is not told does not fit."
    )
    max_bytes: int | None = Field(None, ge=0, description="Only objects up to this size; the same.")
    tenants: list[str] = Field([], description="Only submissions of these tenants; empty means any, or none.")
    accept: bool = Field(True, description="`false`: notifications of such objects are ignored.")
    options: dict[str, Any] = Field({}, description="`options` of documents that come by notification.")
    priority: Priority | None = Field(
        None, description="Takes the place of the submission's own: `bulk` sends a tenant or prefix to the second lane."
    )
    tenant: str | None = Field(None, max_length=128, description="Whose objects these are.")

    def fits(self, bucket: str, key: str, size: int | None, tenant: str | None) -> bool:
        """Whether the conditions hold for an object of `size` bytes (none where that is not known) that `tenant` submits (or nobody)."""
        if self.bucket is not None and not fnmatchcase(bucket, self.bucket):
            return False
        if not key.startswith(self.prefix):
            return False
        if self.suffixes and not key.lower().endswith(tuple(suffix.lower() for suffix in self.suffixes)):
            return False
        if self.tenants and tenant not in self.tenants:
            return False
        if self.min_bytes is not None and (size is None or size < self.min_bytes):
            return False
        return self.max_bytes is None or (size is not None and size <= self.max_bytes)

    @model_validator(mode="after")
    def _can_hold(self) -> Self:
        if self.min_bytes is not None and self.max_bytes is not None and self.min_bytes > self.max_bytes:
            raise ValueError(f"{self.name}: min_bytes is above max_bytes")
        try:
            msgspec.convert(self.options, Options)
        except msgspec.ValidationError as error:
            raise ValueError(f"{self.name}: options: {error}") from None
        if unknown := set(self.options) - set(Options.__struct_fields__):
            raise ValueError(f"{self.name}: there is no option {', '.join(sorted(unknown))}")
        return self


class Ingest(_Group):
    """Rules of admission."""

    bulk_pages: int = Field(16, ge=1, description="Documents with more pages go by the bulk lane.")
    rules: list[IngestRule] = Field(
        [], max_length=200, description="What to do with which objects: rows, the first that fits decides. See below."
    )
    inspections: int = Field(
        4, ge=1, le=64, description="Documents that are fetched and inspected at once, per process."
    )
    twin_wait_s: float = Field(
        3_600.0,
        ge=0,
        description="Seconds a document waits at most while another with the same content, options and tenant is computed, to be answered"
        " from its result; 0: nobody waits. `interactive` ones never do.",
    )
    changed_retries: int = Field(
        3,
        ge=0,
        le=20,
        description="Looks at an object that is not the one announced, or is written to meanwhile, before `source_changed`.",
    )


class RouteRule(_Group):
    """A row of the routing table: regions that are like this are read by `to`.

    Rows are tried in order, and the first whose conditions all hold and whose reader can do it decides. A reader can't where there is
    none (`vl` without an endpoint or with `options.vl: off`), where `options.ocr: off` forbids looking at pixels, or where the page's own
    text is not all there (`native`). Where no row decides, the page's own text is used if it is whole, lines without text go to `rec`,
    and what holds nothing is read by nobody. The name of the row is in `regions[].route` of a page's layout.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$", description="Goes into the result.")
    labels: list[Label] = Field([], description="Labels of regions; empty means every label.")
    text: Literal["any", "all", "some", "none"] = Field(
        "any", description="How many of its lines have text of the page's own; `all` and `some` ask for one at least."
    )
    grid: Literal["any", "drawn", "complete"] = Field(
        "any",
        description="`complete`: its lines have text and stand in clear columns, or between ruling lines; `drawn`: the latter.",
    )
    confidence_below: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Only regions of which the layout network was less sure; not those it did not find.",
    )
    confidence_from: float | None = Field(None, ge=0, le=1, description="Only regions that are as sure, or surer.")
    share_below: float | None = Field(None, gt=0, le=1, description="Only regions that cover less of the page.")
    share_from: float | None = Field(None, ge=0, le=1, description="Only regions that cover as much of the page.")
    to: Literal["native", "rec", "vl", "none"] = Field(
        description="The page's own text, the recogniser, the vision-language model, or nobody."
    )

    @model_validator(mode="after")
    def _can_hold(self) -> Self:
        for below, least in (("confidence_below", self.confidence_from), ("share_below", self.share_from)):
            most = getattr(self, below)
            if most is not None and least is not None and least >= most:
                raise ValueError(f"{self.name}: {below} leaves nothing above the lower bound")
        if self.to == "native" and self.text in ("some", "none"):
            raise ValueError(f"{self.name}: own text cannot be used where it is not all there (text: {self.text})")
        return self


ROUTE = [
    RouteRule(name="picture", labels=["picture"], to="none"),
    RouteRule(name="drawn-grid", labels=["table"], grid="drawn", to="native"),
    RouteRule(name="doubtful-table", labels=["table"], confidence_below=0.5, share_below=0.03, to="rec"),
    RouteRule(name="doubtful-formula", labels=["formula"], confidence_below=0.5, text="all", to="native"),
    RouteRule(name="model", labels=["table", "seal", "formula"], to="vl"),
    RouteRule(name="grid", labels=["table"], grid="complete", to="native"),
    RouteRule(name="structure", labels=["table"], to="rec"),
]
"""Tables whose cells are drawn and whose text is there are exact: a model could only add mistakes. What the network itself doubts, and what
is small (3 % of A4 is three lines of text across), is not worth a model's second of time. A real table of generated pages scores 0.95 and
more, mistaken ones 0.5 (services/layout_worker/regions/doubts.py)."""


class Layout(_Group):
    """Page layout."""

    dpi: int = Field(200, ge=72, le=600, description="Resolution of page pictures.")
    min_confidence: float = Field(0.3, ge=0, le=1, description="Layout boxes below this are dropped.")
    compared_fonts: int = Field(
        12,
        ge=0,
        le=100,
        description="Fonts of a page in doubt that are compared with its picture, at most (some 40 ms each, once a document); 0: their looks decide.",
    )
    route: list[RouteRule] = Field(
        ROUTE, max_length=100, description="Who reads which region: rows, the first that fits decides. See below."
    )
    source_cache_bytes: int = Field(
        4 * 2**30, ge=2**20, description="Disk space for fetched sources, least recently used go first."
    )
    source_cache: Path | None = Field(
        None, description="Folder of fetched sources, emptied at every start; none is a temporary folder."
    )


class Rec(_Group):
    """Reading of text lines."""

    linger_ms: float | None = Field(
        None, ge=0, le=1_000, description="Wait for a fuller batch, from its first crop; none is the engine profile's."
    )
    crop_cache: int = Field(20_000, ge=0, description="Crops whose text is remembered.")
    page_cache_bytes: int = Field(
        32 * 2**20, ge=0, description="Readings of whole pages that are remembered, some 20 to 100 kB each."
    )
    low_confidence: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Below it a squeezed crop is read again at full width, a direct one after detection.",
    )
    draft_confidence: float = Field(
        0.6,
        ge=0,
        le=1,
        description="A small network reads first, the large one again the places where a character is less sure than this; 0: the large one alone.",
    )


class Vl(_Group):
    """Vision-language models behind an OpenAI-compatible API."""

    endpoints: list[str] = Field(
        [], repr=False, description="Base URLs (`http://host:8000/v1`); empty means that no VL task is issued."
    )
    profile: str = Field("glm-ocr", description="Model profile: how the model is asked and how its answers are read.")
    profiles: Path | None = Field(
        None, description="Folder of your own profiles, `NAME.yaml` each; one goes before a built-in one of its name."
    )
    model: str | None = Field(None, description="Served model name; none is the profile's.")
    api_key: SecretStr | None = Field(None, description="Bearer token.")
    start_in_flight: int = Field(
        32, ge=1, le=4_096, description="Requests at once per endpoint at the start; the limit adapts from there."
    )
    min_in_flight: int = Field(1, ge=1, le=4_096, description="The limit never falls below this.")
    max_in_flight: int = Field(
        512,
        ge=1,
        le=4_096,
        description="The limit never rises above this. All endpoints together get no more than `stages.vl_worker.max_in_flight`.",
    )
    timeout_s: float = Field(
        180.0, gt=0, description="Seconds for one answer, with all attempts, from when the first is sent."
    )
    attempts: int = Field(
        4,
        ge=1,
        le=20,
        description="Attempts at a request at which a server fails (500, a connection cut in the answer). Being busy or away counts none.",
    )
    range_pages: int | None = Field(
        None, ge=0, le=64, description="Pages of one request in `vl: document`; none is the profile's, 0 page by page."
    )
    max_answer_chars: int = Field(
        400_000, ge=1_000, description="Characters of an answer that are looked at; a longer one is refused."
    )
    max_table_cells: int = Field(
        20_000, ge=1, description="Places of a table's grid, spans counted in full; a larger table is refused."
    )
    max_blocks: int = Field(2_000, ge=1, description="Blocks of one page in an answer; with more it is refused.")
    disagreement: float = Field(
        0.2,
        ge=0,
        le=1,
        description="Share of words by which a VL reading may differ from the page's own text before the warning `vl_disagreement`.",
    )
    stall_s: float = Field(
        30.0, gt=0, description="Seconds without a byte in the middle of an answer; then it counts as cut."
    )
    retry_after_s: float = Field(60.0, ge=0, le=3_600, description="Longest Retry-After that is honoured.")
    breaker_failures: int = Field(
        5, ge=1, le=1_000, description="Failures in a row after which an endpoint is left alone until a probe succeeds."
    )
    breaker_pause_s: float = Field(
        4.0, ge=0.5, le=600, description="Longest pause between two probes of such an endpoint."
    )
    probe_timeout_s: float = Field(
        30.0, gt=0, description="Seconds for the one-token request that finds out whether an endpoint is ready."
    )
    page_cache_bytes: int = Field(
        96 * 2**20,
        ge=0,
        description="Decoded page pictures that are kept for the next region of the same page; 12 MB each at A4 and 200 dpi.",
    )
    page_cache_pages: int = Field(
        32, ge=1, description="The same in pages: each holds a handle, and of small pages a great many would fit."
    )
    stream: bool = Field(
        True, description="Ask for answers as a stream: a stall or a loop is noticed early, the limit adapts faster."
    )


class Join(_Group):
    """The document's conductor."""

    window: int = Field(128, ge=1, le=10_000, description="Pages of a document that are out at once.")
    remember_s: float = Field(
        86_400.0,
        gt=0,
        description="Seconds a finished document is remembered; an envelope repeated later may be answered again.",
    )
    driver: Literal["faust", "embedded"] = Field(
        "faust", description="`embedded` is the small driver of the in-process broker."
    )
    stall_s: float = Field(
        300.0,
        gt=0,
        description="Seconds without news of a document after which it is proven whether a task of it was lost. A queue never counts.",
    )
    store: Literal["memory", "rocksdb"] = Field(
        "memory",
        description="Where open state lives; either is gone at start and recovered. `rocksdb` (needs `docfleet[rocksdb]`) keeps the pages of "
        "open documents on disk.",
    )
    cache_bytes: int = Field(
        64 * 2**20, ge=2**20, description="Memory of `join.store=rocksdb`: cached blocks and rows not yet written."
    )
    data: Path | None = Field(None, description="Folder of the join; none is a temporary one.")


class Telemetry(_Group):
    """Logs and traces."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level of log lines.")
    format: Literal["json", "text"] = Field("json", description="`text` is for people.")
    otlp_endpoint: str | None = Field(
        None,
        description="Where spans are sent, OTLP over HTTP (`http://jaeger:4318`); none records no traces. Needs `docfleet[tracing]`. "
        "Headers and certificates by OpenTelemetry's own variables (`OTEL_EXPORTER_OTLP_HEADERS`, …).",
    )
    trace_ratio: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Share of documents that are traced, where their sender did not decide it (`sampled` in `traceparent`).",
    )


class Settings(BaseSettings):
    """All settings."""

    model_config = SettingsConfigDict(
        env_prefix="DOCFLEET_",
        env_nested_delimiter="__",
        extra="ignore",
        hide_input_in_errors=True,
    )

    kafka: Kafka = Kafka()
    objects: Objects = Objects()
    stages: dict[str, Stage] = Field(default_factory=dict, description="Per stage; see Stage.")
    limits: Limits = Limits()
    engines: Engines = Engines()
    ingest: Ingest = Ingest()
    layout: Layout = Layout()
    rec: Rec = Rec()
    vl: Vl = Vl()
    join: Join = Join()
    telemetry: Telemetry = Telemetry()
    http_host: str = Field("0.0.0.0", description="Address of /livez, /readyz and /metrics.")

    def stage(self, name: str) -> Stage:
        """Settings of a stage by its key in `GROUPS`."""
        given = self.stages[name].model_dump(exclude_unset=True) if name in self.stages else {}
        return Stage.model_validate({**_STAGE_DEFAULTS.get(name, {}), **given})

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        sources = [init_settings, env_settings]
        if folder := os.environ.get("DOCFLEET_SECRETS_DIR"):
            # A folder that is not there is an error: a service without its password would only fail later, elsewhere.
            sources.append(
                NestedSecretsSettingsSource(file_secret_settings, secrets_dir=folder, secrets_dir_missing="error")
            )
        if path := os.environ.get("DOCFLEET_CONFIG"):
            sources.append(TomlConfigSettingsSource(settings_cls, toml_file=Path(path)))
        return tuple(sources)


def for_engine_child(settings: Settings) -> Settings:
    """The groups that an engine child reads, as plain objects: pydantic would cost it 0.2 s of CPU at its start."""
    groups = {name: SimpleNamespace(**dict(getattr(settings, name))) for name in ("engines", "layout", "rec")}
    del groups["layout"].route  # rows are of pydantic, and engines route nothing
    return cast(Settings, SimpleNamespace(**groups))


_STAGE_DEFAULTS: dict[str, dict[str, float]] = {
    "ingest": {"max_in_flight": 32},  # most of them wait: for an inspection, a twin, a time
    "layout_worker": {"max_in_flight": 4},
    "rec_worker": {"max_in_flight": 16},
    "vl_worker": {
        "max_in_flight": 256,
        "revoked_s": 0.5,
    },  # an answer takes up to minutes: better asked for again elsewhere
    "compose": {"max_in_flight": 16},
}
"""Where a stage's nature asks for another default than `Stage` has."""
