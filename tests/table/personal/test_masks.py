"""Masks: what they spell is told apart, and none of it is among the words that they were freed of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.table.personal.fake import Mask, free_of, learnt_mask, parse_mask

MASKS = st.text("#?*-Px0", min_size=1, max_size=9).filter(lambda text: set(text) & set("#?*"))


@given(MASKS)
def test_masks_are_read_as_they_are_written(text):
    mask = parse_mask(text)
    assert str(mask) == text
    numbers = np.arange(min(mask.size, 500))
    words = mask.spell(numbers).tolist()
    assert len(set(words)) == len(numbers)
    assert all(map(mask.matches, words))


def test_signs_that_stand_for_themselves():
    mask = parse_mask(r"\#-##")
    assert mask.spell(np.array([7])).tolist() == ["#-07"]
    assert str(mask) == r"\#-##"
    for bad in ("", "abc", "#" * 61):
        with pytest.raises(chaffinch.errors.SchemaError, match=r"# stands for a digit"):
            parse_mask(bad)


@given(
    st.lists(st.integers(0, 99_999), min_size=1, max_size=300, unique=True),
    st.integers(1, 2000),
    st.booleans(),
)
def test_a_freed_mask_has_none_of_the_words_and_room(numbers, rows, whole):
    words = (
        [str(number) for number in numbers] if whole else [f"A-{number:05d}" for number in numbers]
    )
    mask = parse_mask("#####" if whole else "A-#####")
    free = free_of(mask, words, rows, whole_number=whole)
    assert free.size >= rows
    assert not any(map(free.matches, words))
    made = free.spell(np.arange(min(free.size, rows))).tolist()
    assert not set(made) & set(words)
    assert len(set(made)) == min(free.size, rows)
    if whole:
        assert not any(word.startswith("0") for word in made)


def test_masks_are_learnt_of_ten_words_or_more():
    assert str(learnt_mask([f"P-{i:03d}" for i in range(50)])) == "P-###"
    assert str(learnt_mask([f"{chr(65 + i % 26)}{i % 10}x" for i in range(50)])) == "?#x"
    assert learnt_mask([f"P-{i:03d}" for i in range(9)]) is None
    assert learnt_mask([]) is None
    assert str(learnt_mask([*(f"{i:03d}" for i in range(20)), "other", "word"])) == "###"


def test_codes_of_more_signs_than_numbers_can_tell_apart():
    mask = parse_mask("#" * 30)
    words = mask.spell(np.arange(1000), np.random.default_rng(1)).tolist()
    assert len(set(words)) == 1000
    assert len({word[:5] for word in words}) > 900  # the signs beyond are drawn
    assert Mask(("a", "01")).size == 2
