"""Groups of features: where they stand, and what kind they are."""

from chaffinch.risk.membership.layout import FeatureLayout


def test_columns_of_groups_are_in_the_order_of_the_layout():
    layout = FeatureLayout({"table": 3, "exact": 0, "nearest": 2})
    assert layout.columns(["nearest"]).tolist() == [3, 4]
    assert layout.columns(["nearest", "table"]).tolist() == [0, 1, 2, 3, 4]
    assert layout.columns(["exact", "density"]).tolist() == []
    assert layout.width == 5


def test_counts_are_counts_only_alone():
    layout = FeatureLayout({"table": 3, "nearest": 2})
    assert layout.kind_of(["table", "density"]) == "counts"
    assert layout.kind_of(["table", "nearest"]) == "real"
    assert FeatureLayout({"table": 3}, "real").kind_of(["table"]) == "real"


def test_groups_side_by_side_are_a_slice():
    layout = FeatureLayout({"table": 3, "exact": 1, "nearest": 2})
    assert layout.part(["table", "exact"]) == slice(0, 4)
    assert layout.part(["nearest"]) == slice(4, 6)
    assert layout.part(["nearest", "table"]).tolist() == [0, 1, 2, 4, 5]
    assert layout.part(["density"]).tolist() == []
