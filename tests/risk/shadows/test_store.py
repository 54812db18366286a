"""Finished shadows on disk."""

from chaffinch.risk.shadows.store import stored_seed


def test_a_kept_run_without_a_seed_keeps_its_seed(tmp_path):
    first = stored_seed(tmp_path / "s", None)
    assert stored_seed(tmp_path / "s", None) == first
    assert stored_seed(tmp_path / "s", 5) == 5
    assert stored_seed(None, None) is None
    assert stored_seed(tmp_path / "given", 5) == 5
    assert stored_seed(tmp_path / "given", None) == 5
