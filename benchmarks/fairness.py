"""Who waits for whom: one-page documents behind a long one, and beside a tenant with fifty of them.

    ./dev bench fairness [--pages 700] [--large 50] [--quick]

An embedded fleet with one process of each service; pages are native and layout is fast, so that what is measured is the order in which work is
done, not networks. First twenty documents of one page alone, then twenty others while a document of 700 pages is being parsed; then one page at
a time alone, and others while fifty documents of 40 pages of a tenant wait whom a rule sends to the second lane.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median

import pymupdf

from benchmarks.lib.machine import header
from docfleet import Client
from docfleet.embedded import EmbeddedFleet
from shared.contracts.options import Options

SHORT, ONES = 20, 9
LONG_OF = 40
"""Pages of each large document of the patient tenant."""
OPTIONS = Options(layout="fast", ocr="off")
BOUND_LONG, BOUND_TENANT = 2.0, 3.0
"""Times as long as alone that is still called fair."""


def document(folder: Path, name: str, pages: int) -> Path:
    """A document whose pages say its name, each with thirty lines."""
    path = folder / f"{name}.pdf"
    pdf = pymupdf.open()
    for number in range(pages):
        page = pdf.new_page()
        for line in range(30):
            page.insert_text((72, 72 + 20 * line), f"{name}, page {number + 1}, line {line + 1} of thirty")
    pdf.save(path)
    return path


def names() -> Iterator[str]:
    """Contents nobody has seen: a cached answer would measure nothing."""
    return (f"document {number}" for number in count())


def seconds(client: Client, paths: list[Path]) -> float:
    """From the first submission to the last result of these documents, others that are under way aside."""
    began = time.monotonic()
    submitted = [client.submit(path, options=OPTIONS, tenant="somebody").document_id for path in paths]
    for document_id in submitted:
        parsed = client.wait(document_id, timeout_s=600)
        assert parsed.status == "success", parsed
        assert not parsed.cached
    return time.monotonic() - began


def behind_a_long_one(client: Client, folder: Path, name: Iterator[str], pages: int) -> tuple[float, float]:
    alone = seconds(client, [document(folder, next(name), 1) for _ in range(SHORT)])
    shorts = [document(folder, next(name), 1) for _ in range(SHORT)]
    long = client.submit(document(folder, next(name), pages), options=OPTIONS).document_id
    while (progress := client.progress(long)) is None or progress.pages_done < pages // 20:
        client.poll(0.2)
    behind = seconds(client, shorts)
    progress = client.progress(long)
    assert progress is not None
    if progress.pages_done >= pages:
        print("the long document was through before the short ones: nothing was measured", file=sys.stderr)
    client.wait(long, timeout_s=1_200)
    return alone, behind


def beside_a_patient_tenant(client: Client, folder: Path, name: Iterator[str], large: int) -> tuple[float, float]:
    alone = median(seconds(client, [document(folder, next(name), 1)]) for _ in range(ONES))
    ones = [document(folder, next(name), 1) for _ in range(ONES)]
    paths = [document(folder, next(name), LONG_OF) for _ in range(large)]
    waiting = [client.submit(path, options=OPTIONS, tenant="patient").document_id for path in paths]
    time.sleep(3)
    beside = median(seconds(client, [path]) for path in ones)
    for document_id in waiting:
        client.forget(document_id)
    return alone, beside


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench fairness", description=__doc__)
    parser.add_argument("--pages", type=int, default=700, help="pages of the long document")
    parser.add_argument("--large", type=int, default=50, help="documents of the patient tenant")
    parser.add_argument("--quick", action="store_true", help="200 pages, 15 documents")
    arguments = parser.parse_args()
    pages, large = (200, 15) if arguments.quick else (arguments.pages, arguments.large)
    rules = [{"name": "patient", "tenants": ["patient"], "priority": "bulk"}]
    name = names()
    with tempfile.TemporaryDirectory() as temporary, EmbeddedFleet(overrides={"ingest": {"rules": rules}}) as fleet:
        folder = Path(temporary)
        with Client(fleet.settings) as client:
            seconds(client, [document(folder, next(name), 1) for _ in range(4)])  # everything warm
            behind = behind_a_long_one(client, folder, name, pages)
            beside = beside_a_patient_tenant(client, folder, name, large)
    rows = [
        (f"{SHORT} documents of one page, then behind one of {pages}", BOUND_LONG, *behind),
        (f"one page, then beside {large} x {LONG_OF} pages of a bulk tenant", BOUND_TENANT, *beside),
    ]
    print("\n".join(header("Fairness", quick=arguments.quick)))
    print(f"{'':62} {'alone s':>8} {'then s':>8} {'times':>6} {'bound':>6}")
    for what, bound, alone, then in rows:
        print(f"{what:62} {alone:8.2f} {then:8.2f} {then / alone:6.2f} {bound:6.1f}")
    return 0 if all(then <= bound * alone for _, bound, alone, then in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
