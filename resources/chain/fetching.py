"""Ranges of the live chain as drops: fetch what is missing, prove that it hangs together, write one file.

The file of a range depends on the chain alone: neither on how a node answered, nor
on how often the fetch was interrupted, nor on how many requests ran at once.
"""

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path

from resources.chain.chunks import Chunk, Chunks, broken_seams, gaps
from resources.chain.reading import Span, headers, quantity, read_span
from resources.chain.rpc import RpcFailure, RpcNode
from resources.chain.settings import FALLBACK_DEPTH, POLYGON, ChainError, ChainSettings
from resources.documents import write_atomic
from resources.drops import Drop, DropRegister, sha256

SOURCE = "polygon_rpc"
Progress = Callable[[int, int], None]
"""Told how many blocks of how many are kept, whenever some were added."""
_TRIES = 5
"""How often one block is asked for before a fetch gives up."""
_PAUSE = 0.1
"""Seconds before a block is asked for again; doubled each time."""
_WIDEN_AFTER = 16
"""Spans in a row that a node gives before it is asked for wider ones."""
_ROUNDS = 8
"""How often a range is mended because blocks were replaced, before a fetch gives up."""


@dataclass(frozen=True)
class FetchedRange:
    """A finished range: its blocks, the hashes that tie it to its neighbours, what it holds, and its file.

    `parent` is the hash of the block before `first`, `hash` that of `last`; `blocks`
    counts the blocks with logs. All of it is a function of the chain.
    """

    first: int
    last: int
    parent: str
    hash: str
    logs: int
    blocks: int
    file: str
    bytes: int
    sha256: str


def next_range(settings: ChainSettings, head: int, done: Collection[tuple[int, int]]) -> tuple[int, int] | None:
    """The lowest range of the settings' grid that is final at `head` and not among `done`; None when there is none."""
    size, known = settings.range_blocks, set(done)
    for first in range(settings.first_block, head - size + 2, size):
        if (first, first + size - 1) not in known:
            return first, first + size - 1
    return None


def final_head(settings: ChainSettings) -> int:
    """Number of the last block that counts as final. Raises `ChainError`."""
    return _final_head(_connected(settings))


def fetch(
    settings: ChainSettings, first: int, last: int, folder: Path, progress: Progress | None = None
) -> FetchedRange:
    """Fetch the blocks `first` … `last` into one file of `folder`; go on where an earlier fetch stopped.

    A range that is finished is not asked for again. Raises `ChainError` for blocks that
    are not final, an endpoint of another chain, or a node that does not give what it
    should; what was fetched until then is kept.
    """
    if not 0 <= first <= last:
        raise ChainError(f"blocks {first} – {last} are no range; name a first block and a last one not below it")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{SOURCE}-{first:012d}-{last:012d}.jsonl.zst"
    document = target.with_suffix("").with_suffix(".json")
    chunks = Chunks(folder / f".{SOURCE}-{first:012d}-{last:012d}")
    if (finished := _finished(document, target)) is not None:
        return finished
    with chunks.held():
        if (finished := _finished(document, target)) is None:
            kept = _Fetch(settings, first, last, chunks, progress or (lambda kept, wanted: None)).run()
            finished = _finish(kept, chunks, target, document)
        chunks.clear()
    return finished


def finished_ranges(folder: Path) -> list[FetchedRange]:
    """Ranges that were fetched into a folder and whose files are still there, of the right size, in order."""
    documents = sorted(folder.glob(f"{SOURCE}-*.json"))
    found = (_stated(document, document.with_suffix(".jsonl.zst")) for document in documents)
    return [one for one in found if one is not None]


def fetch_drop(
    register: DropRegister,
    settings: ChainSettings,
    first: int,
    last: int,
    folder: Path,
    progress: Progress | None = None,
) -> Drop:
    """The blocks `first` … `last` as a registered drop of the source `polygon_rpc`; the same blocks, the same drop.

    Raises as `fetch`.
    """
    return register.register(SOURCE, [Path(fetch(settings, first, last, folder, progress).file)])


def _connected(settings: ChainSettings) -> RpcNode:
    node = RpcNode(settings)
    try:
        chain = quantity({"eth_chainId": node.call("eth_chainId", [])}, "eth_chainId")
    except RpcFailure as failure:
        raise ChainError(f"{settings.endpoint}: {failure}; check TRAILBENCH_RPC_URL and its key") from None
    if chain != POLYGON:
        raise ChainError(f"{settings.endpoint}: is chain {chain}, not Polygon ({POLYGON}); set TRAILBENCH_RPC_URL")
    return node


def _final_head(node: RpcNode) -> int:
    finality = node.settings.finality
    if finality == "finalized":
        try:
            return quantity(node.call("eth_getBlockByNumber", ["finalized", False]) or {}, "number")
        except RpcFailure:
            finality = FALLBACK_DEPTH
    try:
        return quantity({"eth_blockNumber": node.call("eth_blockNumber", [])}, "eth_blockNumber") - finality
    except RpcFailure as failure:
        raise ChainError(f"{node.settings.endpoint}: does not tell its last block: {failure}") from None


