"""Make a folder of fifteen mixed results with ACRO 1.0.2. Runs in the peer's own environment, which lacks Chaffinch.

python acro_run.py DATA.csv FOLDER      # it asks for a reason for each result that failed: one line each on its input
"""

import sys
import tempfile
from pathlib import Path

import pandas as pd
from acro import ACRO

df = pd.read_csv(sys.argv[1])
s = ACRO(suppress=False)
# A result's command is its line of source, so each call stands on one line.

s.crosstab(df.wife_education, df.contraceptive_method)
s.rename_output("output_0", "method by education")
s.enable_suppression()
s.crosstab(df.wife_education, df.contraceptive_method)
s.rename_output("output_1", "method by education, suppressed")
s.disable_suppression()
s.crosstab(df.standard_of_living, df.wife_now_working, margins=True)
s.rename_output("output_2", "living by work")
s.crosstab(df.wife_education, df.wife_now_working)
s.rename_output("output_3", "education by work")
s.crosstab(df[df.wife_age > 16].wife_education, df[df.wife_age > 16].wife_now_working)
s.rename_output("output_4", "education by work, from 17")
s.pivot_table(df, values="num_children", index=["wife_education"], aggfunc="mean")
s.rename_output("output_5", "children by education")
s.pivot_table(df, values="num_children", index=["standard_of_living"], aggfunc=["mean", "std"])
s.rename_output("output_6", "children by living")
s.pivot_table(df, values="num_children", index=["husband_occupation"], aggfunc="max")
s.rename_output("output_7", "largest families")
s.logitr("media_exposure ~ wife_age + num_children + C(standard_of_living)", df)
s.rename_output("output_8", "who hears no media")
s.logitr("wife_religion ~ C(wife_education) * C(husband_occupation)", df)
s.rename_output("output_9", "religion, saturated")
s.olsr("num_children ~ wife_age + C(wife_education)", df)
s.rename_output("output_10", "number of children")
s.probitr("wife_now_working ~ wife_age + num_children", df)
s.rename_output("output_11", "who works")
s.surv_func(df.wife_age, df.wife_now_working, output="table")
s.rename_output("output_12", "age and work")
s.hist(df, "wife_age")
s.rename_output("output_13", "ages")

with tempfile.TemporaryDirectory() as place:
    notes = Path(place) / "notes.txt"
    notes.write_text("What another program printed.\n", encoding="utf-8")
    s.custom_output(str(notes), "of another program")
    s.rename_output("output_14", "notes")
    s.finalise(sys.argv[2], "json")
