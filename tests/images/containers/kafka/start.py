"""Start Apache Kafka from its variables, as the image apache/kafka does: KAFKA_NODE_ID is node.id, and so on."""

import os
import subprocess

NO_PROPERTIES = {"KAFKA_HEAP_OPTS"}
FILE = "/tmp/server.properties"

named = {name: value for name, value in os.environ.items() if name.startswith("KAFKA_") and name not in NO_PROPERTIES}
with open(FILE, "w") as file:
    for name, value in named.items():
        file.write(f"{name.removeprefix('KAFKA_').lower().replace('_', '.')}={value}\n")
java = ["java", *os.environ.get("KAFKA_HEAP_OPTS", "").split(), "-cp", "/opt/kafka/libs/*"]
storage = ["kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", os.environ["CLUSTER_ID"], "-c", FILE]
subprocess.run([*java, *storage], check=True)
os.execvp("java", [*java, "kafka.Kafka", FILE])
