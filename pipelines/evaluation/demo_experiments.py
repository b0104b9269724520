"""The experiments of `make demo`."""

from pipelines.evaluation.experiment import Experiment

DEMO = Experiment(
    name="demo",
    methods={
        name: [{}]
        for name in (
            "empty",
            "recent_k",
            "shuffled_user",
            "long_context",
            "frequency_profile",
            "template_profile",
            "rag_bm25",
        )
    },
    readers=["embedding"],
    budgets=[600],
    users=200,
)
"""The experiment of `make demo`."""

DEMO_LLM = Experiment(
    name="demo_llm",
    methods={
        "empty": [{}],
        "shuffled_user": [{}],
        "long_context": [{}],
        "frequency_profile": [{}],
        "rag_bm25": [{}],
        "behaviormem": [
            {
                "label": "small",
                "context_tokens": 2400,
                "record_tokens": 32,
                "reply_tokens": 300,
                "max_patterns": 2,
                "max_themes": 2,
                "retries": 0,
                "closed_kinds": False,
            }
        ],
    },
    readers=["llm"],
    budgets=[600],
    users=2,
    batches=2,
    readings=2,
)
"""The slice of `make demo` that goes through a language model: small, because the embedded model is slow, and weak."""
