import dagster as dg

from assets.definitions import defs


def test_the_code_server_can_load_the_definitions():
    # Stricter than importing them: names of jobs and assets must differ, every resource must be there.
    dg.Definitions.validate_loadable(defs)


def test_every_asset_says_what_it_is_and_stands_in_a_group():
    for spec in defs.resolve_all_asset_specs():
        assert spec.description and "\n" not in spec.description.strip(), spec.key
        assert spec.group_name in ("commerce", "onchain", "applogs", "evaluation"), spec.key
        assert spec.kinds and list(spec.owners) == ["team:trailbench"], spec.key


def test_every_check_is_partitioned_like_its_asset():
    partitions = {spec.key: spec.partitions_def for spec in defs.resolve_all_asset_specs()}
    checks = [spec for asset in defs.assets or [] for spec in getattr(asset, "check_specs", [])]
    assert checks
    for check in checks:
        assert check.description and check.partitions_def == partitions[check.asset_key], check.key
