"""From a frozen release to a leaderboard: evaluate, report, methods, demo."""

import shlex
from typing import Annotated, Any

import typer

from trailbench.calling import HomeOption, JsonOption, errors, use_home
from trailbench.console import about, err, out, plain, print_frame, print_json, print_table, progress

ReleaseArgument = Annotated[str | None, typer.Argument(help="Release name; else the experiment's, else the newest.")]
ReaderOption = Annotated[
    list[str] | None, typer.Option("--reader", help="Reader instead of the experiment's own; may be repeated.")
]
ExperimentOption = Annotated[
    str | None,
    typer.Option(help="Built-in name or YAML file; else that of the release: `demo`, `baselines`, `applogs`."),
]


def evaluate(
    release: ReleaseArgument = None,
    experiment: ExperimentOption = None,
    home: HomeOption = None,
    reader: ReaderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment on a release and print its leaderboard."""
    use_home(home)
    with errors():
        from resources.home import open_home
        from trailbench.estimating import estimate_experiment
        from trailbench.evaluating import asked_for, asking_models, run_experiment
        from trailbench.running import dagster_instance

        opened = open_home(make=False)
        bound = asked_for(opened, experiment, release, reader)
        if asking_models(bound) and not as_json:
            _print_estimate(estimate_experiment(opened, bound))
        with dagster_instance(opened.folder) as instance, progress(as_json) as step:
            made = run_experiment(instance, opened, bound, step)
        _print_board(opened, bound, made, {}, as_json)
        if not as_json:
            _print_next(opened, bound)


def _print_next(home: Any, bound: Any) -> None:
    from trailbench.explaining import worth_explaining

    where = ["--home", str(home.folder)]
    unit = worth_explaining(home, bound)
    commands = [["explain", unit], ["ui"]] if unit else [["ui"]]
    for words in commands:
        out.print(plain(f"Next: trailbench {shlex.join([*words, *where])}"), soft_wrap=True)


def estimate(
    release: ReleaseArgument = None,
    experiment: ExperimentOption = None,
    home: HomeOption = None,
    reader: ReaderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what the model calls of an experiment take, before any is made: calls, tokens, cost, time."""
    use_home(home)
    with errors():
        from resources.home import open_home
        from trailbench.estimating import estimate_experiment
        from trailbench.evaluating import asked_for

        opened = open_home(make=False)
        bound = asked_for(opened, experiment, release, reader)
        rows = estimate_experiment(opened, bound)
        if as_json:
            print_json({"release": bound.release, "experiment": bound.experiment.name, "estimate": rows})
        else:
            _print_estimate(rows)


def _print_estimate(rows: list[dict[str, Any]]) -> None:
    if not any(row["calls"] for row in rows):
        out.print("This experiment asks no model.")
        return
    fields = ("role", "calls", "tokens_in", "tokens_out", "cost")
    # Each model stands over a table of its own: in a column, a long name would break in its middle.
    for model in dict.fromkeys(row["model"] for row in rows):
        shown = [[*(row[name] for name in fields), about(row["seconds"])] for row in rows if row["model"] == model]
        out.print(plain(f"Calls of {model} (most; cached ones are free)"), style="bold", soft_wrap=True)
        print_table("", ESTIMATE, shown)


ESTIMATE = ("role", "calls", "prompt tokens", "reply tokens", "USD", "time")


def report(
    release: ReleaseArgument = None,
    experiment: ExperimentOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the leaderboard and report of an evaluated experiment again, from its scored units."""
    use_home(home)
    with errors():
        from resources.home import open_home
        from resources.models.budget import Amount
        from trailbench.evaluating import JOBS, asked_for, release_track, require_evaluated
        from trailbench.running import dagster_instance, run_job

        opened = open_home(make=False)
        bound = asked_for(opened, experiment, release, None)
        require_evaluated(opened, bound, experiment)
        with dagster_instance(opened.folder) as instance, progress(as_json) as step:
            step("leaderboard and report")
            run_job(instance, JOBS[release_track(opened, bound.release_key)][-1], {"experiment": bound.key})
        _print_board(opened, bound, Amount(), {}, as_json)


METHODS = ("name", "kind", "tracks", "description")


def methods(as_json: JsonOption = False) -> None:
    """List what an experiment may compare on each track: memory methods, plug-ins too, baselines, interfaces."""
    from pipelines.applogs import contenders as applogs
    from pipelines.onchain import contenders as onchain
    from resources.plugin_process import all_methods

    listing = all_methods()
    rows: list[tuple[str, str, str, str]] = [
        (spec.name, spec.kind, "commerce, applogs", spec.description) for spec in listing.methods.values()
    ]
    rows.append(("oracle", "scoring side", "commerce", "chooses the positives from the gold; no method can import it"))
    for track, there in (("onchain", onchain), ("applogs", applogs)):
        kinds = {name: "baseline" if name in there.BASELINES else "raw history" for name in there.DESCRIPTIONS}
        rows += [(name, kind, track, there.DESCRIPTIONS[name]) for name, kind in kinds.items()]
    if as_json:
        listed = [dict(zip(METHODS, row, strict=True)) for row in rows]
        print_json({"methods": listed, "broken": listing.broken})
        return
    print_table("Methods", METHODS, rows)
    for name, why in listing.broken.items():
        err.print(plain(f"broken plug-in {name}: {why}"), style="yellow")


def demo(
    home: HomeOption = None,
    reader: ReaderOption = None,
    full: Annotated[bool, typer.Option("--full", help="Evaluate all users instead of the stated sample.")] = False,
    model: Annotated[
        bool, typer.Option("--model/--no-model", help="Also run a small slice through a language model.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Build and evaluate the whole Complete Journey log that ships with the demo package."""
    use_home(home)
    with errors():
        from pipelines.commerce.settings import CommerceSettings
        from pipelines.commerce.sources.complete_journey import packaged_files
        from resources.home import open_home
        from trailbench.building import build_release, register_files
        from trailbench.evaluating import bind_to_release, experiment_named, run_experiment, summary
        from trailbench.running import dagster_instance

        opened = open_home()
        update: dict[str, Any] = {"users": "all"} if full else {}
        update |= {"readers": reader} if reader else {}
        chosen = experiment_named("demo").model_copy(update=update)
        facts: dict[str, Any] = {"home": str(opened.folder)}
        with dagster_instance(opened.folder) as instance:
            with progress(as_json) as step:
                step("hashing the packaged log")
                drop = register_files(opened, "complete_journey", packaged_files())
                step.expect(1 + 2 * len(opened.shards) + 2)
                spec, _ = build_release(instance, opened, [drop], CommerceSettings(), step)
            if not as_json:
                print_frame("Funnel", opened.store.scan("funnel", {"release": spec.key}).drop("place").collect())
            bound = bind_to_release(opened, chosen, spec.key)
            with progress(as_json) as step:
                made = run_experiment(instance, opened, bound, step)
            if not as_json:
                _print_board(opened, bound, made, {}, as_json)
            if model:
                slice_of_it = bind_to_release(opened, experiment_named("demo_llm"), spec.key)
                asked = _run_slice(instance, opened, slice_of_it, as_json)
                facts |= {"llm": summary(opened, slice_of_it, asked)} if as_json else {}
        if as_json:
            _print_board(opened, bound, made, facts, as_json)
        else:
            out.print(plain(f"home: {opened.folder}"), soft_wrap=True)
            out.print(
                "Open the reports in a browser, or see the DAG, its checks and lineage with: make ui", soft_wrap=True
            )


def _run_slice(instance: Any, home: Any, bound: Any, as_json: bool) -> Any:
    """A small part of the log through the language model: what it will take, then its board."""
    from trailbench.estimating import estimate_experiment
    from trailbench.evaluating import run_experiment

    if not as_json:
        of = bound.experiment
        out.print(
            f"Now a slice of {of.users} users × {of.batches} batches, {of.readings} pools a method, goes through a "
            "language model: the embedded one, which is weak and takes a few minutes, unless TRAILBENCH_MODEL_BASE_URL "
            "and TRAILBENCH_MODEL_NAME name another. It shows that the path works; so few pools rank nothing.",
            soft_wrap=True,
        )
        _print_estimate(estimate_experiment(home, bound))
    with progress(as_json) as step:
        made = run_experiment(instance, home, bound, step)
    if not as_json:
        _print_board(home, bound, made, {}, as_json)
    return made


def _print_board(home: Any, bound: Any, made: Any, more: dict[str, Any], as_json: bool) -> None:
    from trailbench import predicting, questioning
    from trailbench.evaluating import release_track, summary
    from trailbench.judging import print_judged, print_marked

    track = release_track(home, bound.release_key)
    if track == "commerce":
        facts = {**summary(home, bound, made), **more}
    else:
        facts = {**{"onchain": predicting, "applogs": questioning}[track].summary(bound, made), **more}
    if as_json:
        print_json(facts)
        return
    if track == "onchain":
        predicting.print_boards(bound)
    elif track == "applogs":
        questioning.print_boards(bound)
        print_marked(facts.get("judged", []))
    else:
        _print_pools(home, bound)
        print_judged(facts.get("judged", []))
    paths = ("report", "leaderboard", "home")
    told = [(name, _said(facts[name])) for name in facts if name not in (*paths, "rows", "judged")]
    print_table("Evaluation", ["what", "value"], told)
    for name in paths:
        if name in facts:
            # Not in a table, which would break a path that somebody wants to copy.
            out.print(plain(f"{name}: {facts[name]}"), soft_wrap=True)


def _print_pools(home: Any, bound: Any) -> None:
    from trailbench.evaluating import board_of

    board = board_of(home, bound)
    for (reader, budget, pool), rows in board.group_by("reader", "budget", "pool", maintain_order=True):
        title = f"Leaderboard, {pool} pool · reader {reader}, {budget:,} tokens"
        notes = list(dict.fromkeys(flag for flag in rows["flags"] if flag))
        print_table(title, BOARD, [_shown(row, notes) for row in rows.to_dicts()])
        for number, note in enumerate(notes, start=1):
            out.print(plain(f"  [{number}] {note}"))
    out.print("\nrecall: chosen positives / positives, with its 95 % interval; chance: that of a blind reader\n")


BOARD = ("method", "recall", "chance", "exposure", "tokens", "flags")


def _shown(row: dict[str, Any], notes: list[str]) -> list[object]:
    """A row of the leaderboard, narrow enough for 80 columns; the file has all columns, and flags in full."""
    recall = "" if row["recall"] is None else f"{row['recall']:.3f}"
    if row["recall_low"] is not None:
        recall += f" ({row['recall_low']:.3f}–{row['recall_high']:.3f})"
    tokens = None if row["tokens"] is None else round(row["tokens"])
    flag = f"[{notes.index(row['flags']) + 1}]" if row["flags"] else ""
    return [row["method"], recall, row["chance"], row["exposure"], tokens, flag]


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count:,}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


COMMANDS = (evaluate, estimate, report, methods, demo)
