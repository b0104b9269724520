"""The task readers by name, and the model behind one that asks a model."""

from collections.abc import Callable

from pipelines.evaluation.readers import Reader
from pipelines.evaluation.readers.embedding import EmbeddingReader
from pipelines.evaluation.readers.lexical import LexicalReader
from pipelines.evaluation.readers.llm import LlmReader, LlmReaderSettings
from pipelines.models import Model
from resources.embedder import StaticEmbedder
from resources.tokenizer import load_tokens

LLM = LlmReader.name
WITHOUT_MODEL: dict[str, Callable[[], Reader]] = {
    "embedding": lambda: EmbeddingReader(StaticEmbedder()),
    "lexical": LexicalReader,
}
"""Reader → how it is made. A reader sees readouts and pools; never a method's name, never gold."""
READERS = (*WITHOUT_MODEL, LLM)


def asks_model(reader: str) -> bool:
    """Whether a reader, as an experiment names it, asks a model."""
    return reader.partition(":")[0] == LLM


def model_reader(model: Model, context_tokens: int, progress: Callable[[int], None] = lambda _: None) -> LlmReader:
    """The reader `llm` over a model with a context of so many tokens; `progress` is told the pools read so far."""
    return LlmReader(model, load_tokens(), LlmReaderSettings(context_tokens=context_tokens), progress)
