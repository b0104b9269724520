"""Whether what is there can be trusted: verify, audit, doctor."""

from typing import Annotated

import typer

from trailbench.calling import FAILED, HomeOption, JsonOption, errors, refuse, use_home
from trailbench.console import err, out, plain, print_json, print_table, progress


def verify(
    release: Annotated[str | None, typer.Argument(help="Release name; else the only one that there is.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Recompute a frozen release: every file, every hash, every row from the events. Exit 1 if anything differs."""
    use_home(home)
    with errors():
        from resources.home import open_home
        from trailbench.exporting import only_release
        from trailbench.proving import verify_release

        opened = open_home(make=False)
        release = release or only_release(opened)
        with progress(as_json) as step:
            problems = verify_release(opened, release, step)
        if as_json:
            print_json({"release": release, "verified": not problems, "problems": problems})
        elif not problems:
            out.print(plain(f"release {release} is what its manifest says"), style="green")
        for problem in [] if as_json else problems:
            err.print(plain(problem), style="red", soft_wrap=True)
        if problems:
            raise typer.Exit(FAILED)


def audit(
    release: Annotated[str | None, typer.Argument(help="Release name; else the only one that there is.")] = None,
    home: HomeOption = None,
    users: Annotated[int, typer.Option(min=1, help="Users whose future is replaced.")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Run the leak checks on a release and on every installed method. Exit 1 if anything leaks."""
    use_home(home)
    with errors():
        from resources.home import open_home
        from trailbench.exporting import only_release
        from trailbench.proving import audit_release

        opened = open_home(make=False)
        release = release or only_release(opened)
        with progress(as_json) as step:
            checks = audit_release(opened, release, users, step)
        passed = all(check["passed"] for check in checks)
        if as_json:
            print_json({"release": release, "passed": passed, "checks": checks})
        else:
            rows = [(check["check"], "passed" if check["passed"] else "FAILED", check["meaning"]) for check in checks]
            print_table(f"Audit of {release}", ["check", "outcome", "what is proven"], rows)
            for check in checks:
                for found in check["found"]:
                    err.print(plain(f"{check['check']}: {found}"), style="red", soft_wrap=True)
        if not passed:
            raise typer.Exit(FAILED)


def doctor(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Look at the environment: versions, packages that the demo needs, ports, keys present or not, the home folder."""
    use_home(home)
    with errors():
        from trailbench.examining import examine

        findings = examine()
        passed = all(finding["ok"] or finding["optional"] for finding in findings)
        if as_json:
            print_json({"ok": passed, "findings": findings})
        else:
            rows = [
                (one["what"], "ok" if one["ok"] else ("optional" if one["optional"] else "MISSING"), one["says"])
                for one in findings
            ]
            print_table("Doctor", ["what", "state", "says"], rows)
        if not passed:
            raise typer.Exit(FAILED)


def settings(
    track: Annotated[str, typer.Option(help="Track of the release.")] = "commerce",
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Settings of all tracks, methods and services, as docs/thresholds.md.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List every threshold of a release with its default, unit and origin."""
    if markdown:
        from trailbench.thresholds_page import page

        typer.echo(page(), nl=False)
        return
    from pipelines.thresholds import settings_table
    from pipelines.tracks import TRACKS

    if track not in TRACKS:
        refuse(f"no track {track!r}; tracks are {', '.join(TRACKS)}")
    rows = settings_table(TRACKS[track].settings)
    if as_json:
        print_json({"settings": rows})
    else:
        shown = [
            (row["name"], f"{row['default']} {row['unit']}".strip(), f"{row['meaning']} [{row['origin']}]")
            for row in rows
        ]
        print_table("Settings", ["name", "default", "meaning [origin]"], shown)


COMMANDS = (verify, audit, doctor, settings)
