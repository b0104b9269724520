"""What a log looks like, declared: the model behind every source, built in or written by a user.

A mapping says how a file is laid out, which columns mean what, how times are to be
read and what becomes of odd rows. It never computes; `events.py` does.
"""

from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from pipelines.commerce.tables import ACTIONS
from pipelines.yaml_text import BadYaml, place_of, read_yaml_file

Format = Literal["csv", "tsv", "jsonl", "parquet"]
Action = Literal["click", "browse", "favourite", "cart", "purchase", "cancel", "refund"]
assert Action.__args__ == ACTIONS  # type: ignore[attr-defined]
Resolution = Literal["second", "minute", "hour", "day"]


def _tuple(value: Any) -> Any:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_tuple)]
"""One column name, or alternatives of which the first that holds a value in the row is taken.

In JSON a name may be a path: `product.brand`, `categories[1]`.
"""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MappingError(ValueError):
    """A mapping file that cannot be used; the message names the file and the field."""


class Columns(_Model):
    """Which columns of the log hold what; all but user and item may be absent."""

    user: Names
    item: Names
    action: Names = ()
    l1: Names = ()
    l2: Names = ()
    dotted: Names = ()
    """A path of categories in one text: L1 = part 1, L2 = the first two parts; one part gives no L2.

    The parts stand between `category_separator`s of the mapping.
    """
    brand: Names = ()
    price: Names = ()
    quantity: Names = ()
    dwell: Names = ()
    """Time spent, in ms."""
    session: Names = ()

    @model_validator(mode="after")
    def _one_category(self) -> "Columns":
        if self.dotted and (self.l1 or self.l2):
            raise ValueError("dotted: give either `dotted` or `l1`/`l2`, not both")
        if not self.user or not self.item:
            raise ValueError("user and item need a column")
        return self


class RelativeClock(_Model):
    """A clock made from gaps, for logs without absolute time; each user starts on the same day."""

    order: str
    """Column with the number of the order, from 1."""
    days: str
    """Column with the days since the user's previous order; empty for the first."""
    hour: str
    """Column with the hour of the day."""
    start: datetime = datetime(2015, 1, 4, tzinfo=UTC)


