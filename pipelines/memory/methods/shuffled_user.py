"""`shuffled_user`: another user's memory; what a reader gains by knowing any user at all (control, ours).

The memory is `frequency_profile`. The harness feeds it the donor's batches that ended
at or before the end of the target's batch t, so that it holds nothing the target's
own memory could not have held at that moment (`pipelines.memory.replay`).
"""

from pipelines.memory.contract import MethodSpec
from pipelines.memory.methods.frequency_profile import FrequencyProfile, FrequencyProfileConfig


class ShuffledUser(FrequencyProfile):
    """`frequency_profile` under its own name, so that snapshots of the two never mix."""

    name = "shuffled_user"


SPEC = MethodSpec(
    name=ShuffledUser.name,
    kind="control",
    description="The frequency profile of another user, up to the same moment.",
    factory=ShuffledUser,
    config_model=FrequencyProfileConfig,
    version=ShuffledUser.version,
    batch_invariant=True,
    stream="other_user",
)
