"""Text files as bytes: without comments, but for lines inside quotes."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from chaffinch.table.formats.packing import TextFile, Uncommented, recoded


def without(content: bytes, size: int) -> bytes:
    stream, out = Uncommented(io.BytesIO(content), "#"), b""
    while piece := stream.read(size):
        out += piece
    return out


def test_comments_go_and_quoted_lines_stay():
    text = b'a,b\n# no record\n1,"x\n# inside quotes\n"\n#\n2,y\n# end'
    for size in (1, 3, 7, 1000):
        assert without(text, size) == b'a,b\n1,"x\n# inside quotes\n"\n2,y\n'


@given(
    st.lists(st.sampled_from(["1,2", "#x", 'a,"b', 'c"', "", '# "q']), max_size=12),
    st.integers(1, 9),
)
def test_blocks_do_not_matter(lines, size):
    text = "\n".join(lines).encode()
    quoted, kept = False, []
    for line in text.splitlines(keepends=True):  # the plain way, all at once
        if quoted or not line.startswith(b"#"):
            kept.append(line)
            quoted ^= line.count(b'"') % 2 == 1
    assert without(text, size) == b"".join(kept)


def test_bytes_are_recoded(tmp_path):
    assert recoded(io.BytesIO("é".encode("cp1252")), "cp1252").read() == "é".encode()
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n")
    file = TextFile.of(path)
    assert (file.open().read(), file.stream().read(), file.packed) == (b"a,b\n", b"a,b\n", None)