class Time(_Model):
    """How instants are written: a number with a unit, a text with patterns, or gaps.

    Times stored as a timestamp type (Parquet) need no pattern, but a zone when they
    carry none. `window` is half open, in UTC.
    """

    column: Names = ()
    unit: Literal["s", "ms", "us"] | None = None
    patterns: Names = ()
    zone: str | None = None
    """IANA zone of times written without one."""
    relative: RelativeClock | None = None
    window: tuple[datetime, datetime] = (datetime(1995, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
    """Instants outside are refused. The default only stops nonsense such as 1902 or 2262 (ours)."""

    @model_validator(mode="after")
    def _complete(self) -> "Time":
        if self.relative is not None:
            if self.column or self.unit or self.patterns:
                raise ValueError("relative: a relative clock excludes column, unit and patterns")
            return self
        if not self.column:
            raise ValueError("column: the time column is not named")
        if (self.unit is None) == (not self.patterns):
            raise ValueError("unit, patterns: give exactly one of them")
        if self.unit and self.zone:
            raise ValueError("zone: a time in s, ms or us counts from 1970 UTC and has no zone")
        naive = [p for p in self.patterns if not p.endswith(("%z", "%:z", "%#z"))]
        if naive and not self.zone:
            raise ValueError(f"zone: {naive[0]!r} has no offset; declare the zone the log was written in")
        if self.zone:
            try:
                ZoneInfo(self.zone)
            except (KeyError, ValueError, OSError):
                raise ValueError(f"zone: {self.zone!r} is no IANA time zone") from None
        if any(bound.tzinfo is None for bound in self.window) or self.window[0] >= self.window[1]:
            raise ValueError("window: give two instants with offset, the earlier first")
        return self


class Lookup(_Model):
    """A table beside the log (products, orders), joined on a text key; told by its header."""

    name: str
    key: str
    """Key column of the table."""
    on: str = ""
    """Column of the log, when named otherwise."""
    columns: Names
    """Columns taken; where the log has a value of the same name, the log's stands."""
    header: Names = ()
    """Columns that tell the table; by default the key and all columns taken."""

    @property
    def log_column(self) -> str:
        """Column of the log that is joined."""
        return self.on or self.key

    @property
    def tells(self) -> set[str]:
        """Columns a file must have to be taken for this table."""
        return set(self.header) if self.header else {self.key, *self.columns}


class Ignored(_Model):
    """A file that comes with the log and is not read; told by its header."""

    header: Names
    why: str


class Mapping(_Model):
    """A log format, declared. Built-in sources and a user's YAML are the same model.

    Everything a row says stays text until it is parsed by this declaration. See
    `load_mapping` for reading one from YAML.
    """

    name: str = Field(min_length=1)
    description: str = ""
    format: Annotated[tuple[Format, ...], BeforeValidator(_tuple)]
    """Accepted formats; compression (gz, zst) is seen from the content."""
    positional: Names = ()
    """Column names of a file without header, in order."""
    delimiter: str = ""
    """One character; by default a comma in csv and a tab in tsv."""
    decimal: Literal[".", ","] = "."
    encoding: str = "utf-8"
    columns: Columns
    category_separator: str = Field(default=".", min_length=1)
    """What stands between the parts of `columns.dotted`, such as `>` or `/`."""
    nested: str = ""
    """JSON: a list in the row whose elements are the events; their fields are named without this prefix."""
    time: Time
    action: Action | None = None
    """What every row is, for logs of one action."""
    actions: dict[str, Action] = {}
    """Text in the log → action; other texts are refused."""
    missing: Names = ()
    """Spellings of "no value" besides the empty text."""
    nonpositive_quantity: Literal["keep", "reject", "cancel"] = "keep"
    cancel_prefix: str = ""
    """A session (invoice) that starts with this is a cancellation."""
    duplicates: Literal["keep", "drop"] = "keep"
    """What becomes of equal rows within one drop."""
    resolution: Resolution = "second"
    """How finely the log tells time."""
    lookups: tuple[Lookup, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    l1_from_file: Names = ()
    """File stems that name the domain, used only where nothing in the data does."""

    @model_validator(mode="after")
    def _consistent(self) -> "Mapping":
        if not self.format:
            raise ValueError("format: name at least one")
        if (self.action is None) == (not self.actions):
            raise ValueError("action, actions: give exactly one of them")
        if bool(self.actions) != bool(self.columns.action):
            raise ValueError("columns.action: needed with `actions`, and only then")
        if len(self.delimiter) > 1 or self.delimiter in ('"', "\n", "\r"):
            raise ValueError("delimiter: one character, neither a quote nor a line end")
        if self.positional and ("jsonl" in self.format or "parquet" in self.format):
            raise ValueError("positional: only csv and tsv have files without column names")
        if self.nested and set(self.format) != {"jsonl"}:
            raise ValueError("nested: only jsonl rows hold lists")
        if any(sign in self.nested for sign in ".[]"):
            raise ValueError(
                f"nested: a list at the top of the row, not the path {self.nested!r}; unfold the log first"
            )
        try:
            "".encode(self.encoding)
        except LookupError:
            raise ValueError(f"encoding: {self.encoding!r} is unknown") from None
        if self.cancel_prefix and not self.columns.session:
            raise ValueError("cancel_prefix: needs columns.session")
        if self.nonpositive_quantity != "keep" and not self.columns.quantity:
            raise ValueError("nonpositive_quantity: needs columns.quantity")
        if self.positional:
            for names in self.sought:
                if not set(names) & (set(self.positional) | self.looked_up):
                    raise ValueError(f"positional: holds none of the columns {list(names)}")
        return self

    def domain_of(self, file: str) -> str | None:
        """Domain that the name of a file gives (`Books.jsonl.gz`, `meta_Books.jsonl`), or None."""
        stem = file.split(".")[0].removeprefix("meta_")
        return stem if stem in self.l1_from_file else None

    @property
    def sought(self) -> list[tuple[str, ...]]:
        """Alternatives of every column without which no row can be read."""
        need = [self.columns.user, self.columns.item, self.time.column, self.columns.action]
        if self.time.relative:
            clock = self.time.relative
            need += [(clock.order,), (clock.days,), (clock.hour,)]
        return [names for names in need if names]

    @property
    def looked_up(self) -> set[str]:
        """Columns that lookup tables can give."""
        return {name for table in self.lookups for name in table.columns}

    @property
    def names(self) -> list[str]:
        """Every column name the mapping reads, from the log or a lookup, sorted."""
        fields = [getattr(self.columns, field) for field in Columns.model_fields]
        names = {name for group in [*fields, *self.sought] for name in group}
        return sorted(names | {table.log_column for table in self.lookups})

    @property
    def separator(self) -> str:
        """Delimiter in force."""
        return self.delimiter or ("\t" if "tsv" in self.format else ",")

    @property
    def has_l1(self) -> bool:
        """Whether the log declares a first category level."""
        return bool(self.columns.l1 or self.columns.dotted or self.l1_from_file)

    @property
    def has_l2(self) -> bool:
        """Whether the log declares a second category level."""
        return bool(self.columns.l2 or self.columns.dotted)


def load_mapping(path: Path, *under: str) -> Mapping:
    """Read a mapping from a YAML file, where it may stand `under` a name, for instance

        name: shop
        format: csv
        columns: {user: customer, item: sku, action: what, l1: department, l2: group}
        time: {column: at, patterns: "%d.%m.%Y %H:%M:%S", zone: Europe/Berlin}
        actions: {seen: browse, bought: purchase}

    Raises `MappingError` naming the file, the line and the field: unknown or missing fields,
    values of the wrong kind, naive times without a zone, YAML that cannot be parsed.
    """
    try:
        value = read_yaml_file(path)
        for name in under:
            value = value[name]
    except BadYaml as error:
        raise MappingError(str(error)) from None
    if not isinstance(value, dict):
        raise MappingError(f"{path.name}: a mapping is a YAML object with name, format, columns, time, …")
    try:
        return Mapping.model_validate(value)
    except ValidationError as error:
        text = path.read_text(encoding="utf-8-sig")
        places = [place_of(text, path.name, (*under, *item["loc"]))[0] for item in error.errors()]
        told = [f"{at}: {_field_error(item)}" for at, item in zip(places, error.errors(), strict=True)]
        raise MappingError("; ".join(told)) from None


def _field_error(item: Any) -> str:
    place = ".".join(str(part) for part in item["loc"])
    text = item["msg"].removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        places: dict[tuple[str, ...], type[BaseModel]] = {("columns",): Columns, ("time",): Time}
        model = places.get(item["loc"][:-1], Mapping)
        near = get_close_matches(str(item["loc"][-1]), model.model_fields, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        text = f"is no field of a mapping here; {meant}fields are {', '.join(model.model_fields)}"
    return f"{place}: {text}" if place else text
