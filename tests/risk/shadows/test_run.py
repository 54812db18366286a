"""Shadows: the same whoever works on them, kept when something fails, never quoting a record."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from chaffinch import BayesNet, read
from chaffinch._base.errors import FileError, InputError
from chaffinch.risk.membership.values import ValueFeatures
from chaffinch.risk.shadows import Generator, Working, run_shadows
from chaffinch.risk.shadows.generator import code_array
from chaffinch.risk.shadows.run import (
    FolderStore,
    OutOfTime,
    ShadowJob,
    ShadowPart,
    UnnamedStore,
    store_for,
    stored_seed,
    within,
    work,
)

from ..conftest import copy


def stumbling(table, seed):
    """Raises for some subsets, quoting a record as careless code does."""
    if table.code("a")[0] == 2:
        raise ValueError("cannot handle the record SECRET")
    return table


def sleepy(table, seed):
    if table.code("a")[0] == 2:
        while True:
            time.sleep(0.01)
    return table


def tables_of(shadows):
    return shadows.gather(lambda tables: tables)


def test_a_copy_gives_the_subset_back(base, draws):
    shadows = run_shadows(Generator(copy, base), draws, seed=3, working=Working(workers=1))
    np.testing.assert_array_equal(tables_of(shadows)[:, 0], code_array(base)[draws])


def test_workers_executors_and_order_change_nothing(base, draws):
    generator = Generator(BayesNet(parents=1), base)
    alone = tables_of(run_shadows(generator, draws, tables=2, seed=3, working=Working(workers=1)))
    assert alone.shape == (12, 2, 20, 3)
    np.testing.assert_array_equal(
        alone,
        tables_of(run_shadows(generator, draws, tables=2, seed=3, working=Working(workers=2))),
    )
    with ThreadPoolExecutor(3) as pool:
        np.testing.assert_array_equal(
            alone,
            tables_of(
                run_shadows(generator, draws, tables=2, seed=3, working=Working(executor=pool))
            ),
        )
    some = np.array([7, 2])
    np.testing.assert_array_equal(
        run_shadows(generator, draws, tables=2, seed=3, working=Working(workers=1)).gather(
            lambda t: t, only=some
        ),
        alone[some],
    )
    assert (alone[:, 0] != alone[:, 1]).any()


def test_every_fit_has_noise_of_its_own(base, draws):
    same = np.stack([draws[0]] * 4)
    found = tables_of(
        run_shadows(Generator(BayesNet(parents=1), base), same, seed=3, working=Working(workers=1))
    )[:, 0]
    assert all((found[i] != found[j]).any() for i in range(4) for j in range(i))


def test_a_run_goes_on_where_it_stopped(base, draws, tmp_path):
    folder = tmp_path / "shadows"
    fails = int(np.flatnonzero(base.code("a")[draws[:, 0]] == 2)[0])
    with pytest.raises(InputError, match=f"Shadow {fails} of 12 .*raised ValueError") as error:
        run_shadows(
            Generator(stumbling, base),
            draws,
            seed=3,
            working=Working(workers=1, shadow_folder=folder),
        )
    assert "SECRET" not in str(error.value)
    assert f"{fails} finished shadows are kept in '{folder}'" in str(error.value)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())

    calls = []

    def mended(table, seed):
        calls.append(1)
        return table

    mended.__module__, mended.__qualname__ = stumbling.__module__, stumbling.__qualname__
    shadows = run_shadows(
        Generator(mended, base), draws, seed=3, working=Working(workers=1, shadow_folder=folder)
    )
    assert len(calls) == 12 - fails
    np.testing.assert_array_equal(tables_of(shadows)[:, 0], code_array(base)[draws])


def test_a_folder_of_other_shadows_is_refused(base, draws, tmp_path):
    run_shadows(
        Generator(copy, base),
        draws,
        seed=3,
        working=Working(workers=1, shadow_folder=tmp_path / "s"),
    )
    with pytest.raises(InputError, match="other data or other settings"):
        run_shadows(
            Generator(copy, base),
            draws,
            seed=4,
            working=Working(workers=1, shadow_folder=tmp_path / "s"),
        )
    with pytest.raises(InputError, match="other data or other settings"):
        run_shadows(
            Generator(copy, base),
            draws[:6],
            seed=3,
            working=Working(workers=1, shadow_folder=tmp_path / "s"),
        )
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("x")
    with pytest.raises(FileError, match="holds other files"):
        run_shadows(
            Generator(copy, base),
            draws,
            seed=3,
            working=Working(workers=1, shadow_folder=tmp_path / "full"),
        )
    for path in (tmp_path / "s").glob("shadows-*.npz"):
        path.write_bytes(b"no archive")
    with pytest.raises(FileError, match="damaged"):
        run_shadows(
            Generator(copy, base),
            draws,
            seed=3,
            working=Working(workers=1, shadow_folder=tmp_path / "s"),
        )


@pytest.mark.parametrize("workers", [1, 2])
def test_a_fit_that_never_ends_is_stopped(base, draws, workers):
    with pytest.raises(InputError, match=r"longer than the limit of 0.5 s"):
        run_shadows(
            Generator(sleepy, base), draws, seed=3, working=Working(workers=workers, time_limit=0.5)
        )


def test_wrong_tables_are_refused_with_the_shadow(base, draws):
    def fewer(table, seed):
        return table.to_pandas().iloc[:5]

    def renamed(table, seed):
        return table.to_pandas().rename(columns={"a": "z"})

    for maker, words in (
        (fewer, "fewer rows than the 20"),
        (renamed, "lacks columns of the original: a"),
    ):
        with pytest.raises(InputError, match=f"Shadow 0 of 12 .*{words}"):
            run_shadows(Generator(maker, base), draws, seed=3, working=Working(workers=1))
    with pytest.raises(InputError, match="must have a method fit"):
        Generator(7, base)


def test_a_model_with_levels_of_its_own_is_coded_by_their_names(base):
    """A fit that reads its levels from the subset numbers them otherwise: codes must not be taken for the population's."""

    class OwnLevels:
        def fit(self, data, *, seed=None):
            return BayesNet(parents=1, smoothing=0.0).fit(
                read(data.to_pandas(), rare="keep"), seed=seed
            )

    rows = np.flatnonzero(base.code("a") != 0)[:25]
    found = tables_of(
        run_shadows(Generator(OwnLevels(), base), [rows], seed=1, working=Working(workers=1))
    )[0, 0]
    assert set(found[:, 0]) <= set(base.code("a")[rows])


