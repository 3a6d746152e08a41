"""`python -m tests.faults`: the matrix of faults from the command line.

list      every combination of fault, role and replicas: which are cells, why others are none, which have a green run
run       inject, one after the other, into living fleets; goes on where the journal stops
again     one cell with one seed once more
summary   the journal in lines
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.faults.campaign import Campaign, Plan
from tests.faults.cell import Cell
from tests.faults.journal import Journal, summary
from tests.faults.matrix import injections, places
from tests.faults.roles import ROLES
from tests.faults.run import OPEN


def main() -> int:
    arguments = _arguments()
    journal = Journal(arguments.journal)
    kinds = injections()
    everything = places(kinds)
    if arguments.command == "list":
        green = Counter(outcome.cell for outcome in journal.read() if outcome.green)
        for place in everything:
            state = f"no cell: {place.reason}" if place.reason else f"{green[place.cell]} green"
            print(f"{place.cell.name:55} {state}")
        return 0
    if arguments.command == "summary":
        journals = [journal, *map(Journal, arguments.beside)]
        print("\n".join(summary(everything, [outcome for one in journals for outcome in one.read()])))
        return 0
    if arguments.command == "again":
        name, role, replicas = arguments.cell.split("/")
        assert role in ROLES, f"roles are {', '.join(ROLES)}"
        chosen = [place for place in everything if place.cell == Cell(name, role, int(replicas))]
        plan = Plan(seed=arguments.seed, at_most=1, exact=True, profile=arguments.profile, alone=arguments.open)
    else:
        chosen = [place for place in everything if re.search(arguments.only, place.cell.name)]
        minutes = arguments.minutes
        plan = Plan(
            seed=arguments.seed,
            at_most=arguments.at_most,
            until=time.monotonic() + 60 * minutes if minutes else None,
            rounds=arguments.rounds,
            profile=arguments.profile,
            together=arguments.together,
            alone=arguments.open,
        )
    if not any(place.reason is None for place in chosen):
        print("no such cell: see `list`", file=sys.stderr)
        return 2
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="docfleet-faults-"))
    campaign = Campaign(kinds, journal, folder, plan, commit=_commit())
    for outcome in campaign.run(chosen):
        state = "green" if outcome.green else "RED  "
        print(
            f"{time.strftime('%H:%M:%S')} {state} {outcome.cell.name:50} seed {outcome.seed:<8} {outcome.documents:>3} documents "
            f"{outcome.seconds:6.1f} s {outcome.measured}",
            flush=True,
        )
        for violation in outcome.violations[:20]:
            print(f"    {violation.kind}: {violation.what}", flush=True)
    for line in campaign.left_out:
        print(f"left out: {line}", flush=True)
    return 1 if campaign.red else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["list", "run", "again", "summary"])
    parser.add_argument("cell", nargs="?", help="for `again`: FAULT/ROLE/REPLICAS")
    parser.add_argument("--journal", type=Path, default=Path(".cache/faults"), help="folder of the journal")
    parser.add_argument("--beside", type=Path, action="append", default=[], help="for `summary`: one more journal")
    parser.add_argument("--folder", type=Path, default=None, help="folder of logs; none is a temporary one")
    parser.add_argument("--seed", type=int, default=1, help="of the run; each injection has its own, made of this")
    parser.add_argument("--minutes", type=float, default=0, help="begin no injection after so many; 0: no limit")
    parser.add_argument("--at-most", type=int, default=10_000, help="injections")
    parser.add_argument("--rounds", type=int, default=1, help="green runs that every cell shall have")
    parser.add_argument(
        "--together", type=int, default=1, help="injections of a kind, into different roles, at one time"
    )
    parser.add_argument("--open", type=int, default=OPEN, help="documents under way at an injection that is made alone")
    parser.add_argument("--only", default="", help="regular expression for cells, such as `^sigkill/join/`")
    parser.add_argument("--profile", choices=["light", "real"], default="light", help="synthetic or real reading")
    return parser.parse_args()


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
