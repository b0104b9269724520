"""Pieces worked on in threads come back in their order, few at a time, and faults are not lost."""

import threading
import time

import pytest

from pipelines.onchain.beside import beside


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_answers_come_in_the_order_of_the_pieces(threads, n):
    def slow_first(i: int) -> int:
        time.sleep(0.02 * (i % 2 == 0))
        return i * i

    assert list(beside(slow_first, range(n), threads)) == [i * i for i in range(n)]


def test_two_pieces_are_at_work_at_once():
    met = threading.Barrier(2, timeout=10)
    assert len(list(beside(lambda _: met.wait(), range(4), 2))) == 4


def test_a_thread_whose_piece_is_done_first_takes_the_next():
    third = threading.Event()

    def first_waits_for_the_third(i: int) -> bool:
        return third.wait(10) if i == 0 else third.set() is None if i == 2 else True

    assert list(beside(first_waits_for_the_third, range(3), 2)) == [True, True, True]


def test_no_more_pieces_are_read_than_may_wait():
    read = []

    def items():
        for i in range(50):
            read.append(i)
            yield i

    answers = beside(lambda i: i, items(), 3)
    assert next(answers) == 0
    assert len(read) == 5
    answers.close()
    assert len(read) == 5


def test_a_fault_of_a_piece_comes_after_the_answers_before_it():
    answers = beside(lambda i: 6 // (3 - i), range(9), 2)
    assert [next(answers) for _ in range(3)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(answers)


def test_a_fault_of_the_source_is_raised():
    def items():
        yield 1
        raise OSError("cut off")

    with pytest.raises(OSError, match="cut off"):
        list(beside(lambda i: i, items(), 2))
