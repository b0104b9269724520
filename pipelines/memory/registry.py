"""The methods that ship with this package, by name.

Methods of other packages are found and run by `resources.plugin_process`, so that
their code is never imported here. The oracle is no method: it is scored where the
gold is (`pipelines.evaluation`).
"""

from pipelines.memory.behaviormem import method as behaviormem
from pipelines.memory.contract import MethodSpec
from pipelines.memory.methods import (
    empty,
    frequency_profile,
    long_context,
    profile_gen,
    rag_bm25,
    rag_dense,
    recent_k,
    shuffled_user,
    template_profile,
)

_MODULES = (
    *(empty, recent_k, shuffled_user, long_context, frequency_profile, template_profile, rag_bm25, rag_dense),
    *(profile_gen, behaviormem),
)


def builtin_methods() -> dict[str, MethodSpec]:
    """Name → method, in the order in which they are listed."""
    return {module.SPEC.name: module.SPEC for module in _MODULES}
