"""Mappings: what is accepted, and how a wrong one is told."""

import pytest
import yaml

from pipelines.commerce.mapping import Mapping, MappingError, load_mapping
from pipelines.commerce.sources import SOURCES, source

SHOP = {
    "name": "shop",
    "format": "csv",
    "columns": {"user": "customer", "item": "sku", "action": "what", "l1": "department", "l2": "group"},
    "time": {"column": "at", "patterns": "%d.%m.%Y %H:%M:%S", "zone": "Europe/Berlin"},
    "actions": {"seen": "browse", "bought": "purchase"},
}


def write(tmp_path, value):
    path = tmp_path / "shop.yaml"
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return path


def test_a_yaml_file_is_the_same_model(tmp_path):
    mapping = load_mapping(write(tmp_path, SHOP))
    assert mapping == Mapping.model_validate(SHOP)
    assert mapping.columns.user == ("customer",)
    assert (mapping.has_l1, mapping.has_l2, mapping.separator) == (True, True, ",")


@pytest.mark.parametrize("name", list(SOURCES))
def test_built_in_sources_survive_yaml(tmp_path, name):
    value = yaml.safe_load(yaml.safe_dump(SOURCES[name].model_dump(mode="json")))
    assert Mapping.model_validate(value) == SOURCES[name]


def changed(**values):
    return {**SHOP, **values}


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (changed(colour="red"), "colour"),
        (changed(columns={"item": "sku"}), "columns.user"),
        (changed(time={"column": "at", "patterns": "%Y-%m-%d %H:%M"}), "declare the zone"),
        (changed(time={"column": "at", "patterns": "%Y", "zone": "Mars/Base"}), "Mars/Base"),
        (changed(time={"column": "at", "unit": "s", "zone": "UTC"}), "zone"),
        (changed(time={"column": "at"}), "unit, patterns"),
        (changed(time={"unit": "s"}), "column"),
        (changed(time={"column": "at", "unit": "h"}), "time.unit"),
        (changed(time={"column": "at", "unit": "s", "window": ["2020-01-01", "2021-01-01"]}), "window"),
        (changed(actions={"seen": "looked"}), "actions.seen"),
        (changed(action="purchase"), "action, actions"),
        (changed(encoding="utf-99"), "utf-99"),
        (changed(delimiter="||"), "delimiter"),
        (changed(format="xlsx"), "format"),
        (changed(nested="events"), "nested"),
        (changed(positional=["customer", "sku", "what"]), "positional"),
        (changed(cancel_prefix="C"), "cancel_prefix"),
        (changed(nonpositive_quantity="reject"), "nonpositive_quantity"),
        (changed(columns={**SHOP["columns"], "dotted": "path"}), "dotted"),
    ],
)
def test_a_wrong_mapping_names_file_and_field(tmp_path, value, field):
    with pytest.raises(MappingError, match=r"shop\.yaml") as error:
        load_mapping(write(tmp_path, value))
    assert field in str(error.value)


def test_text_that_is_no_yaml_names_the_line(tmp_path):
    with pytest.raises(MappingError, match=r"shop\.yaml, line 3: not YAML"):
        load_mapping(write(tmp_path, "name: shop\nformat: [csv\n: :"))
    with pytest.raises(MappingError, match="YAML object"):
        load_mapping(write(tmp_path, "- a\n- b\n"))


def test_a_wrong_field_has_its_line_also_under_a_name(tmp_path):
    text = "seed: 1\nmapping:\n  name: shop\n  formt: csv\n  columns:\n    usr: a\n"
    with pytest.raises(MappingError) as error:
        load_mapping(write(tmp_path, text), "mapping")
    said = str(error.value)
    assert "shop.yaml, line 4: formt: is no field of a mapping here; did you mean format?" in said
    assert "shop.yaml, line 6: columns.usr: is no field of a mapping here; did you mean user?" in said
    assert "shop.yaml, line 3: format: Field required" in said


def test_an_unknown_source_lists_those_there_are():
    assert list(SOURCES) == [
        "complete_journey", "rees46", "taobao", "amazon_reviews",
        "otto", "tianchi_mobile", "instacart", "uci_online_retail",
    ]  # fmt: skip
    assert source("otto") is SOURCES["otto"]
    with pytest.raises(KeyError, match=r"complete_journey.*mapping"):
        source("retailrocket")
