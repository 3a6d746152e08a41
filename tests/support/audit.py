"""`./dev audit` and `./dev sbom`: known vulnerabilities of the locked packages, and a list of them in the form of CycloneDX.

The tools live in an environment of their own, made on first use. `audit` asks the package index for what it knows; where that cannot be
reached, or answers without such data, it says so and ends with 2.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tests.support.processes import Missing
from tests.support.tools_env import tool

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tests" / "support" / "audit_tools"
SCHEMA = "1.6"


def audit(lock: Path) -> int:
    """0: nothing is known against what is locked; 1: something is; 2: nobody could say, at least of some. Raises `Missing`."""
    command = [
        str(tool(TOOLS, "pip-audit")),
        "--require-hashes",
        "--disable-pip",
        "--progress-spinner=off",
        "--format=json",
    ]
    done = subprocess.run([*command, "-r", str(lock)], cwd=ROOT, capture_output=True, text=True, check=False)
    code, lines = verdict(done.stdout, done.stderr)
    print("\n".join(lines))
    return code


def verdict(found: str, trouble: str) -> tuple[int, list[str]]:
    """What pip-audit's answer (its JSON, and what it said on stderr) comes to: the exit code of `audit`, and lines to show.

    pip-audit calls a package that its source of data does not know "skipped" and ends with 0, also where it skipped all of them.
    """
    try:
        packages = json.loads(found)["dependencies"]
    except (ValueError, KeyError):
        return 2, ["pip-audit came to no result: " + trouble.strip()[-500:]]
    vulnerable = [one for one in packages if one.get("vulns")]
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    lines = [
        f"{one['name']} {one['version']}: {vuln['id']}, mended in {', '.join(vuln['fix_versions']) or 'no version'}"
        for one in vulnerable
        for vuln in one["vulns"]
    ]
    lines.append(f"{len(packages)} packages, {len(vulnerable)} with known vulnerabilities, {len(unknown)} not known")
    if unknown:
        lines.append(
            f"the package index has no such data of {', '.join(unknown[:5])}{' …' if len(unknown) > 5 else ''}"
        )
    return 1 if vulnerable else 2 if unknown or not packages else 0, lines


def sbom(lock: Path, out: Path) -> int:
    """Write the list. Raises `Missing`."""
    command = [str(tool(TOOLS, "cyclonedx-py")), "requirements", str(lock), "--pyproject", str(ROOT / "pyproject.toml")]
    command += ["--spec-version", SCHEMA, "--output-reproducible", "-o", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr if done.returncode else f"{out}\n")
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev", description=__doc__)
    parser.add_argument("command", choices=["audit", "sbom"])
    parser.add_argument("lock", type=Path, nargs="?", default=ROOT / "requirements.lock", help="a file of requirements")
    parser.add_argument("-o", "--out", type=Path, default=Path("sbom.json"))
    arguments = parser.parse_args()
    try:
        if arguments.command == "audit":
            return audit(arguments.lock)
        return sbom(arguments.lock, arguments.out)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
