"""Whether a fault changed anything that is promised. Pure: observed against expected, a list of violations.

- every submitted document has exactly one terminal record, of its generation, with the status of a fault-free run;
- its result lists every page once, and is the same as that of a fault-free run, byte for byte but for times and ids;
- what was committed is the end of every partition;
- dead letters are exactly the planted poisons (one record may have two: a crash between the letter and its commit);
- the store holds exactly the objects that a fault-free run leaves;
- no process is left behind, and none ended that nobody ended.
What an injection may leave beyond that is its `Allowance`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tests.faults.injection import ANY, NOTHING, Allowance
from tests.faults.observed import Expected, Observed, Terminal


class Violation(msgspec.Struct, frozen=True):
    """`kind` is one word (`lost`, `doubled`, …)."""

    kind: str
    what: str


def check(
    expected: Sequence[Expected],
    observed: Observed,
    allowance: Allowance = NOTHING,
    broken: Mapping[str, int] | None = None,
) -> list[Violation]:
    """All violations. `broken`: how often each role was."""
    # Only the join publishes: nobody else who was frozen can publish twice.
    doubles = allowance.doubles and bool((broken or {}).get("join"))
    found = [*_documents(expected, observed, allowance, doubles), *_letters(expected, observed, allowance)]
    found += _lags(observed)
    found += _objects(expected, observed, allowance)
    found += [Violation("stray", process) for process in observed.stray]
    found += _deaths(observed, allowance, broken or {})
    return found


def _documents(
    expected: Sequence[Expected], observed: Observed, allowance: Allowance, doubles: bool
) -> Iterator[Violation]:
    known = {one.document_id: one for one in expected}
    by_id: dict[str, list[Terminal]] = {}
    for terminal in observed.terminals:
        by_id.setdefault(terminal.document_id, []).append(terminal)
    for document_id, one in known.items():
        terminals = by_id.get(document_id, [])
        if not terminals:
            yield Violation("lost", document_id)
            continue
        if len(terminals) > 1 and not doubles:
            yield Violation("doubled", f"{document_id}: {len(terminals)} terminal records")
        for terminal in terminals:
            yield from _document(one, terminal, allowance)
    for document_id in by_id.keys() - known.keys():
        yield Violation("unknown", f"{document_id} was never submitted")


def _document(expected: Expected, terminal: Terminal, allowance: Allowance) -> Iterator[Violation]:
    name = expected.document_id
    if terminal.generation != expected.generation:
        yield Violation("generation", f"{name}: {terminal.generation} in place of {expected.generation}")
    if _hurt(terminal, allowance):
        if terminal.codes - allowance.codes:
            yield Violation("error", f"{name}: {sorted(terminal.codes - allowance.codes)}")
        if terminal.status == "failure":
            return
    else:
        if terminal.status != expected.status:
            yield Violation(
                "status",
                f"{name} ({expected.template}): {terminal.status} in place of {expected.status}, {sorted(terminal.codes)}",
            )
        if terminal.digest != expected.digest and not (allowance.fallbacks and "vl_fallback" in terminal.warnings):
            told = f", {sorted(terminal.warnings)}" if terminal.warnings else ""
            yield Violation(
                "hash", f"{name} ({expected.template}): {terminal.digest} in place of {expected.digest}{told}"
            )
    if expected.digest is not None and terminal.page_numbers != tuple(range(1, expected.pages + 1)):
        yield Violation("pages", f"{name}: {list(terminal.page_numbers)} in place of 1 to {expected.pages}")


def _hurt(terminal: Terminal, allowance: Allowance) -> bool:
    """Whether the document ended with an error that the fault may cause."""
    return terminal.status in ("partial_success", "failure") and bool(terminal.codes & allowance.codes)


def _letters(expected: Sequence[Expected], observed: Observed, allowance: Allowance) -> Iterator[Violation]:
    poisons = {one.document_id: one.poison for one in expected if one.poison is not None}
    hurt = {t.document_id for t in observed.terminals if _hurt(t, allowance)}
    found: set[str] = set()
    for letter in {letter.place: letter for letter in observed.letters}.values():
        name = letter.document_id or ""
        if poisons.get(name) == letter.code:
            found.add(name)
        elif not (letter.code in allowance.codes and name in hurt):
            yield Violation("letter", f"{letter.code} at {letter.place} of {letter.document_id}")
    for name in sorted(poisons.keys() - found):
        yield Violation("no letter", f"{name}: its record is no dead letter ({poisons[name]})")


def _lags(observed: Observed) -> Iterator[Violation]:
    for lag in observed.lags:
        if lag.committed != lag.end and not (lag.committed < 0 and lag.end == 0):
            yield Violation("lag", f"{lag.group} {lag.topic}[{lag.partition}]: {lag.committed} of {lag.end}")


def _objects(expected: Sequence[Expected], observed: Observed, allowance: Allowance) -> Iterator[Violation]:
    hurt = {t.document_id for t in observed.terminals if _hurt(t, allowance)}
    for one in expected:
        found = observed.objects.get(one.document_id)
        if found is None or one.document_id in hurt:
            continue
        for key in sorted(found - one.objects):
            yield Violation("orphan", f"{one.document_id}: {key}")
        for key in sorted(one.objects - found):
            yield Violation("no object", f"{one.document_id}: {key}")


def _deaths(observed: Observed, allowance: Allowance, broken: Mapping[str, int]) -> Iterator[Violation]:
    counted: Counter[str] = Counter()
    for death in observed.deaths:
        counted[death.role] += 1
        within = allowance.deaths == ANY or counted[death.role] <= allowance.deaths * broken.get(death.role, 0)
        if not (within and death.exit in allowance.exits):
            yield Violation("death", f"{death.role} ended with {death.exit}: {death.tail[-600:]}")
