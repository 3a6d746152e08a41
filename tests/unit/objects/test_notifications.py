"""A bucket has one notification configuration: ours is added to what others wrote."""

from __future__ import annotations

import pytest
from minio.notificationconfig import NotificationConfig, QueueConfig, SuffixFilterRule, TopicConfig

from shared.objects.notifications import CREATED, with_queue

pytestmark = pytest.mark.unit
OURS = "arn:minio:sqs::DOCFLEET:kafka"


def test_the_first_entry():
    wanted = with_queue(NotificationConfig(), OURS)
    assert wanted is not None
    assert [(entry.queue, entry.events) for entry in wanted.queue_config_list] == [(OURS, [CREATED])]


def test_a_second_time_there_is_nothing_to_do():
    once = with_queue(NotificationConfig(), OURS)
    assert once is not None
    assert with_queue(once, OURS) is None


def test_what_others_configured_stays():
    theirs = QueueConfig(queue="arn:minio:sqs::AUDIT:webhook", events=["s3:ObjectRemoved:*"])
    mail = TopicConfig(topic="arn:minio:sns::MAIL:smtp", events=[CREATED])
    wanted = with_queue(NotificationConfig(queue_config_list=[theirs], topic_config_list=[mail]), OURS)
    assert wanted is not None
    assert wanted.queue_config_list[0] is theirs
    assert wanted.topic_config_list == [mail]
    assert wanted.queue_config_list[1].queue == OURS


def test_an_entry_for_some_names_only_does_not_do():
    some = QueueConfig(queue=OURS, events=[CREATED], suffix_filter_rule=SuffixFilterRule(".pdf"))
    wanted = with_queue(NotificationConfig(queue_config_list=[some]), OURS)
    assert wanted is not None
    assert len(wanted.queue_config_list) == 2
