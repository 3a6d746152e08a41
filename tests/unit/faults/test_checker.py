"""The checker of the fault harness finds each violation that is planted, and nothing where there is none."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.faults.checker import check
from tests.faults.injection import ANY, NOTHING, Allowance
from tests.faults.observed import Death, Expected, Lag, Letter, Observed, Terminal

pytestmark = pytest.mark.unit

KEYS = frozenset({"work/{id}/0/envelope.json", "parsed/{id}/0/document.json", "done/{id}"})
GOOD = Expected(document_id="good", template="scan", status="success", pages=2, digest="aa", objects=KEYS)
POISON = Expected(
    document_id="bad",
    template="broken",
    status="failure",
    pages=0,
    digest=None,
    objects=frozenset({"done/{id}"}),
    poison="corrupt",
)
PARSED = Terminal(
    document_id="good", generation=0, status="success", pages=("ok", "ok"), page_numbers=(1, 2), digest="aa"
)
REFUSED = Terminal(document_id="bad", generation=0, status="failure", codes=frozenset({"corrupt"}))
LETTER = Letter(place=("docs.incoming", 3, 17), code="corrupt", document_id="bad")
CALM = Observed(
    terminals=[PARSED, REFUSED],
    letters=[LETTER],
    lags=[Lag(group="ingest", topic="docs.incoming", partition=3, committed=18, end=18)],
    objects={"good": KEYS, "bad": frozenset({"done/{id}"})},
)
KILLED = Allowance(deaths=1, exits=frozenset({-9}))


def kinds(observed: Observed, allowance: Allowance = NOTHING, broken: int = 1) -> list[str]:
    found = check([GOOD, POISON], observed, allowance, {"join": broken})
    return sorted(violation.kind for violation in found)


def test_a_calm_run_has_no_violation():
    assert kinds(CALM) == []


PLANTED = {
    "lost": replace(CALM, terminals=[REFUSED]),
    "doubled": replace(CALM, terminals=[PARSED, PARSED, REFUSED]),
    "unknown": replace(CALM, terminals=[PARSED, REFUSED, replace(PARSED, document_id="stranger")]),
    "generation": replace(CALM, terminals=[replace(PARSED, generation=1), REFUSED]),
    "status": replace(CALM, terminals=[replace(PARSED, status="cancelled"), REFUSED]),
    "hash": replace(CALM, terminals=[replace(PARSED, digest="bb"), REFUSED]),
    "pages": replace(CALM, terminals=[replace(PARSED, page_numbers=(1,)), REFUSED]),
    "letter": replace(CALM, letters=[LETTER, Letter(place=("docs.rec", 0, 1), code="crashed", document_id="good")]),
    "no letter": replace(CALM, letters=[]),
    "lag": replace(CALM, lags=[Lag(group="ingest", topic="docs.incoming", partition=3, committed=17, end=18)]),
    "orphan": replace(CALM, objects={**CALM.objects, "good": KEYS | {"work/{id}/0/left.tmp"}}),
    "no object": replace(CALM, objects={**CALM.objects, "good": frozenset({"done/{id}"})}),
    "stray": replace(CALM, stray=["4711 python -m shared.children.serve"]),
    "death": replace(CALM, deaths=[Death(role="join", exit=-9)]),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_violation_is_found(kind):
    assert set(kinds(PLANTED[kind])) == {kind}


def test_another_result_is_right_only_where_it_says_that_small_models_read_it_and_the_fault_may_cause_that():
    other = replace(PARSED, digest="bb")
    told = replace(other, warnings=frozenset({"vl_fallback"}))
    may = Allowance(fallbacks=True)
    assert kinds(replace(CALM, terminals=[told, REFUSED]), may) == []
    assert kinds(replace(CALM, terminals=[other, REFUSED]), may) == ["hash"]
    assert kinds(replace(CALM, terminals=[told, REFUSED])) == ["hash"]


def test_a_page_listed_twice_is_found():
    twice = replace(PARSED, page_numbers=(1, 2, 2))
    assert kinds(replace(CALM, terminals=[twice, REFUSED])) == ["pages"]


def test_a_letter_of_another_code_is_strange_even_of_a_planted_poison():
    strange = replace(LETTER, code="internal")
    assert kinds(replace(CALM, letters=[strange])) == ["letter", "no letter"]


def test_one_record_may_have_two_letters_but_not_two_records_one_poison():
    assert kinds(replace(CALM, letters=[LETTER, LETTER])) == []


def test_a_partition_that_was_never_used_has_no_lag():
    assert kinds(replace(CALM, lags=[Lag(group="g", topic="t", partition=0, committed=-1, end=0)])) == []
    assert kinds(replace(CALM, lags=[Lag(group="g", topic="t", partition=0, committed=-1, end=2)])) == ["lag"]


def test_deaths_are_allowed_of_the_broken_role_in_number_and_kind():
    death = Death(role="join", exit=-9)
    assert kinds(replace(CALM, deaths=[death]), KILLED) == []
    assert kinds(replace(CALM, deaths=[death, death]), KILLED) == ["death"]
    assert kinds(replace(CALM, deaths=[death, death]), KILLED, broken=2) == []
    assert kinds(replace(CALM, deaths=[replace(death, exit=1)]), KILLED) == ["death"]
    assert kinds(replace(CALM, deaths=[replace(death, role="ingest")]), KILLED) == ["death"]
    anyone = Allowance(deaths=ANY, exits=frozenset({4}))
    assert kinds(replace(CALM, deaths=[Death(role="ingest", exit=4)] * 3), anyone) == []


def test_a_typed_error_is_allowed_only_where_the_fault_may_cause_it():
    hurt = replace(PARSED, status="partial_success", digest="cc", codes=frozenset({"resource_limit"}))
    letter = Letter(place=("docs.rec", 0, 1), code="resource_limit", document_id="good")
    seen = replace(CALM, terminals=[hurt, REFUSED], letters=[LETTER, letter])
    assert kinds(seen, Allowance(codes=frozenset({"resource_limit"}))) == []
    assert kinds(seen) == ["hash", "letter", "status"]
    refused = Terminal(document_id="good", generation=0, status="failure", codes=frozenset({"resource_limit"}))
    assert kinds(replace(seen, terminals=[refused, REFUSED]), Allowance(codes=frozenset({"resource_limit"}))) == []
    assert kinds(replace(seen, terminals=[refused, REFUSED], letters=[LETTER])) == ["hash", "pages", "status"]
    other = replace(hurt, codes=frozenset({"resource_limit", "internal"}))
    assert kinds(replace(seen, terminals=[other, REFUSED]), Allowance(codes=frozenset({"resource_limit"}))) == ["error"]


def test_a_second_terminal_record_is_allowed_only_after_a_frozen_join_and_must_be_the_same():
    assert kinds(PLANTED["doubled"], Allowance(doubles=True)) == []
    other = replace(PARSED, digest="bb")
    assert kinds(replace(CALM, terminals=[PARSED, other, REFUSED]), Allowance(doubles=True)) == ["hash"]
    assert kinds(PLANTED["doubled"], Allowance(doubles=True), broken=0) == ["doubled"]
