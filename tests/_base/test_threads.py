"""Maps over threads: in order, nested without waiting for themselves, and one thread where that was asked."""

import os
import signal
import threading
import time

import pytest

from chaffinch._base.runtime import one_thread, thread_count, thread_map
from chaffinch.errors import InputError


def test_a_map_keeps_the_order_and_uses_threads():
    seen = set()

    def slowly(i):
        seen.add(threading.get_ident())
        time.sleep(0.01 * (3 - i % 3))
        return i * i

    assert thread_map(slowly, range(8), threads=3) == [i * i for i in range(8)]
    assert threading.get_ident() not in seen
    seen.clear()
    assert thread_map(slowly, range(3), threads=1) == [0, 1, 4]
    assert seen == {threading.get_ident()}


def test_a_map_inside_a_map_does_not_wait_for_itself():
    def outer(i):
        return sum(thread_map(lambda j: i * j, range(4), threads=2))

    assert thread_map(outer, range(6), threads=2) == [6 * i for i in range(6)]


def test_an_error_reaches_the_caller_and_the_threads_go_on():
    with pytest.raises(ZeroDivisionError):
        thread_map(lambda i: 1 // i, range(4), threads=2)
    assert thread_map(lambda i: i, range(4), threads=2) == [0, 1, 2, 3]


def test_one_thread_is_for_those_who_do_not_ask():
    with one_thread():
        assert thread_count() == 1
        assert thread_count(3) == 3
    with pytest.raises(InputError, match="at least 1"):
        thread_count(0)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_ends_a_map_after_the_pieces_that_are_worked_on(threads):
    """Ctrl-C in the fifth of two hundred pieces: those that wait are not begun."""
    begun = []

    def piece(i):
        begun.append(i)
        if i == 4:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.02)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            thread_map(piece, range(200), threads=threads)
    finally:
        signal.signal(signal.SIGINT, before)
    assert 5 <= len(begun) < 100
