"""Token counts and cuts against the tokenizer itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resources.tokenizer import TokenCounter, load_tokens

TEXT = st.text(st.sampled_from("ab é\t\n\r ▁<s>›1234漢\x1b"), max_size=60)


def exact(text: str) -> int:
    return len(load_tokens()._tokenizer.encode(text, add_special_tokens=False).ids)


@settings(max_examples=400, deadline=None)
@given(TEXT)
def test_the_sum_over_lines_is_the_count_of_the_text(text: str) -> None:
    assert load_tokens().count(text) == exact(text)


@settings(max_examples=200, deadline=None)
@given(TEXT, st.integers(0, 40))
def test_a_cut_is_an_opening_within_budget_and_as_long_as_whole_lines_allow(text: str, budget: int) -> None:
    tokens = load_tokens()
    kept = tokens.cut(text, budget)
    assert text.startswith(kept)
    assert exact(kept) <= budget
    if "\n" in text and kept.count("\n") < text.count("\n") and tokens.count(text.split("\n")[0]) <= budget:
        one_more = "\n".join(text.split("\n")[: kept.count("\n") + 2])
        assert exact(one_more) > budget or not kept


def test_known_counts() -> None:
    tokens = load_tokens()
    assert [tokens.count(t) for t in ("", "a", "\n", "abc x", "abc\n\nabc x")] == [0, 1, 2, 2, 5]
    assert tokens.counts(["", "abc x"]) == [0, 2]
    assert tokens.cut("abc x\nabc x", 4) == "abc x" and tokens.cut("abc x\nabc x", 5) == "abc x\nabc x"
    assert len(tokens.sha256) == 64


def test_a_control_token_written_in_a_log_is_text() -> None:
    assert load_tokens().count("<s>") > 1


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        load_tokens().cut("a", -1)


class Interrupted:
    """A tokenizer in the middle of whose work another thread counts many other lines."""

    def __init__(self, tokens: TokenCounter) -> None:
        self.tokens, self.inner, self.due = tokens, tokens._tokenizer, True

    def encode_batch_fast(self, lines: list[str], **options: object) -> object:
        if self.due:
            self.due = False
            for number in range(5):
                self.tokens.counts([f"other {number}"])
        return self.inner.encode_batch_fast(lines, **options)


def test_threads_that_share_a_counter_do_not_lose_each_others_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = load_tokens()
    expected = tokens.counts(["abc x", "abc\tx"])
    monkeypatch.setattr("resources.tokenizer._REMEMBERED", 3)
    monkeypatch.setattr(tokens, "_lines", {})
    tokens.counts(["abc x"])
    monkeypatch.setattr(tokens, "_tokenizer", Interrupted(tokens))
    assert tokens.counts(["abc x", "abc\tx"]) == expected
