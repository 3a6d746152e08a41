"""The object store."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from shared.settings.group import Group


class Objects(Group):
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
