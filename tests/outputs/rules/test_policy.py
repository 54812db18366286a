"""The policy file: what it may say, what it may not, and that its hash stands for what is in force."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaffinch._base.errors import FileError, InputError
from chaffinch.outputs.rules import Policy, policy_of_acro, read_policy

HEAD = 'format = "chaffinch-policy"\nversion = 1\n'
ROOT = Path(__file__).resolve().parents[3]


def written(folder: Path, text: str) -> Path:
    file = folder / "policy.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_with_every_key(tmp_path: Path) -> None:
    text = HEAD + (
        'name = "ours"\ncomment = "anything"\nthreshold = 5\nzeros_are_disclosive = false\nnk_n = 3\nnk_k = 0.8\np_ratio = 0.2\n'
        "residual_dof = 20\npattern_threshold = 7\nsaturation = 1\nsurvival_threshold = 6\nprotection = 2\ndifferencing = false\n"
        "[kinds.histogram]\nthreshold = 3\n"
    )
    policy = read_policy(written(tmp_path, text))
    assert (
        policy.name,
        policy.threshold,
        policy.nk_k,
        policy.saturation,
        policy.pattern_least,
    ) == (
        "ours",
        5,
        0.8,
        1.0,
        7,
    )
    assert (
        policy.for_kind("histogram").threshold,
        policy.for_kind("histogram").nk_n,
        policy.for_kind("table").threshold,
    ) == (3, 3, 5)
    assert not policy.differencing


def test_defaults_are_acros() -> None:
    policy = read_policy()
    assert (policy.threshold, policy.nk_n, policy.nk_k, policy.p_ratio) == (10, 2, 0.9, 0.1)
    assert (policy.residual_dof, policy.survival_threshold, policy.zeros_are_disclosive) == (
        10,
        10,
        True,
    )
    assert policy.pattern_least == policy.threshold


def test_the_hash_is_of_what_is_in_force(tmp_path: Path) -> None:
    default = Policy()
    assert read_policy(written(tmp_path, HEAD)).hash == default.hash
    same = read_policy(
        written(tmp_path, HEAD + 'comment = "x"\np_ratio = 0.1\npattern_threshold = 10\n')
    )
    assert same.hash == default.hash
    for change in (
        {"threshold": 9},
        {"nk_k": 0.91},
        {"differencing": False},
        {"kinds": {"mean": {"threshold": 9}}},
    ):
        assert Policy(**change).hash != default.hash
    assert len(default.hash) == 64
    assert json.loads(json.dumps(default.to_dict())) == default.to_dict()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "treshold = 5\n", "Unknown key 'treshold'. Did you mean 'threshold'?"),
        (HEAD + "threshold = 0\n", "'threshold' is not as it should be"),
        (HEAD + 'threshold = "5"\n', "'threshold' is not as it should be"),
        (HEAD + "nk_k = 90\n", "'nk_k' is not as it should be"),
        (HEAD + "[kinds.histogramm]\nthreshold = 5\n", "Did you mean 'histogram'?"),
        (HEAD + "[kinds.table]\ntreshold = 5\n", "Did you mean 'threshold'?"),
        (HEAD + "[kinds.table]\nthreshold = 0\n", "'threshold' is not as it should be"),
        ("threshold = 5\n", 'must say format = "chaffinch-policy"'),
        ('format = "chaffinch-policy"\nversion = 2\n', "must have version = 1"),
        ("threshold = \n", "is not valid TOML"),
    ],
)
def test_what_a_file_may_not_say(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_policy(written(tmp_path, text))
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        read_policy(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(FileError, match="not UTF-8"):
        read_policy(tmp_path / "latin.toml")


ACRO = {
    "safe_threshold": 10,
    "safe_dof_threshold": 10,
    "safe_nk_n": 2,
    "safe_nk_k": 0.9,
    "safe_pratio_p": 0.1,
    "check_missing_values": False,
    "survival_safe_threshold": 10,
    "zeros_are_disclosive": True,
    "safe_round_base": 5,
    "federated": False,
    "blocked_extensions": [".svg", ".gph"],
    "suppress": False,
}


def test_acros_own_configuration_amounts_to_the_defaults() -> None:
    assert policy_of_acro(ACRO).model_dump(exclude={"name"}) == Policy().model_dump(
        exclude={"name"}
    )
    other = policy_of_acro(
        {**ACRO, "safe_threshold": 30, "safe_dof_threshold": 5, "survival_safe_threshold": 7}
    )
    assert (other.threshold, other.residual_dof, other.survival_threshold) == (30, 5, 7)


def test_an_unknown_key_of_acro() -> None:
    with pytest.raises(InputError, match="Did you mean 'safe_threshold'"):
        policy_of_acro({"safe_treshold": 10})


def test_the_page_names_every_key() -> None:
    page = (ROOT / "docs" / "rules.md").read_text("utf-8")
    for key in Policy.model_fields:
        assert f"`{key}`" in page, key


def test_the_file_on_the_page_is_the_default(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "rules.md").read_text("utf-8")
    block = page.split("```toml\n")[1].split("```")[0]
    assert read_policy(written(tmp_path, block)).model_dump(exclude={"name", "kinds"}) == Policy(
        pattern_threshold=10
    ).model_dump(exclude={"name", "kinds"})
