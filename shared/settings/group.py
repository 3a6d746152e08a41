"""What all groups of settings have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Group(BaseModel):
    """A group of settings: unknown names are errors, and no error repeats what was given."""

    model_config = ConfigDict(extra="forbid", validate_default=True, hide_input_in_errors=True)
