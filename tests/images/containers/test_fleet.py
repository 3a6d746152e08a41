"""The services of the built images, locked down, against a real Kafka and a real S3 server: the sample documents are parsed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.settings import GROUPS, Objects
from tests.images import compose
from tests.images.containers.podman import podman
from tests.images.dockerfile import ROOT
from tests.support.fleet import PARTS, Fleet
from tests.support.processes import free_ports

pytestmark = [pytest.mark.containers, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(2_400)]
SAMPLES = ("sample.pdf", "scan.pdf", "page.pdf")


class Containers:
    """One container a part, with the limits of the compose file and without anything it does not need."""

    def __init__(self, image: Callable[[str], str], env: dict[str, str]) -> None:
        self._image = image
        self._env = env
        self.names: dict[str, str] = {}
        self._ports: dict[str, int] = {}
        self._file = compose.loaded()["services"]

    def start(self, part: str) -> None:
        service = self._file[part]
        (port,) = free_ports(1)
        env = {**self._env, f"DOCFLEET_STAGES__{part.upper()}__HTTP_PORT": str(port)}
        locked = (
            "--read-only",
            "--cap-drop=all",
            "--security-opt=no-new-privileges",
            f"--pids-limit={service['pids_limit']}",
        )
        bounds = (f"--memory={service['mem_limit']}", "--tmpfs=/tmp:size=1g,mode=1777")
        given = [one for name, value in env.items() for one in ("--env", f"{name}={value}")]
        self.names[part] = podman(
            *("run", "--detach", "--network=host", *locked, *bounds, *given),
            *(self._image(service["build"]["target"]), "python", "-m", PARTS[part]),
        ).strip()
        self._ports[part] = port

    def ready(self, part: str) -> bool:
        """As the health check asks: from within the container."""
        answer = podman(
            *("exec", self.names[part], "python", "-m", "shared.telemetry.probe", "/readyz", str(self._ports[part])),
            check=False,
        )
        return '"ok": true' in answer

    def wait_ready(self, seconds: float = 300) -> None:
        limit = time.monotonic() + seconds
        for part in self.names:
            while not self.ready(part):
                assert self.running(part), f"{part} ended: {self.log(part)}"
                assert time.monotonic() < limit, f"{part} is not ready: {self.log(part)}"
                time.sleep(0.5)

    def running(self, part: str) -> bool:
        return podman("inspect", "--format", "{{.State.Running}}", self.names[part]).strip() == "true"

    def log(self, part: str) -> str:
        return podman("logs", "--tail", "60", self.names[part], both=True)

    def peak_memory(self, part: str) -> int:
        """Bytes; the highest so far, where the kernel tells, else now."""
        files = ("memory.peak", "memory/memory.max_usage_in_bytes", "memory.current")
        read = " || ".join(f"cat /sys/fs/cgroup/{file} 2>/dev/null" for file in files)
        said = podman("exec", self.names[part], "sh", "-c", read, check=False).strip()
        return int(said) if said.isdigit() else 0

    def stop(self, part: str, within_s: float) -> int:
        """SIGTERM, and SIGKILL after the grace of the compose file; the exit code."""
        podman("stop", "--time", str(int(within_s)), self.names[part], timeout_s=within_s + 60)
        return int(podman("inspect", "--format", "{{.State.ExitCode}}", self.names[part]))

    def remove(self) -> None:
        for name in self.names.values():
            podman("rm", "--force", "--volumes", "--time", "1", name, check=False)


@pytest.fixture
def fleet(tmp_path: Path, fresh_kafka, s3: Objects) -> Iterator[Fleet]:
    assert s3.access_key
    assert s3.secret_key
    keys = s3.access_key.get_secret_value(), s3.secret_key.get_secret_value()
    with Fleet(tmp_path, fresh_kafka.bootstrap, s3.endpoint, *keys) as one:
        yield one


def test_the_five_services_parse_the_samples(image, fleet, capsys):
    (vl_port,) = free_ports(1)
    simulator = podman(
        *("run", "--detach", "--network=host", "--read-only", "--cap-drop=all", image("vl-simulator")),
        *("python", "-m", "tests.support.vl_server", "--port", str(vl_port), "--model", "glm-ocr"),
    ).strip()
    env = {**fleet.env, "DOCFLEET_VL__ENDPOINTS": json.dumps([f"http://127.0.0.1:{vl_port}/v1"])}
    containers = Containers(image, env)
    try:
        for part in GROUPS:
            containers.start(part)
        containers.wait_ready()
        for number, name in enumerate(SAMPLES):
            fleet.upload(ROOT / "samples" / name)
            fleet.submit(f"sample-{number}", name)
        records = fleet.parsed(len(SAMPLES), seconds=600, idle_s=5)
        assert {key: [record["status"] for record in found] for key, found in records.items()} == {
            f"sample-{number}": ["success"] for number in range(len(SAMPLES))
        }
        documents = [json.loads(fleet.read(found[0]["result"])) for found in records.values()]
        assert all(document["blocks"] for document in documents)
        methods = {block["method"] for document in documents for block in document["blocks"]}
        with capsys.disabled():
            print(f"\nmethods: {sorted(map(str, methods))}")
            for part in GROUPS:
                print(f"{part}: {containers.peak_memory(part) / 2**20:.0f} MiB at most")
        for part in GROUPS:
            grace = compose.seconds(compose.loaded()["services"][part]["stop_grace_period"])
            assert containers.stop(part, grace) == 0, f"{part}: {containers.log(part)}"
        assert fleet.records("docs.dlq", 0, seconds=5, idle_s=1) == []
    finally:
        containers.remove()
        podman("rm", "--force", "--time", "1", simulator, check=False)
