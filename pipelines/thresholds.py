"""How a threshold is declared and listed: default, bounds, meaning, unit, and where it comes from."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from pydantic.fields import FieldInfo

from pipelines.yaml_text import place_of


def setting(default: Any, meaning: str, *, unit: str, origin: str, **bounds: Any) -> Any:
    """A field of a settings model with its unit and origin (`paper §…` | `ours`).

    A number is a number: `true` is not 1, nor is "1".
    """
    if type(default) in (bool, int, float):
        bounds["strict"] = True
    return Field(default=default, description=meaning, json_schema_extra={"unit": unit, "origin": origin}, **bounds)


def settings_table(model: type[BaseModel]) -> list[dict[str, str]]:
    """Rows (name, default, unit, origin, meaning) of a settings model, for cards and documentation."""
    return [{"name": name, **_row(field)} for name, field in model.model_fields.items()]


def settings_stated(settings: BaseModel) -> list[dict[str, str]]:
    """The rows of `settings_table` with the `value` that each has in these settings."""
    values = settings.model_dump(mode="json")
    return [{**row, "value": _written(values[row["name"]])} for row in settings_table(type(settings))]


def wrong_values(error: ValidationError, model: type[BaseModel], file: Path) -> str:
    """What is wrong with values of a YAML file that were to be settings of `model`, and which settings there are.

    Every fault has its line; values may stand under `settings`.
    """
    text = file.read_text(encoding="utf-8-sig")

    def told(item: Any) -> str:
        path = item["loc"]
        at, steps = place_of(text, str(file), ("settings", *path))
        if len(steps) <= len(path):
            at, _ = place_of(text, str(file), path)
        return ": ".join(filter(None, [at, ".".join(map(str, path)), item["msg"]]))

    return f"{'; '.join(map(told, error.errors()))}; settings are {', '.join(model.model_fields)}"


def _row(field: FieldInfo) -> dict[str, str]:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    default = "required" if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
    return {
        "default": _written(default),
        "unit": str(extra.get("unit", "")),
        "origin": str(extra.get("origin", "")),
        "meaning": field.description or "",
    }


def _written(value: object) -> str:
    """A value as a configuration file has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(_written, value))}]" if isinstance(value, tuple | list) else str(value)
