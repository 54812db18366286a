"""The cache of codes: what is written comes back, for any batches; only its owner reads it; nothing stays behind."""

from __future__ import annotations

import errno
import json
import os
import signal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch.errors import FileError
from chaffinch.table import code_cache
from chaffinch.table.code_cache import (
    CodeCache,
    CodeLayout,
    CodeWriter,
    block_of,
    codes_of_block,
    temporary_folder,
)
from chaffinch.table.codes import Codes

SIZES = (3, 300, 7, 256)


def written(folder, layout, table, cuts):
    with CodeWriter(folder, layout) as writer:
        for start, stop in zip([0, *cuts], [*cuts, table.n_rows], strict=True):
            writer.write(
                table.codes.take(slice(start, stop))
                if stop > start
                else Codes.from_columns([np.empty(0, np.uint8)] * len(SIZES), SIZES)
            )
    return CodeCache.open(folder, layout)


@given(st.integers(0, 10**6), st.integers(0, 200), st.lists(st.integers(0, 200), max_size=4))
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_codes_come_back_in_blocks_of_equal_length(coded, monkeypatch, seed, n, cuts):
    monkeypatch.setattr(code_cache, "BLOCK_ROWS", 16)
    monkeypatch.setattr(code_cache, "FILE_ROWS", 48)
    rng = np.random.default_rng(seed)
    table = coded([rng.integers(0, size, n) for size in SIZES], SIZES)
    with temporary_folder() as folder:
        opened = written(
            folder,
            CodeLayout.from_schemas(table.schema),
            table,
            sorted(min(cut, n) for cut in cuts),
        )
        blocks = [[codes[j].tolist() for j in range(len(SIZES))] for codes in opened.batches()]
        assert opened.n_rows == n
        assert [len(block[0]) for block in blocks[:-1]] == [16] * (len(blocks) - 1)
        assert len(opened.files) == -(-n // 48)
    for j in range(len(SIZES)):
        assert [code for block in blocks for code in block[j]] == table.codes[j].tolist()


def test_blocks_and_files_of_wide_tables_have_fewer_rows(coded, tmp_path, monkeypatch):
    """What is mapped at a time is bounded in bytes, whatever the columns: 32 MiB a block, 64 MiB a file, but for the least rows of a block."""
    for d in (1, 15, 40, 100, 1_000, 5_000):
        layout = CodeLayout.from_schemas(coded(np.zeros((d, 1), dtype=int), [2] * d).schema)
        assert layout.row_bytes == d
        assert layout.block_rows == min(1 << 20, max(1 << 12, (1 << 25) // d))
        assert layout.block_rows * d <= max(1 << 25, d << 12)
        assert layout.file_rows * d <= max(1 << 26, layout.block_rows * d)
    monkeypatch.setattr(code_cache, "BLOCK_BYTES", 160)
    monkeypatch.setattr(code_cache, "FILE_BYTES", 400)
    monkeypatch.setattr(code_cache, "FEWEST_ROWS", 4)
    table = coded(np.random.default_rng(1).integers(0, 2, (10, 100)), [2] * 10)
    layout = CodeLayout.from_schemas(table.schema)
    with CodeWriter(tmp_path, layout) as writer:
        writer.write(table.codes)
    opened = CodeCache.open(tmp_path, layout)
    assert [codes.n_rows for codes in opened.batches()] == [16] * 6 + [4]
    assert len(opened.files) == 3  # three blocks: the first with which 40 rows or more are there


def test_a_block_is_mapped_and_not_copied(coded):
    table = coded([[0, 2, 1], [299, 0, 5], [69_999, 1, 0]], [3, 300, 70_000])
    with temporary_folder() as folder:
        opened = written_two(folder, table)
        (codes,) = opened.batches()
        assert not codes.matrices[0].flags.owndata
        assert [codes[1].tolist(), codes[2].tolist()] == [[299, 0, 5], [69_999, 1, 0]]
    assert codes_of_block(block_of(table.codes), table.codes.sizes)[0].tolist() == [0, 2, 1]


def written_two(folder, table):
    layout = CodeLayout.from_schemas(table.schema)
    with CodeWriter(folder, layout) as writer:
        writer.write(table.codes)
    return CodeCache.open(folder, layout)


def test_a_column_that_two_schemas_share_is_stored_once(coded):
    coarse, fine = coded([[0, 1], [1, 2]], [2, 3]), coded([[0, 1], [1, 7]], [2, 9])
    layout = CodeLayout.from_schemas(coarse.schema, fine.schema)
    assert [column.size for column in layout.columns] == [2, 3, 9]
    assert layout.views == ((0, 1), (0, 2))
    assert layout.row_bytes == 3
    with temporary_folder() as folder:
        with CodeWriter(folder, layout) as writer:
            writer.write(
                Codes.from_columns([coarse.codes[0], coarse.codes[1], fine.codes[1]], layout.sizes)
            )
        opened = CodeCache.open(folder, layout)
        for view, table in enumerate((coarse, fine)):
            (codes,) = opened.batches(view)
            assert codes.sizes == table.codes.sizes
            assert [codes[j].tolist() for j in range(2)] == [
                table.codes[j].tolist() for j in range(2)
            ]


def test_the_folder_is_its_owners_and_goes_away_also_by_ctrl_c(tmp_path, coded):
    for error in (None, ValueError, KeyboardInterrupt):
        try:
            with temporary_folder(tmp_path) as folder:
                assert os.stat(folder).st_mode & 0o777 == 0o700
                written_two(folder, coded([[0, 1]], [2]))
                assert json.loads((folder / "head.json").read_text())["confidential"] is True
                if error is not None:
                    raise error
        except (ValueError, KeyboardInterrupt):
            pass
        assert list(tmp_path.iterdir()) == []


def test_a_scheduler_that_ends_the_process_leaves_nothing_behind(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, temporary_folder(tmp_path):
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 143
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) == before


def test_codes_of_other_schemas_versions_and_halves_are_refused(tmp_path, coded):
    table = coded([[0, 1]], [2])
    opened = written_two(tmp_path, table)
    with pytest.raises(FileError, match="of another schema"):
        CodeCache.open(tmp_path, CodeLayout.from_schemas(coded([[0, 1]], [3]).schema))
    head = json.loads((tmp_path / "head.json").read_text())
    (tmp_path / "head.json").write_text(json.dumps({**head, "version": 99}))
    with pytest.raises(FileError, match="of another version"):
        CodeCache.open(tmp_path, opened.layout)
    (tmp_path / "head.json").write_text(json.dumps({**head, "rows": 3}))
    with pytest.raises(FileError, match="has lost rows"):
        list(CodeCache.open(tmp_path, opened.layout).batches())
    (tmp_path / "head.json").unlink()
    with pytest.raises(FileError, match="did not end well"):
        CodeCache.open(tmp_path, opened.layout)
    with (
        pytest.raises(FileError, match="not those of the layout"),
        CodeWriter(tmp_path, CodeLayout.from_schemas(coded([[0]], [9]).schema)) as writer,
    ):
        writer.write(table.codes)


def test_no_room_is_said_before_and_while_it_is_written(tmp_path, coded, monkeypatch):
    with (
        pytest.raises(FileError, match=r"needs 1048576.0 GiB.*TMPDIR"),
        temporary_folder(tmp_path, n_bytes=1 << 50),
    ):
        pass
    assert list(tmp_path.iterdir()) == []

    def full(*_args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pa.ipc, "new_file", full)
    with (
        pytest.raises(FileError, match=r"there is no room left\. Set TMPDIR"),
        temporary_folder(tmp_path) as folder,
    ):
        written_two(folder, coded([[0, 1]], [2]))
    assert list(tmp_path.iterdir()) == []
    with (
        pytest.raises(FileError, match="Cannot make a code cache"),
        temporary_folder(tmp_path / "nowhere"),
    ):
        pass
