from __future__ import annotations

from typing import Any

import pytest
from kind_writer import create, created, row, template, update

from watchkeeper.apis.batch.cron_schedule import ScheduleError, check_schedule


def cron_job(name: str = "c", **spec: Any) -> Any:
    job = {"spec": {"template": template(restartPolicy="OnFailure")}}
    given = {"schedule": "*/5 * * * *", "jobTemplate": job, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": given}


@pytest.mark.parametrize(
    "text",
    ["* * * * *", "*/5 1-3,4 ? jan MON-fri", "@hourly", "@every 1h30m", "@every 1.5s", "0 0 1 1 0", "TZ=UTC 0 0 * * *"],
)
def test_good_schedules(text: str) -> None:
    check_schedule(text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("every day", "expected exactly 5 fields, found 2: [every day]"),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("@fortnightly", "unrecognized descriptor: @fortnightly"),
        ("@every 5x", 'failed to parse duration @every 5x: time: unknown unit "x" in duration "5x"'),
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
        ("TZ=Moon/Base 0 0 * * *", "provided bad location Moon/Base: unknown time zone Moon/Base"),
        ("CRON_TZ=../x 0 0 * * *", "provided bad location ../x: time: invalid location name"),
        ("TZ=/etc/x 0 0 * * *", "provided bad location /etc/x: time: invalid location name"),
    ],
)
def test_wrong_schedules_are_told_what_is_wrong(text: str, wrong: str) -> None:
    with pytest.raises(ScheduleError) as error:
        check_schedule(text)
    assert str(error.value) == wrong


def test_defaults() -> None:
    spec = created(cron_job())["spec"]
    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Allow", False)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    assert set(spec["jobTemplate"]["spec"]) == {"template"}
    assert spec["jobTemplate"]["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"schedule": ""}, ["spec.schedule: Required value"]),
        (
            {"schedule": "CRON_TZ=UTC 0 0 * * *"},
            [
                'spec.schedule: Invalid value: "CRON_TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in '
                "schedule, use timeZone "
                "field instead"
            ],
        ),
        ({"timeZone": "Europe/Berlin"}, []),
        ({"timeZone": "Moon/Base"}, ['spec.timeZone: Invalid value: "Moon/Base": unknown time zone Moon/Base']),
        (
            {"timeZone": "local"},
            [
                'spec.timeZone: Invalid value: "local": timeZone must be an explicit time zone as defined in '
                "https://www.iana.org/time-zones",
                'spec.timeZone: Invalid value: "local": unknown time zone local',
            ],
        ),
        (
            {"concurrencyPolicy": "Queue", "startingDeadlineSeconds": -1},
            [
                "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
                'spec.concurrencyPolicy: Unsupported value: "Queue": supported values: "Allow", "Forbid", "Replace"',
            ],
        ),
        (
            {"jobTemplate": {"spec": {"template": template(restartPolicy="Never"), "manualSelector": True}}},
            ['spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"'],
        ),
    ],
)
def test_what_a_cron_job_may_not_be(spec: Any, errors: list[str]) -> None:
    assert create(cron_job(**spec)).errors == errors


def test_names_leave_room_for_the_time() -> None:
    [error] = create(cron_job("c" * 53)).errors
    assert error.endswith("must be no more than 52 characters")


def test_schedules_with_time_zones_may_stay() -> None:
    old = created(cron_job())
    old["spec"]["schedule"] = "TZ=UTC 0 0 * * *"
    written = update(old, cron_job(schedule="TZ=UTC 1 0 * * *"))
    assert written.errors == []
    assert written.warnings == [
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
    ]
    assert written.obj["metadata"]["generation"] == 2


def test_the_table() -> None:
    cells = row(created(cron_job(timeZone="UTC", suspend=True)))
    assert [cells[n] for n in ("Schedule", "Timezone", "Suspend", "Active", "Last Schedule", "Selector")] == [
        "*/5 * * * *",
        "UTC",
        "True",
        0,
        "<none>",
        "<none>",
    ]


def test_a_selector_that_is_refused_shows_its_labels_and_keys_first() -> None:
    expression = {"values": ["b"], "operator": "In", "key": "x"}
    job = {"spec": {"template": template(restartPolicy="Never"), "selector": {"matchExpressions": [expression]}}}
    job["spec"]["selector"]["matchLabels"] = {"a": "b"}
    assert create(cron_job(jobTemplate=job)).errors[-1] == (
        'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"},'
        '"matchExpressions":[{"key":"x","operator":"In","values":["b"]}]}: `selector` will be auto-generated'
    )
