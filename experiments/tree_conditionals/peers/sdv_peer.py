"""Rows of a synthesiser of SDV, run by a Python that has it: `python sdv_peer.py METHOD TRAIN.csv OUT.csv`. Prints the CPU seconds of fit and sample."""

from __future__ import annotations

import sys
import time
import warnings

import pandas as pd
import torch
from sdv.metadata import Metadata
from sdv.single_table import CTGANSynthesizer, GaussianCopulaSynthesizer, TVAESynthesizer

METHODS = {"copula": GaussianCopulaSynthesizer, "ctgan": CTGANSynthesizer, "tvae": TVAESynthesizer}
EPOCHS = 300
"""What SDV's networks train for unless told otherwise."""


def main() -> None:
    method, source, target = sys.argv[1:4]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    train = pd.read_csv(source)
    columns = {}
    for (
        name
    ) in train:  # what gradient boosting and our own reading take for numbers are numbers here too
        number = (
            pd.api.types.is_numeric_dtype(train[name])
            and train[name].dtype != bool
            and train[name].nunique() > 10
        )
        columns[name] = {"sdtype": "numerical" if number else "categorical"}
    metadata = Metadata.load_from_dict(
        {
            "METADATA_SPEC_VERSION": "V1",
            "tables": {"train": {"columns": columns}},
            "relationships": [],
        }
    )
    began = time.process_time()
    settings = {} if method == "copula" else {"epochs": EPOCHS}
    model = METHODS[method](metadata, **settings)
    model.fit({"train": train})
    rows = model.sample(len(train))
    rows = rows["train"] if isinstance(rows, dict) else rows
    rows.to_csv(target, index=False)
    print(f"{time.process_time() - began:.2f}")


if __name__ == "__main__":
    main()
