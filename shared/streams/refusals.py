"""What the broker refuses for want of a right: who was refused what, and what to do, in one typed error."""

from __future__ import annotations

from confluent_kafka import KafkaError

from shared.contracts.errors import Unavailable
from shared.settings import Kafka
from shared.streams.security import principal

_RESOURCE = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "cluster",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "producer",
}
_IDENTITY = {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED}


class NotAuthorized(Unavailable):
    """The broker does not let this service do something. Never an outcome of a document: nothing is dead-lettered for it."""

    def __init__(self, message: str) -> None:
        super().__init__("broker", message)


def refused(kafka: Kafka, error: KafkaError, doing: str, name: str = "") -> NotAuthorized | None:
    """The refusal that an error of the client stands for; none where it stands for something else.

    `doing` is a verb (`read`, `write to`, `join`), `name` the topic or group, where it is known.
    """
    if error.code() in _IDENTITY:
        return NotAuthorized(
            f"the broker {kafka.bootstrap_servers} does not take {principal(kafka)} for who it says it is ({error.str()}); "
            "look at kafka.security_protocol, kafka.sasl_* and kafka.ssl_*"
        )
    resource = _RESOURCE.get(error.code())
    if resource is None:
        return None
    what = f"{resource} {name}" if name else f"a {resource}"
    return NotAuthorized(
        f"{principal(kafka)} may not {doing} {what}: the broker refuses it ({error.str()}); "
        "`docfleet topics acls` prints the rights of every service, and with --apply gives them"
    )


def unavailable(kafka: Kafka, error: KafkaError, doing: str, name: str = "") -> Unavailable:
    """The same, or what is told of any other trouble with the broker."""
    return refused(kafka, error, doing, name) or Unavailable("broker", f"{kafka.bootstrap_servers}: {error.str()}")
