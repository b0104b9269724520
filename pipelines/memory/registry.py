"""The methods that ship with this package, by name.

Methods of other packages are found and run by `resources.plugin_process`, so that
their code is never imported here.
"""

from pipelines.memory.contract import MethodSpec
from pipelines.memory.methods import empty, frequency_profile, recent_k


def builtin_methods() -> dict[str, MethodSpec]:
    """Name → method, in the order in which they are listed."""
    return {spec.name: spec for spec in (empty.SPEC, recent_k.SPEC, frequency_profile.SPEC)}