def test_what_is_fitted_is_the_subset_and_a_time_estimate_is_shown(base, draws):
    said = []
    run_shadows(
        Generator(copy, base),
        draws,
        seed=1,
        working=Working(workers=1, progress=lambda words, share: said.append((words, share))),
    )
    assert said[-1][1] == 1.0
    assert "shadow 12 of 12" in said[-1][0]
    assert "left" in said[0][0]


def test_what_is_seen_of_values_is_stored_and_read_back(base, draws, tmp_path):
    sight = ValueFeatures.from_population(base, np.array([3, 9]))
    working = Working(workers=1, shadow_folder=tmp_path / "s")
    shadows = run_shadows(Generator(copy, base), draws, sight=sight, seed=3, working=working)
    assert shadows.values.shape == (12, 1, 2, len(sight.names))
    assert shadows.values.dtype == np.float32
    for s, rows in enumerate(draws):
        np.testing.assert_allclose(shadows.values[s, 0], sight.of_table(base.take(rows)), rtol=1e-6)
    again = run_shadows(Generator(copy, base), draws, sight=sight, seed=3, working=working)
    np.testing.assert_array_equal(again.values, shadows.values)
    with pytest.raises(InputError, match="other data or other settings"):
        run_shadows(
            Generator(copy, base, "population"), draws, sight=sight, seed=3, working=working
        )


def part(first, shadows, **seen):
    codes = np.random.default_rng(first).integers(0, 9, (shadows, 2, 5, 3)).astype(np.uint8)
    return ShadowPart(np.arange(first, first + shadows), codes, **seen)


def same(one, other):
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.codes, other.codes)
    assert one.codes.dtype == other.codes.dtype
    for what in ("nodes", "cells", "values"):
        ours, theirs = getattr(one, what), getattr(other, what)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("named", [True, False])
def test_parts_come_back_as_they_were(named, tmp_path):
    store = store_for(tmp_path / "s" if named else None, "f")
    parts = [part(0, 3), part(3, 4, values=np.ones((4, 2, 1, 6), dtype=np.float32)), part(7, 1)]
    for one in parts:
        store.add(one)
    for ours, theirs in zip(store.parts(), parts, strict=True):
        same(ours, theirs)


def test_a_store_without_a_name_can_be_left_in_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = UnnamedStore("f")
    store.add(part(0, 3))
    assert list(tmp_path.iterdir()) == []
    folder = store.leave()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())
    same(FolderStore(folder, "f").parts()[0], part(0, 3))
    with pytest.raises(InputError, match="other data"):
        FolderStore(folder, "g")


@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_shadows(how, tmp_path):
    code = (
        "import os, numpy as np\n"
        "from chaffinch.risk.shadows.run import ShadowPart, UnnamedStore\n"
        "store = UnnamedStore('f')\n"
        "store.add(ShadowPart(np.arange(2), np.ones((2, 1, 500, 3), dtype=np.uint8)))\n"
        f"os.kill(os.getpid(), {int(how)})\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False
    )
    assert ended.returncode == -how
    assert list(tmp_path.iterdir()) == []


def test_a_kept_run_without_a_seed_keeps_its_seed(tmp_path):
    first = stored_seed(tmp_path / "s", None)
    assert stored_seed(tmp_path / "s", None) == first
    assert stored_seed(tmp_path / "s", 5) == 5
    assert stored_seed(None, None) is None
    assert stored_seed(tmp_path / "given", 5) == 5
    assert stored_seed(tmp_path / "given", None) == 5


def job(maker, base, draws, limit=None):
    return ShadowJob(
        Generator(maker, base),
        np.arange(3),
        tuple(draws[:3]),
        1,
        None,
        np.random.SeedSequence(1),
        None,
        limit,
    )


def test_shadows_before_a_failure_are_kept(base, draws):
    calls = []

    def stumbling(table, seed):
        calls.append(seed)
        if len(calls) == 3:
            raise RuntimeError("record 7 is Smith")
        return table

    done = work(job(stumbling, base, draws))
    assert done.finished.ids.tolist() == [0, 1]
    assert (done.failed, done.reason) == (2, "the generator raised RuntimeError")
    assert len(set(calls)) == 3  # every shadow has a seed of its own


def test_a_block_within_its_time_is_left_alone_and_another_is_stopped():
    with within(5.0):
        pass
    with pytest.raises(OutOfTime), within(0.05):
        time.sleep(2)
    with within(None):
        pass
