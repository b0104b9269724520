"""Arms of experiments on app logs, samples of questions, and what is refused."""

from typing import Any

import polars as pl
import pytest
from applog_lives import asked as make_questions
from applog_lives import checkpoints, logs

from pipelines.applogs.contenders import BASELINES, invalid_pair, remembers
from pipelines.applogs.experiment import ASKED, DEFAULT, arms, asked, memories, refuse, slice_of
from pipelines.evaluation.experiment import BadExperiment, Experiment
from pipelines.evaluation.experiment_file import parse
from pipelines.memory.registry import builtin_methods

LOGS = logs()
PLACES = checkpoints(LOGS)
TASKS = make_questions(LOGS, PLACES).questions
METHODS = builtin_methods()


def experiment(**more: Any) -> Experiment:
    given = {"methods": {"recent_k": [{}], "rag_top20": [{}], "routine": [{}]}, "readers": ["extractive", "llm:m"]}
    return Experiment(**{"name": "e", "budgets": [100, 200], **given, **more})


def told(one: Experiment, release: str = "r", readers: Any = (), methods: Any = ()) -> dict[str, Any]:
    made = arms(one, release, {label: label for label, *_ in memories(one)} | dict(methods), dict(readers))
    assert len({arm.key for arm in made}) == len(made)
    return {arm.key: arm for arm in made}


def test_memories_have_budgets_peers_none_and_baselines_always_stand() -> None:
    cells = [(arm.method, arm.reader, arm.budget) for arm in told(experiment()).values()]
    assert cells == [
        *((name, "rule", 0) for name in BASELINES),
        *(("recent_k", reader, n) for reader in ("extractive", "llm:m") for n in (100, 200)),
        *(("rag_top20", reader, 0) for reader in ("extractive", "llm:m")),
    ]


def test_the_default_needs_no_model_and_has_every_method_that_needs_none() -> None:
    refuse(DEFAULT, METHODS)
    refuse(ASKED, METHODS)
    made = told(DEFAULT)
    without = {name for name, spec in METHODS.items() if not spec.needs - {"embedder"}}
    assert {arm.method for arm in made.values()} == {*without, "behaviormem", "rag_top20", "oracle", *BASELINES}
    # Without claims it asks no model.
    assert [arm.config for arm in made.values() if arm.method == "behaviormem"] == [{"implicit": False}]
    assert {arm.reader for arm in made.values()} == {"rule", "extractive"}
    assert all(not invalid_pair(arm.method, arm.reader) for arm in made.values())
    assert all((arm.budget > 0) == remembers(arm.method) for arm in made.values())


def test_arms_share_what_they_have_in_common_and_nothing_else() -> None:
    base = told(experiment())
    one, other = base["e~recent_k~extractive~100"], base["e~recent_k~extractive~200"]
    assert one.memory == other.memory and one.readout != other.readout and one.fingerprint != other.fingerprint
    key = "e~recent_k~extractive~100"
    changed = {
        "release": told(experiment(), release="s"),
        "method": told(experiment(), methods={"recent_k": "other"}),
        "checkpoints": told(experiment(batches=2)),
        "seed": told(experiment(seed=1)),
        "batch_days": told(experiment(batch_days=2)),
    }
    assert all(arms_[key].memory != one.memory for arms_ in changed.values())
    sampled, reader = told(experiment(readings=5))[key], told(experiment(), readers={"extractive": "2"})[key]
    assert sampled.memory == one.memory and sampled.readout != one.readout
    assert reader.readout == one.readout and reader.fingerprint != one.fingerprint
    assert told(experiment(users=1))[key] == one, "a larger sample of users changes nothing of one of them"


def test_samples_of_users_and_questions_are_nested_and_batches_are_checkpoints() -> None:
    def drawn(**more: Any) -> tuple[tuple[str, ...], pl.DataFrame]:
        part = slice_of(TASKS.lazy(), PLACES.lazy(), experiment(**more))
        return part.users, asked(TASKS, PLACES, part, part.users)

    assert drawn()[1].equals(TASKS) and drawn()[0] == ("u1", "u2", "u3")
    users = [set(drawn(users=n)[0]) for n in (1, 2, 3)]
    assert users[0] < users[1] < users[2]
    few, more = (set(drawn(readings=n)[1]["item"]) for n in (7, 20))
    assert (len(few), len(more)) == (7, 20) and few < more
    assert few != set(drawn(readings=7, seed=3)[1]["item"])
    for n in (1, 2):
        assert set(drawn(batches=n)[1]["checkpoint_id"]) == {f"c{k + 1}" for k in range(n)}
    shuffled = TASKS.sample(fraction=1, shuffle=True, seed=1)
    mixed = slice_of(shuffled.lazy(), PLACES.reverse().lazy(), experiment(readings=7))
    assert set(asked(TASKS, PLACES, mixed, mixed.users)["item"]) == few
    whole = slice_of(TASKS.lazy(), PLACES.lazy(), experiment())
    assert asked(TASKS, PLACES, whole, ["u2"]).equals(TASKS.filter(user_id="u2"))


def test_questions_of_named_tasks_alone_are_asked() -> None:
    named = ["free_form", "no_key"]
    wanted = TASKS.filter(pl.col("task").cast(pl.String).is_in(named))
    assert 0 < wanted.height < TASKS.height
    part = slice_of(TASKS.lazy(), PLACES.lazy(), experiment(tasks=named))
    assert asked(TASKS, PLACES, part, part.users).equals(wanted)
    few = slice_of(TASKS.lazy(), PLACES.lazy(), experiment(tasks=named, readings=3))
    assert set(asked(TASKS, PLACES, few, few.users)["item"]) <= set(wanted["item"])
    key = "e~recent_k~extractive~100"
    one, other = told(experiment())[key], told(experiment(tasks=named))[key]
    assert one.memory == other.memory and one.readout != other.readout


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"methods": {"recal": [{}]}}, "no method recal on a release of app logs; there are behaviormem, "),
        ({"readers": ["embedding"]}, "no reader embedding on a release of app logs; there are extractive, llm, rule"),
        ({"tasks": ["recall"]}, "no task recall on a release of app logs; there are free_form, no_key, "),
        ({"readers": ["extractive:m"]}, "names a model and asks none; write extractive"),
        ({"methods": {"oracle": [{"k": 3}]}}, "oracle takes no configuration"),
        ({"readers": ["rule"]}, "no reader answers method recent_k: list extractive or llm"),
    ],
)
def test_what_a_release_of_app_logs_does_not_know_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BadExperiment, match=says):
        refuse(experiment(**change), METHODS)


def test_files_are_read_as_on_the_other_tracks() -> None:
    one = parse(
        "name: mine\nmethods:\n  rag_bm25: [{}, {k: 5}]\n  oracle: [{}]\nreaders: [llm]\nreadings: 9\n", "f.yaml"
    )
    refuse(one, METHODS)
    assert [label for label, *_ in memories(one)] == ["rag_bm25", "rag_bm25-k5"]
    with pytest.raises(BadExperiment, match=r"f.yaml, line 2: methods"):
        parse("name: mine\nmethods: 3\n", "f.yaml")
