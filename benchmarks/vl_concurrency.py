"""vl_worker against simulated model servers: `./dev bench vl_concurrency [--quick] [--only NAME]`.

The servers are simulators whose tokens a second follow the published curve of DeepSeek-OCR-2 on Ascend (1/4/8/32/64/100 requests at once:
40.5/106.5/212.5/413.7/486.6/550.5); everything else is real: the service process, the in-process broker, the object folder, the pictures.
Settings are the defaults unless a line says otherwise. Scenes:

  one     2,000 regions at one server: share of its ceiling, and how soon it is found
  two     two servers, one 0.4 times as fast: share of the sum of their ceilings
  death   one server dies for 20 s and returns: what was lost, and when it works again
  wide    256 in flight at a server with room for them: CPU and memory of the worker, gaps between polls
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.lib.machine import ROOT, Report, header
from benchmarks.lib.vl_scene import Sample, Scene, Server
from tests.support.vl_timing import CEILING
from tests.support.vl_work import Work

TOKENS = "30-90"
"""Tokens of an answer: small tables."""
WINDOW_S = 10.0
Panel = dict[str, Any]


def rate(samples: list[Sample], since: float, until: float) -> float:
    """Tokens a second of all servers between two times."""
    within = [sample for sample in samples if since <= sample.at <= until and None not in sample.tokens]
    if len(within) < 2:
        return 0.0
    first, last = within[0], within[-1]
    return sum(b - a for a, b in zip(first.tokens, last.tokens, strict=True)) / (last.at - first.at)  # type: ignore[operator]


def until_done(scene: Scene, count: int, limit_s: float) -> list[Sample]:
    """Samples until every task has ended, or for `limit_s`."""
    samples = []
    for sample in scene.sampled(limit_s):
        samples.append(sample)
        if sum(scene.metric("docfleet_vl_tasks_total").values()) >= count:
            break
    return samples


def found_at(samples: list[Sample], wanted: float) -> float | None:
    """Seconds from the first token until the throughput of a window first reached `wanted`."""
    begun = next((sample.at for sample in samples if sum(t or 0 for t in sample.tokens)), None)
    for sample in samples:
        if (
            begun is not None
            and sample.at >= begun + WINDOW_S
            and rate(samples, sample.at - WINDOW_S, sample.at) >= wanted
        ):
            return sample.at - begun
    return None


def busy_until(samples: list[Sample]) -> float:
    """When work began to run out: the last time that the limits were used up."""
    full = [s.at for s in samples if sum(s.in_flight) >= 0.85 * max(1, sum(s.limit))]
    return full[-1] if full else 0.0


def outcome(report: Report, scene: Scene, count: int) -> bool:
    """What became of the tasks, at the broker: every one answered once, none handed on."""
    answers = Counter(json.loads(value)["task_id"] for value in scene.records("docs.results"))
    handed, dead = len(scene.records("docs.rec")), len(scene.records("docs.dlq"))
    twice = sum(times > 1 for times in answers.values())
    report.say(
        f"  answered {len(answers)} of {count}, {twice} of them twice; to the small models {handed}, dead letters {dead}"
    )
    report.say(f"  requests by outcome: {_outcomes(scene)}")
    watched = scene.watched()
    report.say(
        f"  longest gap between polls {watched['poll_gap_s']:.2f} s, event loop late by at most {watched['loop_late_s']:.2f} s"
    )
    return len(answers) == count and not handed and not dead


def _outcomes(scene: Scene) -> str:
    found: Counter[str] = Counter()
    for labels, value in scene.metric("docfleet_vl_requests_total").items():
        found[labels.partition('outcome="')[2].rstrip('"}')] += int(value)
    return ", ".join(f"{name} {value}" for name, value in sorted(found.items()))


def panel(title: str, samples: list[Sample], ceiling: float, servers: int) -> Panel:
    """Throughput and requests over time."""
    at = [sample.at for sample in samples[3:]]
    curves = [
        {"name": "tokens/s (5 s)", "x": at, "y": [rate(samples, t - 5, t) for t in at]},
        {"name": "ceiling", "x": [at[0], at[-1]], "y": [ceiling, ceiling]},
    ]
    for number in range(servers):
        limit = {"name": f"limit of server {number + 1}", "x": at, "y": [s.limit[number] for s in samples[3:]]}
        running = {
            "name": f"in flight at server {number + 1}",
            "x": at,
            "y": [s.in_flight[number] for s in samples[3:]],
        }
        curves += [limit, running]
    return {"title": title, "x": "seconds", "y": "tokens/s, requests", "curves": curves}


def steady(report: Report, folder: Path, name: str, speeds: list[float], regions: int) -> Panel:
    """`one` and `two`."""
    servers = [Server(folder, str(number), speed=speed, tokens=TOKENS) for number, speed in enumerate(speeds)]
    ceiling = CEILING * sum(speeds)
    with Scene(folder, servers, Work(regions // 10)) as scene:
        count = scene.put()
        samples = until_done(scene, count, 900)
        begun = next(s.at for s in samples if sum(t or 0 for t in s.tokens))
        end = busy_until(samples)
        share = (
            rate(samples, begun + 60, end) / ceiling if end > begun + 75 else rate(samples, begun + 20, end) / ceiling
        )
        goal = 0.95 if len(speeds) == 1 else 0.9
        found = found_at(samples, goal * ceiling)
        report.say(
            f"{name}: {count} regions, servers of speed {speeds}",
            f"  {100 * share:.1f} % of the ceiling ({ceiling:.0f} tokens/s) once settled, goal {100 * goal:.0f} %",
            f"  goal first reached {'never' if found is None else f'{found:.0f} s'} after the first token, goal 60 s",
            f"  whole run {samples[-1].at - begun:.0f} s; limits at the end {samples[-1].limit}",
        )
        report.say("  " + ("ok" if outcome(report, scene, count) else "FAILED: something was lost or handed on"), "")
        return panel(f"{name}: servers of speed {speeds}", samples, ceiling, len(speeds))


def death(report: Report, folder: Path, regions: int, away_s: float = 20.0) -> Panel:
    """The only server is killed and comes back."""
    server = Server(folder, "0", speed=1.0, tokens=TOKENS)
    with Scene(folder, [server], Work(regions // 10)) as scene:
        count = scene.put()
        samples = list(scene.sampled(45))
        before = rate(samples, samples[-1].at - 15, samples[-1].at)
        server.kill()
        killed = time.monotonic() - scene.started
        samples += list(scene.sampled(away_s))
        unready = _unready(scene)
        server.start()
        back = time.monotonic() - scene.started
        after = until_done(scene, count, 600)
        samples += after
        first = next((s.at - back for s in after if sum(s.in_flight)), None)
        recovered = next(
            (s.at - back for n, s in enumerate(after) if n >= 2 and rate(after, after[n - 2].at, s.at) >= 0.9 * before),
            None,
        )
        report.say(
            f"death: {count} regions, killed at {killed:.0f} s for {back - killed:.0f} s; readiness meanwhile: {unready}",
            f"  first requests {_s(first)} after its return, 90 % of the throughput before ({before:.0f}/s) {_s(recovered)} after it, goal 10 s",
        )
        report.say("  " + ("ok" if outcome(report, scene, count) else "FAILED: something was lost or handed on"), "")
        return panel("death: away for 20 s", [s for s in samples if None not in s.tokens], CEILING, 1)


def _s(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"


def _unready(scene: Scene) -> str:
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{scene.port}/readyz", timeout=5):
            return "ready"
    except urllib.error.HTTPError as error:
        return str(json.loads(error.read())["not_ready"])[:200]


def wide(report: Report, folder: Path, seconds: float) -> None:
    """256 in flight, held there."""
    server = Server(folder, "0", speed=1.0, tokens=TOKENS, slots=256)
    with Scene(folder, [server], Work(int(seconds) + 80), vl__start_in_flight=256, vl__min_in_flight=256) as scene:
        scene.put()
        samples = [s for s in scene.sampled(seconds + 40) if sum(s.in_flight) >= 250][5:]
        first, last = samples[0], samples[-1]
        wall = last.at - first.at
        worker, child = (last.cpu_s - first.cpu_s) / wall, (last.child_cpu_s - first.child_cpu_s) / wall
        regions = (last.tokens[0] - first.tokens[0]) / 60 / wall  # type: ignore[operator]
        report.say(
            f"wide: 256 in flight for {wall:.0f} s, {regions:.1f} regions a second",
            f"  CPU: worker {100 * worker:.1f} % of a core, its document child {100 * child:.1f} %; goal 25 % together",
            f"  memory: worker {max(s.resident for s in samples) / 2**20:.0f} MiB, document child "
            f"{max(s.child_resident for s in samples) / 2**20:.0f} MiB at most; goal 300 MB",
        )
        watched = scene.watched()
        report.say(
            f"  longest gap between polls {watched['poll_gap_s']:.2f} s (goal 1 s), event loop late by at most {watched['loop_late_s']:.2f} s",
            "",
        )


def plot(report: Report, panels: list[Panel]) -> None:
    """The picture beside the table."""
    from benchmarks.peers import install

    target = report.path.with_suffix(".png")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        command = [str(install.python()), "-m", "benchmarks.peers.plot", str(target)]
        subprocess.run(command, input=json.dumps(panels), text=True, check=True, cwd=ROOT)
        report.say(f"picture: {target.name}")
    except (OSError, subprocess.CalledProcessError) as error:
        report.say(f"no picture: {error}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer regions")
    parser.add_argument("--only", choices=["one", "two", "death", "wide"], help="one scene")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    report = Report("vl_concurrency", quick=args.quick, out=args.out)
    report.say(*header("vl_worker at simulated model servers", quick=args.quick, packages=["httpx", "msgspec"]), "")
    panels: list[Panel] = []
    regions = 600 if args.quick else 2000
    with tempfile.TemporaryDirectory(prefix="docfleet-vl-") as temporary:
        for name in ["one", "two", "death", "wide"]:
            if args.only not in (None, name):
                continue
            folder = Path(temporary) / name
            folder.mkdir()
            if name == "one":
                panels.append(steady(report, folder, "one", [1.0], regions))
            elif name == "two":
                panels.append(steady(report, folder, "two", [1.0, 0.4], regions))
            elif name == "death":
                panels.append(death(report, folder, max(1000, regions * 6 // 10)))
            else:
                wide(report, folder, 20 if args.quick else 60)
    if panels:
        plot(report, panels)
    report.write()


if __name__ == "__main__":
    main()
