"""The log formats that are built in, by the name used on the command line.

Each is a mapping (`pipelines.commerce.mapping`); `mapping` itself, with a user's YAML
file, covers everything else.
"""

from pipelines.commerce.mapping import Mapping
from pipelines.commerce.sources import (
    amazon_reviews,
    complete_journey,
    instacart,
    otto,
    rees46,
    taobao,
    tianchi_mobile,
    uci_online_retail,
)

_MODULES = (
    complete_journey,
    rees46,
    taobao,
    amazon_reviews,
    otto,
    tianchi_mobile,
    instacart,
    uci_online_retail,
)

SOURCES: dict[str, Mapping] = {module.MAPPING.name: module.MAPPING for module in _MODULES}
"""Built-in sources in the order they are shown."""


def source(name: str) -> Mapping:
    """The built-in source of this name. Raises `KeyError` that lists the names there are."""
    try:
        return SOURCES[name]
    except KeyError:
        known = ", ".join(SOURCES)
        raise KeyError(f"no source {name!r}; there are {known}, and `mapping` with a YAML file") from None