class _Fetch:
    """One run of a fetch: requests in threads, every commit in the thread that runs it."""

    def __init__(self, settings: ChainSettings, first: int, last: int, chunks: Chunks, progress: Progress) -> None:
        self.settings, self.first, self.last, self.chunks, self.progress = settings, first, last, chunks, progress
        self.node = _connected(settings)
        self.width = settings.request_blocks
        self.kept_in_a_row = 0
        self.tries: Counter[int] = Counter()

    def run(self) -> list[Chunk]:
        """The spans of the whole range, in order and of one chain. Raises `ChainError`."""
        if self.last > (head := _final_head(self.node)):
            raise ChainError(f"block {self.last} is not final yet: {self.settings.endpoint} is sure up to {head}; wait")
        for _ in range(_ROUNDS):
            self._fill()
            kept = self.chunks.committed()
            if gaps(self.first, self.last, kept):
                continue
            replaced = self._replaced(kept)
            if not replaced:
                return kept
            for chunk in replaced:
                self.chunks.drop(chunk)
        raise ChainError(
            f"{self.settings.endpoint}: blocks {self.first} – {self.last} are replaced again and again; "
            "set TRAILBENCH_RPC_FINALITY to `finalized` or a greater depth"
        )

    def _replaced(self, kept: list[Chunk]) -> list[Chunk]:
        if broken := broken_seams(kept):
            return broken
        try:
            tip = headers(self.node, [self.last])[self.last]
        except RpcFailure as error:
            raise self._failed(self.last, self.last, error) from None
        return [] if tip.hash == kept[-1].hash else [kept[-1]]

    def _fill(self) -> None:
        kept = self.chunks.committed()
        blocks = sum(chunk.last - chunk.first + 1 for chunk in kept)
        todo = deque(gaps(self.first, self.last, kept))
        running: dict[Future[Span], tuple[int, int]] = {}
        with ThreadPoolExecutor(self.settings.concurrency, thread_name_prefix="chain") as pool:
            while todo or running:
                while todo and len(running) < self.settings.concurrency:
                    first, last = todo.popleft()
                    if last >= first + self.width:
                        todo.appendleft((first + self.width, last))
                        last = first + self.width - 1
                    running[pool.submit(read_span, self.node, first, last)] = (first, last)
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    asked = running.pop(future)
                    try:
                        span = future.result()
                    except RpcFailure as failure:
                        todo.extendleft(reversed(self._smaller(*asked, failure)))
                        continue
                    self.chunks.commit(span)
                    self._wider()
                    blocks += span.last - span.first + 1
                    self.progress(blocks, self.last - self.first + 1)

    def _smaller(self, first: int, last: int, failure: RpcFailure) -> list[tuple[int, int]]:
        """What to ask instead of a range that failed: as far as the node says, if that is more than half, else half."""
        if first == last:
            self.tries[first] += 1
            if self.tries[first] == _TRIES:
                raise self._failed(first, last, failure) from None
            time.sleep(_PAUSE * 2 ** self.tries[first])
            return [(first, last)]
        cut = first + (last - first) // 2
        if failure.suggested is not None and failure.suggested[0] == first and cut < failure.suggested[1] < last:
            cut = failure.suggested[1]
        if failure.kind == "refused":
            self.width, self.kept_in_a_row = min(self.width, cut - first + 1), 0
        return [(first, cut), (cut + 1, last)]

    def _wider(self) -> None:
        """Ask for more again after a while: what a node refused once, in a full stretch or a bad hour, it may give."""
        self.kept_in_a_row += 1
        if self.kept_in_a_row == _WIDEN_AFTER:
            self.width, self.kept_in_a_row = min(2 * self.width, self.settings.request_blocks), 0

    def _failed(self, first: int, last: int, failure: RpcFailure) -> ChainError:
        blocks = f"block {first}" if first == last else f"blocks {first} – {last}"
        return ChainError(
            f"{self.settings.endpoint}: {blocks}: {failure}. What was fetched is kept: "
            "run the same again, or set TRAILBENCH_RPC_URL to another node"
        )


def _finish(kept: list[Chunk], chunks: Chunks, target: Path, document: Path) -> FetchedRange:
    chunks.join(kept, target)
    finished = FetchedRange(
        first=kept[0].first,
        last=kept[-1].last,
        parent=kept[0].parent,
        hash=kept[-1].hash,
        logs=sum(chunk.logs for chunk in kept),
        blocks=sum(chunk.blocks for chunk in kept),
        file=str(target),
        bytes=target.stat().st_size,
        sha256=sha256(target),
    )
    write_atomic(document, json.dumps({**asdict(finished), "file": target.name}, indent=1))
    return finished


def _finished(document: Path, target: Path) -> FetchedRange | None:
    """The range as an earlier fetch finished it, if its file still holds these bytes."""
    stated = _stated(document, target)
    return stated if stated is not None and sha256(target) == stated.sha256 else None


def _stated(document: Path, target: Path) -> FetchedRange | None:
    if not document.is_file() or not target.is_file():
        return None
    stated = FetchedRange(**{**json.loads(document.read_text()), "file": str(target)})
    return stated if target.stat().st_size == stated.bytes else None
