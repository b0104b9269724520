"""Who competes on a release of app logs: rules over the whole log, what the publication compares with, and memories."""

from pipelines.applogs.answerers import RULES
from pipelines.applogs.asking import LLM
from pipelines.applogs.extracting import EXTRACTIVE
from pipelines.applogs.peers import ORACLE, PEERS, RAG

__all__ = [
    "BASELINES",
    "DESCRIPTIONS",
    "EXTRACTIVE",
    "LLM",
    "ORACLE",
    "PEERS",
    "RAG",
    "READERS",
    "RULE",
    "invalid_pair",
    "remembers",
]

RULE = "rule"
"""How baselines answer; no reader of a memory."""
BASELINES = tuple(RULES)
"""Rules that see every visible log: what a memory has to beat."""
READERS = (RULE, EXTRACTIVE, LLM)
DESCRIPTIONS = {
    "routine": "habits by when logs recur",
    "last_value": "what the newest log that speaks of the question names",
    "majority_choice": "what most of the logs that speak of the question name",
    RAG: "a reader is given the logs nearest to the question by embeddings",
    ORACLE: "a reader is given the logs that prove the answer; scoring side",
}
"""Of every one of `BASELINES` and `PEERS`, for people."""


def remembers(method: str) -> bool:
    """Whether a method is a memory, fed day by day, rather than a rule or given the raw logs."""
    return method not in BASELINES and method not in PEERS


def invalid_pair(method: str, reader: str) -> bool:
    """Whether method and reader do not go together: baselines answer by rule, all others through another reader."""
    return (method in BASELINES) != (reader == RULE)
