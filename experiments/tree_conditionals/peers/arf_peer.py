"""Rows of an adversarial random forest (arfpy), run by a Python that has it: `python arf_peer.py TRAIN.csv OUT.csv`. Prints the CPU seconds of fit and sample."""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings

import numpy as np
import pandas as pd
from arfpy import arf


def main() -> None:
    source, target = sys.argv[1:3]
    warnings.simplefilter("ignore")
    np.random.seed(1)
    train = pd.read_csv(source).dropna(axis=1)  # it has no missing values
    for name in train:
        if (
            train[name].dtype == bool
            or not pd.api.types.is_numeric_dtype(train[name])
            or train[name].nunique() <= 10
        ):
            train[name] = train[name].astype(str).astype("category")
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        model = arf.arf(x=train)
        model.forde()
        rows = model.forge(n=len(train))
    rows.to_csv(target, index=False)
    print(f"{time.process_time() - began:.2f}")


if __name__ == "__main__":
    main()
