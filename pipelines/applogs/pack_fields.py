"""Fields of task packs, each checked as it is taken; what is wrong is named by its path."""

from typing import Any

from pipelines.applogs.json_text import JsonObject, dump
from pipelines.applogs.state_values import BLANK, FILL, family_of
from pipelines.commerce.reading import SourceError

_BLANKS = {BLANK, FILL, ""}
_OF_POINTS = ("point_role", "point_text", "source_field_path", "output_field_path", "target_path")


class Checked:
    """Takes fields out of the objects of one file. What cannot be taken is a `SourceError`."""

    def __init__(self, file: str) -> None:
        self.file = file

    def fail(self, path: str, what: str, remedy: str = "Give the pack as it was published") -> SourceError:
        """The error of a field: `path` and what is wrong with it."""
        return SourceError(self.file, None, f"{path} {what}", remedy)

    def object(self, holder: JsonObject, name: str, path: str) -> JsonObject:
        """The object of this name, empty when it is absent."""
        value = holder.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.fail(f"{path}.{name}", "is no object")
        return value

    def text(self, holder: JsonObject, name: str, path: str, *, needed: bool = False) -> str | None:
        """The text of this name; None when it is absent and not `needed`."""
        value = holder.get(name)
        if value is None and not needed:
            return None
        if not isinstance(value, str) or (needed and not value.strip()):
            raise self.fail(f"{path}.{name}", "is no text" if name in holder else "is absent")
        return value

    def blanks(self, holder: JsonObject, name: str, path: str) -> str | None:
        """A template's JSON; a leaf that is no blank would tell the answer."""
        if (shape := holder.get(name)) is None:
            return None
        if leaf := _filled(shape, f"{path}.{name}"):
            raise self.fail(leaf, "is a value where a template has a blank", f"Write {BLANK!r} or {FILL!r} there")
        return dump(shape)

    def ids(self, holder: JsonObject, name: str, path: str) -> list[str]:
        """The ids listed under this name, each once."""
        found = holder.get(name) or []
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise self.fail(f"{path}.{name}", "is no list of ids (texts)")
        return list(dict.fromkeys(one for one in found if one))

    def family(self, key: str, path: str) -> str:
        """Family of a state key."""
        try:
            return family_of(key)
        except ValueError as error:
            raise self.fail(path, f"cannot be read: {error}") from None

    def points(self, points: Any, path: str) -> list[JsonObject]:
        """A list of points, each with a name of its own."""
        if not isinstance(points, list) or not all(isinstance(point, dict) for point in points):
            raise self.fail(path, "is no list of objects")
        for n, point in enumerate(points):
            for name in _OF_POINTS:
                self.text(point, name, f"{path}[{n}]")
        names = [self.text(point, "point_id", f"{path}[{n}]", needed=True) for n, point in enumerate(points)]
        if len(set(names)) != len(names):
            raise self.fail(path, "names a point twice")
        return points


def _filled(shape: Any, path: str) -> str:
    if isinstance(shape, dict):
        return next(filter(None, (_filled(inner, f"{path}.{name}") for name, inner in shape.items())), "")
    if isinstance(shape, list):
        return next(filter(None, (_filled(inner, f"{path}[{n}]") for n, inner in enumerate(shape))), "")
    return "" if shape is None or shape in _BLANKS else path
