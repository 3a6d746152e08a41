"""All settings in one, and where they are read from."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from pydantic import Field
from pydantic_settings import (
    BaseSettings,
    NestedSecretsSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from shared.settings.engines import Engines
from shared.settings.ingest import Ingest
from shared.settings.join import Join
from shared.settings.kafka import Kafka
from shared.settings.layout import Layout
from shared.settings.limits import Limits
from shared.settings.objects import Objects
from shared.settings.rec import Rec
from shared.settings.stages import DEFAULTS, Stage
from shared.settings.telemetry import Telemetry
from shared.settings.vl import Vl


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
        return Stage.model_validate({**DEFAULTS.get(name, {}), **given})

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
