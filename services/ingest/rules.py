"""`ingest.rules`: which objects are wanted, with which options, in whose name and on which lane.

Pure. A bucket notification says nothing but where an object lies, so the rule that fits it gives all the rest; a submission by name
says what it wants, and a rule only decides whose it is and which lane it takes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.options import Options
from shared.contracts.records import DocumentSubmitted
from shared.settings import IngestRule


def applied(rules: Sequence[IngestRule], submission: DocumentSubmitted, *, event: bool) -> DocumentSubmitted | None:
    """The submission as the first rule that fits makes it; none when that rule ignores such events.

    `event` says that it came as a bucket notification. Raises `DocfleetError(source_missing)` when the objects belong to another
    tenant than the submission names.
    """
    source = submission.source
    fitting = (rule for rule in rules if rule.fits(source.bucket, source.key, source.size, submission.tenant))
    rule = next(fitting, None)
    if rule is None:
        return submission
    if event and not rule.accept:
        return None
    if rule.tenant is not None and submission.tenant not in (None, rule.tenant):
        raise DocfleetError(
            ErrorCode.source_missing, f"objects of this place belong to another tenant (ingest.rules, {rule.name})"
        )
    return msgspec.structs.replace(
        submission,
        options=msgspec.convert(rule.options, Options) if event and rule.options else submission.options,
        priority=rule.priority or submission.priority,
        tenant=rule.tenant if rule.tenant is not None else submission.tenant,
    )
