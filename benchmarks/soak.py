"""A fleet under faults for an hour: `./dev bench soak [--minutes 60] [--every 20] [--seed N] [--quick]`.

Two processes of each role (the light profile: real services, topics and store, synthetic networks), documents of six kinds one after the other,
and every 20 s a fault at random: processes and children killed, at named points too, links to broker, store and model server cut, slowed and
reset, the broker killed and restarted. Faults are aimed at the second process of a role; the first, the *veteran*, lives through all of it and
is measured: memory of its own with that of its children, handles, threads. At the end everything must have ended once, as without faults.
Exit code 1 when something was lost, doubled or different, or when something rose by more than a tenth after the warm-up.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.lib.machine import ROOT, Report, header
from tests.faults.fleet import Fleet
from tests.faults.matrix import injections
from tests.faults.roles import ROLES
from tests.faults.run import Arena
from tests.faults.servers import Servers
from tests.faults.soak import flat
from tests.faults.soak.run import POOLS, Soak
from tests.faults.soak.run import Report as Soaked
from tests.faults.sources import light
from tests.support import toxiproxy
from tests.support.processes import Missing
from tests.support.tools_env import environment

PLOT = ROOT / "tests" / "support" / "plot_tools"
WARM_UP = 1 / 6
"""Share of the time after which heaps and pools are taken for full."""


def main() -> int:
    arguments = _arguments()
    report = Report("soak", quick=arguments.quick, out=arguments.out)
    report.say(*header("Soak: faults into a living fleet", quick=arguments.quick, packages=["confluent-kafka"]))
    report.say(
        f"# {arguments.minutes:g} minutes under {arguments.rate:g} documents a second, a fault every {arguments.every:g} s, "
        f"seed {arguments.seed}",
        "",
    )
    with tempfile.TemporaryDirectory(prefix="docfleet-soak-") as name:
        folder = Path(name)
        temporary = folder / "tmp"
        temporary.mkdir()
        servers, kinds = (Servers(folder), {"plain"}) if arguments.plain else _servers(folder, report)
        with servers:
            env = {"TMPDIR": str(temporary), **POOLS}
            with (
                Fleet(servers, folder, replicas=2, env=env) as fleet,
                Arena(fleet, light(), rate=arguments.rate, patience_s=600) as arena,
            ):
                faults = [
                    kind for kind in injections() if kind.servers in kinds and re.search(arguments.only, kind.name)
                ]
                soak = Soak(arena, faults, seed=arguments.seed, every_s=arguments.every, told=print)
                found = soak.run(arguments.minutes, sample_s=10, count_s=60, temporary=temporary)
                dead = [role for role, member in soak.veterans.items() if member.ended is not None]
                left = fleet.close()
    good = _tell(report, found, 60 * arguments.minutes * WARM_UP)
    if dead or left:
        report.say(f"MISSED veterans that ended: {dead}; processes left behind: {left}")
    _draw(report, found)
    report.write()
    return 0 if good and not dead and not left else 1


def _servers(folder: Path, report: Report) -> tuple[Servers, set[str]]:
    """With links that can be broken where Toxiproxy can be had."""
    from tests.faults.infra.servers import LinkedServers

    try:
        toxiproxy.program()
    except Missing as missing:
        report.say(f"without faults of links: {missing}", "")
        return Servers(folder), {"plain"}
    return LinkedServers(folder), {"plain", "links"}


def _tell(report: Report, found: Soaked, warm_up_s: float) -> bool:
    """The tables; whether all is as it should be."""
    report.say(
        f"{found.documents} documents, {found.pages} pages, {len(found.injected)} faults; "
        f"the backlog at the end drained in {found.drained_s:.0f} s",
        "",
    )
    report.say("| fault | times |", "|---|---|")
    for name, times in sorted(Counter(one.fault for one in found.injected).items()):
        report.say(f"| {name} | {times} |")
    kinds = Counter(violation.kind for violation in found.violations)
    report.say("", f"lost, doubled or different from a run without faults: {dict(kinds) or 'nothing'}")
    report.say(f"read by small models while the model server failed, and saying so: {found.fallbacks} documents")
    for violation in found.violations[:20]:
        report.say(f"  {violation.kind}: {violation.what}")
    troubled = [one for one in found.injected if one.trouble]
    for one in troubled:
        report.say(f"  at {one.at_s:.0f} s, {one.fault} {one.role}: {one.trouble[:300]}")
    report.say(
        "", "| held by the veteran, or the fleet | first third | last third | change | |", "|---|---|---|---|---|"
    )
    risen = 0
    for verdict in flat.verdicts(found.samples, warm_up_s):
        risen += not verdict.flat
        report.say(
            f"| {verdict.what} | {verdict.first:.1f} | {verdict.last:.1f} | {verdict.change:+.1%} | "
            f"{'flat' if verdict.flat else 'RISEN'} |"
        )
    behind = [sample.behind for sample in found.samples]
    report.say(
        "", f"records not committed: {max(behind)} at most, {behind[-1]} when the load ended, 0 after the drain", ""
    )
    good = not found.violations and not troubled and not risen
    report.say(
        f"{'ok    ' if good else 'MISSED'} nothing lost, nothing doubled, nothing risen by more than a tenth", ""
    )
    return good


def _draw(report: Report, found: Soaked) -> None:
    """The picture, beside the text."""
    minutes = [sample.at_s / 60 for sample in found.samples]

    def curves(thing: str) -> list[dict[str, object]]:
        return [
            {
                "name": role,
                "x": [m for m, s in zip(minutes, found.samples, strict=True) if role in s.held],
                "y": [getattr(s.held[role], thing) for s in found.samples if role in s.held],
            }
            for role in ROLES
        ]

    counted = [(m, s) for m, s in zip(minutes, found.samples, strict=True) if s.objects is not None and s.ended]
    panels = [
        {"title": "Memory of the veterans", "x": "minutes", "y": "MB of its own", "curves": curves("memory_mb")},
        {"title": "Handles", "x": "minutes", "y": "open files and sockets", "curves": curves("handles")},
        {
            "title": "Work",
            "x": "minutes",
            "y": "records, objects a document",
            "curves": [
                {"name": "records not committed", "x": minutes, "y": [s.behind for s in found.samples]},
                {
                    "name": "objects a document",
                    "x": [m for m, _ in counted],
                    "y": [(s.objects or 0) / s.ended for _, s in counted],
                },
            ],
        },
    ]
    target = report.path.with_suffix(".png")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        command = [str(environment(PLOT)), "-m", "benchmarks.peers.plot", str(target)]
        subprocess.run(command, input=json.dumps(panels), text=True, check=True, cwd=ROOT)
        report.say(f"picture: {target.name}", "")
    except (Missing, OSError, subprocess.CalledProcessError) as error:
        report.say(f"no picture: {error}", "")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=20.0, help="seconds between two faults")
    parser.add_argument("--rate", type=float, default=1.0, help="documents a second")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--only", default="", help="regular expression for faults, such as `^(sigkill|child)`")
    parser.add_argument("--plain", action="store_true", help="no links: faults of processes only")
    parser.add_argument("--quick", action="store_true", help="three minutes")
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.minutes = min(arguments.minutes, 3.0)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
