"""The parts of the Ascend engine that need no process: what errors mean, what npu-smi says, which variables are set, which files are accepted."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
import yaml

from docfleet.atc import target_named
from services.layout_worker.pages import Pages
from services.rec_worker.service import RecWorker
from shared.contracts.errors import DocfleetError
from shared.engines import ascend_card, ascend_file
from shared.engines.ascend_environment import ROLES, check_visible, environment_of
from shared.engines.ascend_failures import Failure, code_of, failure_of, reason
from shared.models.manifest import manifest, names
from shared.settings import Engines, Objects, Settings
from shared.vlm.profile import profile_named
from tests.support.ascend import Card

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("error", "printed", "failure"),
    [
        (RuntimeError("[2][ACL: memory allocation fail] "), "", Failure.memory),
        (RuntimeError("[-1][ACL: general failure] "), "EL0004: Failed to allocate memory", Failure.memory),
        (RuntimeError("[-1][ACL: general failure] "), "[ERROR] rtMalloc failed 207001", Failure.memory),
        (RuntimeError("[-1][ACL: general failure] "), "device oom, runtime result = 207018", Failure.memory),
        (RuntimeError("[507033][Error code unknown] "), "", Failure.device),
        (RuntimeError("[507899][Error code unknown] "), "", Failure.device),
        (RuntimeError("[-1][ACL: general failure] "), "E39999 aicpu exception, ret 507018", Failure.device),
        (RuntimeError("[-1][ACL: general failure] "), "Failed to open device,retCode=0x7020014", Failure.device),
        (RuntimeError("[1][ACL: invalid parameter] "), "[ERROR] the dymBatch parameter is not correct", Failure.shape),
        (RuntimeError("input datas and intensors dim not matched!"), "", Failure.shape),
        (RuntimeError("not a dymhw model!"), "", Failure.shape),
        (
            RuntimeError("[-1][ACL: general failure] "),
            "[WARN] check failed dym gearcount:4 but dymtype:0 not set",
            Failure.shape,
        ),
        (RuntimeError("[3011][Infer: find outputsize is zero] "), "", Failure.shape),
        (ValueError("The path:a.om is illegal. Please check the error log for more detail."), "", Failure.refused),
        (RuntimeError("[-1][ACL: general failure] "), "", Failure.other),
        (RuntimeError("[4][ACL: Graph Engine failure] "), "[INFO] load model network.om success", Failure.other),
    ],
)
def test_what_an_error_means_is_in_its_code_or_in_what_was_printed(
    error: Exception, printed: str, failure: Failure
) -> None:
    assert failure_of(error, printed) is failure


GENERAL = RuntimeError("[-1][ACL: general failure] ")


@pytest.mark.parametrize(
    ("printed", "failure"),
    [
        ("runtime result = 207001", Failure.memory),
        ("EL0004: see above", Failure.memory),
        ("runtime result = 207018", Failure.memory),
        ("driver error: out of memory", Failure.memory),
        ("Out of memory", Failure.memory),
        ("memory allocation fail", Failure.memory),
        ("std::bad_alloc", Failure.memory),
        ("runtime result = 507014", Failure.device),
        ("runtime result = 508001", Failure.device),
        ("retCode=0x7020014", Failure.device),
        ("open device 0 failed", Failure.device),
        ("Open device 0 failed", Failure.device),
        ("device 0 was lost", Failure.device),
        ("Device 0 was lost", Failure.device),
        ("ts lost heartbeat", Failure.device),
        ("in size:1 needsize:2 not match", Failure.shape),
        ("nums not matched!", Failure.shape),
        ("the dymHW parameter is not correct", Failure.shape),
        ("not a dymdims model!", Failure.shape),
        ("the dynamic_batch_size parameter is not specified for model conversion", Failure.shape),
        ("dymtype:0 not set", Failure.shape),
        ("no such dynamic gear", Failure.shape),
        ("outputsize is zero", Failure.shape),
        ("runtime result = 1507014", Failure.other),
        ("address 0x5080011", Failure.other),
    ],
)
def test_each_sign_in_what_was_printed_counts_by_itself(printed: str, failure: Failure) -> None:
    assert failure_of(GENERAL, f"[ERROR] {printed}") is failure


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (RuntimeError("[2][Error code unknown] "), Failure.memory),
        (RuntimeError("[207001][Error code unknown] "), Failure.memory),
        (RuntimeError("[508001][Error code unknown] "), Failure.device),
        (MemoryError(), Failure.memory),
        (TypeError("run(): incompatible function arguments"), Failure.refused),
    ],
)
def test_each_sign_in_the_exception_counts_by_itself(error: Exception, failure: Failure) -> None:
    assert failure_of(error, "") is failure


def test_the_code_and_the_reason_of_an_error() -> None:
    assert code_of("[-1][ACL: general failure] ") == -1
    assert code_of("not a dymhw model!") is None
    printed = "[INFO] fine\n[ACL ERROR] EZ9999: the aicore is abnormal\n[ERROR] execute failed\n"
    told = reason(RuntimeError("[-1][ACL: general failure] "), printed)
    assert told == "[-1][ACL: general failure]; [ACL ERROR] EZ9999: the aicore is abnormal; [ERROR] execute failed"


CARDS = """
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 5     910B4               | OK            | 89.9        39                0    / 0             |
| 0                         | 0000:41:00.0  | 0           0    / 0          2922 / 32768         |
+===========================+===============+====================================================+
| 2     310P3               | Warning       | NA          50                0    / 0             |
| 0     0                   | 0000:02:00.0  | 0           1503 / 21534                           |
+===========================+===============+====================================================+
"""
PROCESSES = """
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 3045          | python3                  | 1532                    |
| 0       1                 | 3045          |                          | 100                     |
| No running processes found in NPU 1                                                            |
"""
INSIDE = """
| NPU     Chip       | Process id    | Process name| Process memory(MB) |Process id in container|
| 0       0          | 884213        | python3     | 640                | 17                    |
"""


def test_what_npu_smi_says() -> None:
    assert ascend_card.chips(CARDS + PROCESSES) == {"Ascend910B4", "Ascend310P3"}
    assert ascend_card.held(CARDS + PROCESSES) == {3045: 1632 * 2**20}
    assert ascend_card.held(INSIDE) == {17: 640 * 2**20}
    assert ascend_card.chips("") == set()
    assert ascend_card.held("command not found") == {}


@pytest.mark.parametrize(
    ("name", "found"), [("910B2C", {"Ascend910B2C"}), ("910B4-1", {"Ascend910B4-1"}), ("Ascend910", set())]
)
def test_chips_by_the_name_that_npu_smi_has_for_them(name: str, found: set[str]) -> None:
    """Of an A3 card it tells the family only (vllm-project/vllm-ascend #2035)."""
    line = f"| 0     {name:<20}| OK            | 178.8       36                0    / 0             |"
    assert ascend_card.chips(line) == found
    assert all(target_named(chip).soc == chip for chip in found)


def test_where_there_is_no_npu_smi_nothing_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ascend_card.told() == ""
    tool = tmp_path / "npu-smi"
    tool.write_text("#!/bin/sh\necho '| 0     310P3  | OK  |'\nexit 1\n")
    tool.chmod(0o755)
    assert ascend_card.told() == ""


def test_an_npu_smi_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As with a driver in trouble: the watch of memory and the start of the engine go on without it."""
    tool = tmp_path / "npu-smi"
    tool.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(ascend_card, "TIMEOUT_S", 0.5)
    began = time.monotonic()
    assert ascend_card.told() == ""
    assert time.monotonic() - began < 30


def test_the_variables_of_each_role() -> None:
    assert ROLES == {
        "session": {"GE_USE_STATIC_MEMORY": "3", "ASCEND_GLOBAL_LOG_LEVEL": "3", "ASCEND_SLOG_PRINT_TO_STDOUT": "0"},
        "vl": {
            "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
            "TASK_QUEUE_ENABLE": "1",
            "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
            "OMP_NUM_THREADS": "1",
        },
    }


def test_what_is_there_goes_before_the_defaults_and_what_is_asked_for_before_both() -> None:
    present = {"GE_USE_STATIC_MEMORY": "0", "ASCEND_GLOBAL_LOG_LEVEL": "1"}
    wished = {"ASCEND_GLOBAL_LOG_LEVEL": "0", "MINE": "x"}
    set_ = environment_of("session", present, wished)
    assert set_ == {"ASCEND_SLOG_PRINT_TO_STDOUT": "0", "ASCEND_GLOBAL_LOG_LEVEL": "0", "MINE": "x"}


@pytest.mark.parametrize(("value", "device"), [(None, 7), ("0", 0), ("2,3", 1), ("0,1,2,3", 3)])
def test_lists_of_cards_that_are_what_they_seem(value: str | None, device: int) -> None:
    check_visible(value, device)


@pytest.mark.parametrize(
    ("value", "device", "words"),
    [
        ("0, 1", 0, "would be cut short"),
        ("4,3,2", 0, "ascending"),
        ("2,3,-1,5", 0, "would be cut short"),
        ("", 0, "would be cut short"),
        ("1,1", 0, "ascending"),
        ("0,\u0661", 0, "would be cut short"),
        ("\u00b2", 0, "would be cut short"),
        ("2,3", 2, "shows 2 cards and DOCFLEET_ENGINES__ASCEND_DEVICE is 2"),
    ],
)
def test_lists_of_cards_that_are_not(value: str, device: int, words: str) -> None:
    with pytest.raises(DocfleetError, match=words):
        check_visible(value, device)


def test_files_that_ais_bench_accepts_and_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    om = tmp_path / "network.om"
    om.write_bytes(b"om")
    om.chmod(0o440)
    ascend_file.check_file(om)
    om.chmod(0o004)
    with pytest.raises(DocfleetError, match="cannot be read"):
        ascend_file.check_file(om)
    for mode in (0o460, 0o442):
        om.chmod(mode)
        with pytest.raises(DocfleetError, match="others may write to it"):
            ascend_file.check_file(om)
    om.chmod(0o440)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    monkeypatch.setattr(os, "getgroups", lambda: [om.stat().st_gid])
    ascend_file.check_file(om)  # one of its groups is enough
    monkeypatch.setattr(os, "getgroups", list)
    with pytest.raises(DocfleetError, match="neither its owner nor its group"):
        ascend_file.check_file(om)
    monkeypatch.undo()
    monkeypatch.setattr(ascend_file, "MAX_BYTES", 1)
    with pytest.raises(DocfleetError, match="larger than 10 GB"):
        ascend_file.check_file(om)
    with pytest.raises(DocfleetError, match="No such file"):
        ascend_file.check_file(tmp_path / "absent.om")
    (tmp_path / "folder.om").mkdir(mode=0o755)
    with pytest.raises(DocfleetError, match="is not a file"):
        ascend_file.check_file(tmp_path / "folder.om")
    with pytest.raises(DocfleetError, match=r"does not end in \.om"):
        ascend_file.check_file(tmp_path / "network.onnx")


ROOT = Path(__file__).parents[3]


def test_the_pages_say_the_variables_settings_and_gears_that_there_are() -> None:
    page = (ROOT / "docs" / "ascend.md").read_text()
    for variables in ROLES.values():
        for name, value in variables.items():
            assert f"{name}={value}" in page
    for name in set(re.findall(r"DOCFLEET_ENGINES__([A-Z_]+)", page)):
        assert name.lower() in Engines.model_fields
    told = {name: int(count) for name, count in re.findall(r"\(`(ppocrv6-[a-z*-]+)`\) \|.*\| (\d+)", page)}
    assert set(told) == {"ppocrv6-det-small", "ppocrv6-rec-*"}
    for pattern, count in told.items():
        for name in names():
            entry = manifest(name).ascend
            if re.fullmatch(pattern.replace("*", ".*"), name) and entry is not None:
                assert len(entry.gears()) == count


def test_the_page_serves_each_model_under_the_name_that_its_profile_asks_for() -> None:
    """vLLM serves a model under the name it was started with unless told otherwise, and answers 404 to any other."""
    page = (ROOT / "docs" / "ascend.md").read_text().replace("\\\n", " ")
    served = re.findall(r"^.*vllm serve (\S+)(.*)$", page, re.MULTILINE)
    assert len(served) == 2
    by_model = {one.model: one for one in map(profile_named, ("paddleocr-vl", "deepseek-ocr-2"))}
    for model, options in served:
        name = re.search(r"--served-model-name (\S+)", options)
        assert (name[1] if name else model) in by_model


def test_the_page_sets_all_that_the_double_needs(tmp_path: Path) -> None:
    section = (ROOT / "docs" / "ascend.md").read_text().partition("## 10. ")[2]
    for name in Card(tmp_path).environment():
        assert f"{name}=" in section


@pytest.mark.parametrize("values", ["ascend-values.yaml", "volcano-values.yaml"])
def test_the_chart_s_values_for_npu_nodes_go_with_the_engine(values: str) -> None:
    given = yaml.safe_load((ROOT / "helm" / "docfleet" / "ci" / values).read_text())
    assert given["models"]["source"] == "om"
    stages = {name: stage for name, stage in given["stages"].items() if "accelerator" in stage}
    assert stages
    for stage in stages.values():
        assert stage["image"] == "ascend"
        assert stage["accelerator"]["resource"].startswith("huawei.com/")
        for variable in stage.get("extraEnv", []):
            if variable["name"] in ROLES["session"]:
                assert variable["value"] == ROLES["session"][variable["name"]]


def test_an_engine_child_may_be_as_long_without_a_word_as_two_tries_of_a_session(tmp_path: Path) -> None:
    def limits(**engines: object) -> list[float]:
        settings = Settings(
            engines=Engines(**engines),  # type: ignore[arg-type]
            objects=Objects(kind="folder", folder=tmp_path),
        )
        return [child._start_timeout_s for child in (RecWorker(settings)._engine, Pages(settings).engine)]

    assert all(limit > 2 * 500.0 for limit in limits(kind="ascend", ascend_start_timeout_s=500.0))
    assert limits(kind="onnxruntime", ascend_start_timeout_s=500.0) == [120.0, 120.0]
