"""Which of a bucket's events a store sends to which queue: the S3 notification configuration, as far as docfleet writes it."""

from __future__ import annotations

from minio.notificationconfig import NotificationConfig, QueueConfig

CREATED = "s3:ObjectCreated:*"
"""Put, copy and the end of a multipart upload."""


def with_queue(found: NotificationConfig, queue: str) -> NotificationConfig | None:
    """`found` and an entry that tells `queue` (an ARN) of every new object; None where there is one without a filter already.

    What others configured stays as it is: a bucket has one configuration, and writing it replaces the whole.
    """
    for entry in found.queue_config_list:
        plain = entry.prefix_filter_rule is None and entry.suffix_filter_rule is None
        if entry.queue == queue and plain and CREATED in entry.events:
            return None
    added = QueueConfig(queue=queue, events=[CREATED])
    return NotificationConfig(
        cloud_func_config_list=found.cloud_func_config_list,
        queue_config_list=[*found.queue_config_list, added],
        topic_config_list=found.topic_config_list,
    )
