"""`./dev kafka`: start Apache Kafka and the S3 server, print how to reach them, run until Ctrl-C.

With `--topics`, the topics of topics.yaml are created too. The printed lines can be put into a shell as they are; KAFKA_BOOTSTRAP
and S3_ENDPOINT point the tests at these servers, the DOCFLEET_ ones the services.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from tests.support.kafka import KafkaServer
from tests.support.processes import Missing
from tests.support.s3 import S3Server


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev kafka", description=__doc__)
    parser.add_argument("--topics", action="store_true", help="create the topics of topics.yaml")
    arguments = parser.parse_args()
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    try:
        with S3Server() as s3, KafkaServer() as kafka:
            if arguments.topics:
                _create_topics(kafka)
            print(f"export KAFKA_BOOTSTRAP={kafka.bootstrap}")
            print(f"export S3_ENDPOINT={s3.endpoint}")
            print(f"export AWS_ACCESS_KEY_ID={s3.access_key}")
            print(f"export AWS_SECRET_ACCESS_KEY={s3.secret_key}")
            print(f"export DOCFLEET_KAFKA__BOOTSTRAP_SERVERS={kafka.bootstrap}")
            print(f"export DOCFLEET_OBJECTS__ENDPOINT={s3.endpoint}")
            print(f"export DOCFLEET_OBJECTS__ACCESS_KEY={s3.access_key}")
            print(f"export DOCFLEET_OBJECTS__SECRET_KEY={s3.secret_key}", flush=True)
            print("# Ctrl-C ends both and removes what they hold", file=sys.stderr, flush=True)
            asked.wait()
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    return 0


def _create_topics(kafka: KafkaServer) -> None:
    from shared.settings import Settings
    from shared.streams import topics

    settings = Settings(kafka={"bootstrap_servers": kafka.bootstrap})  # type: ignore[arg-type]
    topics.apply(settings, topics.plan(settings))


if __name__ == "__main__":
    sys.exit(main())
