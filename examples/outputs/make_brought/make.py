"""Outputs of Python from examples/data/cmc.csv, and files in the forms of Stata, SPSS, texreg and modelsummary, which could not be run.

Run by make.sh, in examples/outputs. Every number is computed from the data; the forms are those that the programs' manuals show.
"""

import re
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

PLACE = Path("brought")
cmc = pd.read_csv("../data/cmc.csv")
N = len(cmc)


def write(name: str, text: str) -> None:
    (PLACE / name).write_text(text, encoding="utf-8")


# pandas, as it is.
pd.crosstab(cmc.wife_education, cmc.media_exposure, margins=True).to_csv(
    PLACE / "pandas_crosstab.csv"
)
pd.crosstab(cmc.wife_education, cmc.wife_religion).to_csv(PLACE / "pandas_plain.csv")
cmc[["wife_age", "num_children"]].describe().to_csv(PLACE / "pandas_describe.csv")
cmc.groupby("wife_education").num_children.agg(["mean", "std", "count"]).to_csv(
    PLACE / "pandas_means.csv"
)
cmc.groupby(["wife_religion", "media_exposure"]).size().rename("n").reset_index().to_csv(
    PLACE / "pandas_long.csv", index=False
)
cmc.groupby("standard_of_living").num_children.mean().round(2).to_csv(PLACE / "pandas_one_mean.csv")
with pd.ExcelWriter(PLACE / "pandas_workbook.xlsx") as book:
    pd.crosstab(cmc.wife_religion, cmc.wife_now_working, margins=True).to_excel(
        book, sheet_name="work"
    )
    pd.crosstab(cmc.husband_occupation, cmc.media_exposure, margins=True).to_excel(
        book, sheet_name="media"
    )


# statsmodels, as it prints; dates and times are those of any day.
def printed(fit) -> str:
    lines = str(fit.summary()).splitlines()
    return (
        "\n".join(
            re.sub(
                r"^(Date|Time):( +)\S.*?(   .*)?$",
                lambda m: f"{m[1]}:{' ' * 29}   {(m[3] or '').strip()}",
                line,
            ).rstrip()
            for line in lines
        )
        + "\n"
    )


write(
    "statsmodels_ols.txt",
    printed(smf.ols("num_children ~ wife_age + C(wife_education)", cmc).fit()),
)
write(
    "statsmodels_logit.txt",
    printed(smf.logit("wife_now_working ~ wife_age + media_exposure", cmc).fit(disp=0)),
)

# A table with a withheld cell that its totals give away, and one with two.
table = pd.crosstab(
    cmc.wife_education, cmc.contraceptive_method, margins=True, margins_name="Total"
).astype(object)
table.loc[1, 2] = "<10"
table.to_csv(PLACE / "withheld_one.csv")
table = pd.crosstab(cmc.husband_education, cmc.media_exposure).astype(object)
table.columns.name = None
table = table.where(pd.crosstab(cmc.husband_education, cmc.media_exposure) >= 30, "<30")
table.insert(0, "Count", "")
write("withheld_several.csv", "Count\n" + table.drop(columns="Count").to_csv())

# A spreadsheet with two tables on a sheet, a merged title and merged headers; LibreOffice makes an .ods of it.
book = openpyxl.Workbook()
sheet = book.active
sheet.title = "tables"
sheet["A1"] = "Religion and work of the wives"
sheet.merge_cells("A1:D1")
sheet.append([])
rows = pd.crosstab(cmc.wife_religion, cmc.wife_now_working, margins=True, margins_name="Total")
sheet.append(["", "wife_now_working", "", "Total"])
sheet.merge_cells("B3:C3")
sheet.append(["wife_religion", 0, 1, ""])
for level, counts in rows.iterrows():
    sheet.append([level, *map(int, counts)])
sheet.append([])
sheet.append(["standard_of_living", "n"])
for level, count in cmc.standard_of_living.value_counts().sort_index().items():
    sheet.append([level, int(count)])
book.save(PLACE / "calc_two_tables.xlsx")

# Decimal commas.
means = (
    cmc.groupby("wife_religion").wife_age.agg(["mean", "std", "count"]).round({"mean": 2, "std": 3})
)
write("comma_means.csv", means.to_csv(sep=";", decimal=","))


# Stata's forms.
def stata(value: float, width: int = 10) -> str:
    """A number as Stata prints it: at most seven digits, no zero before the point."""
    digits = 7 - max(int(np.floor(np.log10(abs(value)))) + 1, 0) if value else 0
    text = f"{value:.{min(digits, 7)}f}".rstrip("0").rstrip(".")
    return (
        text.replace("0.", ".", 1).rjust(width)
        if text.lstrip("-").startswith("0.")
        else text.rjust(width)
    )


def coefficients(fit, label: str, names: list[tuple[str, str]], sign: str) -> str:
    bar = "-" * 15 + "+" + "-" * 64
    lines = [
        "-" * 80,
        f"{label:>14} | Coefficient  Std. err.      {sign}    P>|{sign}|     [95% conf. interval]",
        bar,
    ]
    low, high = fit.conf_int()[0], fit.conf_int()[1]
    for shown, name in names:
        if not name:
            lines += [f"{'':>14} |", f"{shown:>14} |"]
            continue
        lines.append(
            f"{shown:>14} | {stata(fit.params[name])} {stata(fit.bse[name])} {fit.tvalues[name]:8.2f}   {fit.pvalues[name]:.3f}    {stata(low[name], 9)} {stata(high[name], 11)}"
        )
    return "\n".join([*lines, "-" * 80, ""])


ols = smf.ols("num_children ~ wife_age + C(wife_education)", cmc).fit()
names = [
    ("wife_age", "wife_age"),
    ("wife_education", ""),
    *[(f"{k}  ", f"C(wife_education)[T.{k}]") for k in (2, 3, 4)],
    ("_cons", "Intercept"),
]
ms = ols.ess / ols.df_model, ols.mse_resid, ols.centered_tss / (N - 1)
write(
    "stata_regress.log",
    f""". use cmc, clear

. regress num_children wife_age i.wife_education

      Source |       SS           df       MS      Number of obs   =     {N:,}
-------------+----------------------------------   F({ols.df_model:.0f}, {ols.df_resid:.0f})      =    {ols.fvalue:.2f}
       Model | {stata(ols.ess)} {ols.df_model:10.0f}  {stata(ms[0])}   Prob > F        =    {ols.f_pvalue:.4f}
    Residual | {stata(ols.ssr)} {ols.df_resid:10,.0f}  {stata(ms[1])}   R-squared       =    {ols.rsquared:.4f}
-------------+----------------------------------   Adj R-squared   =    {ols.rsquared_adj:.4f}
       Total | {stata(ols.centered_tss)} {N - 1:10,}  {stata(ms[2])}   Root MSE        =    {np.sqrt(ols.mse_resid):.4f}

{coefficients(ols, "num_children", names, "t")}
""",
)
logit = smf.logit("wife_now_working ~ wife_age + media_exposure", cmc).fit(disp=0)
write(
    "stata_logit.log",
    f""". logit wife_now_working wife_age media_exposure

Iteration 0:  Log likelihood = {logit.llnull:.5f}
Iteration 1:  Log likelihood = {logit.llf:.5f}

Logistic regression                                     Number of obs = {N:6,}
                                                        LR chi2(2)    = {logit.llr:6.2f}
                                                        Prob > chi2   = {logit.llr_pvalue:.4f}
Log likelihood = {logit.llf:.5f}                             Pseudo R2     = {logit.prsquared:.4f}

{coefficients(logit, "wife_now_wor~g", [("wife_age", "wife_age"), ("media_exposure", "media_exposure"), ("_cons", "Intercept")], "z")}
""",
)
two = pd.crosstab(cmc.wife_education, cmc.media_exposure)
rows = [
    f"{level:>10} | {row[0]:9,} {row[1]:10,} | {row.sum():9,} " for level, row in two.iterrows()
]
write(
    "stata_tabulate.log",
    "\n".join(
        [
            ". tabulate wife_education media_exposure",
            "",
            "wife_educa |    media_exposure",
            "      tion |         0          1 |     Total",
            "-----------+----------------------+----------",
            *rows,
            "-----------+----------------------+----------",
            f"     Total | {two[0].sum():9,} {two[1].sum():10,} | {N:9,} ",
            "",
        ]
    ),
)
one = cmc.num_children.value_counts().sort_index()
share = 100 * one / N
rows = [
    f"{level:>11} | {count:10,} {share[level]:11.2f} {share.loc[:level].sum():11.2f}"
    for level, count in one.items()
]
write(
    "stata_oneway.log",
    "\n".join(
        [
            ". tab num_children",
            "",
            "num_childre |",
            "          n |      Freq.     Percent        Cum.",
            "------------+-----------------------------------",
            *rows,
            "------------+-----------------------------------",
            f"      Total | {N:10,}      100.00",
            "",
        ]
    ),
)
age = cmc.wife_age
write(
    "stata_summarize.log",
    f""". summarize wife_age

    Variable |        Obs        Mean    Std. dev.       Min        Max
-------------+---------------------------------------------------------
    wife_age | {N:10,}    {age.mean():.5f}    {age.std():.6f} {age.min():10} {age.max():10}
""",
)
first = smf.ols("num_children ~ wife_age", cmc).fit()
second = smf.ols("num_children ~ wife_age + wife_now_working", cmc).fit()


def stars(p: float) -> str:
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def cell(fit, name: str, *, digits: int = 4, space: str = "") -> str:
    return (
        f"{fit.params[name]:.{digits}f}{space if stars(fit.pvalues[name]) else ''}{stars(fit.pvalues[name])}"
        if name in fit.params
        else ""
    )


def error(fit, name: str, *, digits: int = 4) -> str:
    return f"({fit.bse[name]:.{digits}f})" if name in fit.params else ""


TERMS = (("wife_age", "wife_age"), ("wife_now_working", "wife_now_working"), ("_cons", "Intercept"))
lines = ['"","(1)","(2)"', '"","num_children","num_children"']
for shown, name in TERMS:
    lines += [
        f'"{shown}","{cell(first, name)}","{cell(second, name)}"',
        f'"","{error(first, name)}","{error(second, name)}"',
    ]
lines += [
    f'"N","{N}","{N}"',
    f'"R-sq","{first.rsquared:.3f}","{second.rsquared:.3f}"',
    f'"adj. R-sq","{first.rsquared_adj:.3f}","{second.rsquared_adj:.3f}"',
]
lines += ['"Standard errors in parentheses"', '"* p<0.05, ** p<0.01, *** p<0.001"']
write(
    "stata_esttab.csv",
    "\n".join(
        f"{','.join('=' + part for part in line.split(','))}" if k < len(lines) - 2 else line
        for k, line in enumerate(lines)
    )
    + "\n",
)
book = openpyxl.Workbook()
sheet = book.active
sheet["A1"] = "wife_education by wife_now_working"
for k, (level, counts) in enumerate(
    pd.crosstab(
        cmc.wife_education, cmc.wife_now_working, margins=True, margins_name="Total"
    ).iterrows()
):
    if k == 0:
        for column, word in enumerate(["", *counts.index]):
            sheet.cell(3, column + 2, word)
    for column, value in enumerate([level, *map(int, counts)]):
        sheet.cell(4 + k, column + 2, value)
book.save(PLACE / "stata_putexcel.xlsx")

# SPSS's forms.
counts = cmc.wife_education.value_counts().sort_index()
share, rows = (
    100 * counts / N,
    ["wife_education", ",,Frequency,Percent,Valid Percent,Cumulative Percent"],
)
for k, (level, count) in enumerate(counts.items()):
    rows.append(
        f"{'Valid' if k == 0 else ''},{level},{count},{share[level]:.1f},{share[level]:.1f},{share.loc[:level].sum():.1f}"
    )
write("spss_frequencies.csv", "\n".join([*rows, f",Total,{N},100.0,100.0,", ""]))
cross = pd.crosstab(cmc.wife_education, cmc.wife_religion)
rows = [
    "wife_education * wife_religion Crosstabulation",
    "Count",
    ",,wife_religion,,Total",
    ",,0,1,",
]
rows += [
    f"{'wife_education' if k == 0 else ''},{level},{row[0]},{row[1]},{row.sum()}"
    for k, (level, row) in enumerate(cross.iterrows())
]
write("spss_crosstabs.csv", "\n".join([*rows, f"Total,,{cross[0].sum()},{cross[1].sum()},{N}", ""]))
linear = smf.ols("num_children ~ wife_age + media_exposure", cmc).fit()
book = openpyxl.Workbook()
sheet = book.active
sheet.append(["Coefficients"])
sheet.append(
    ["Model", "", "Unstandardized Coefficients", "", "Standardized Coefficients", "t", "Sig."]
)
sheet.append(["", "", "B", "Std. Error", "Beta", "", ""])
spread = cmc.num_children.std()
for k, (shown, name) in enumerate(
    (("(Constant)", "Intercept"), ("wife_age", "wife_age"), ("media_exposure", "media_exposure"))
):
    beta = "" if k == 0 else round(linear.params[name] * cmc[name].std() / spread, 3)
    sheet.append(
        [
            1 if k == 0 else "",
            shown,
            round(linear.params[name], 3),
            round(linear.bse[name], 3),
            beta,
            round(linear.tvalues[name], 3),
            round(linear.pvalues[name], 3),
        ]
    )
sheet.append(["a. Dependent Variable: num_children"])
book.save(PLACE / "spss_regression.xlsx")

# texreg's and modelsummary's forms.
R = (
    ("wife_age", "wife_age"),
    ("wife_now_working", "wife_now_working"),
    ("(Intercept)", "Intercept"),
)
lines = ["", "=" * 43, f"{'':<18}{'Model 1':>11}{'Model 2':>14}", "-" * 43]
for shown, name in (R[2], R[0], R[1]):
    lines.append(
        f"{shown:<18}{cell(first, name, digits=2, space=' '):>13}{cell(second, name, digits=2, space=' '):>14}".rstrip()
    )
    lines.append(
        f"{'':<18}{error(first, name, digits=2):>10}{error(second, name, digits=2):>14}".rstrip()
    )
lines += [
    "-" * 43,
    f"{'R^2':<18}{first.rsquared:>9.2f}{second.rsquared:>14.2f}",
    f"{'Adj. R^2':<18}{first.rsquared_adj:>9.2f}{second.rsquared_adj:>14.2f}",
]
lines += [f"{'Num. obs.':<18}{N:>6}{N:>14}", "=" * 43, "*** p < 0.001; ** p < 0.01; * p < 0.05", ""]
write("texreg_screen.txt", "\n".join(lines))
html = ["<table><tr><th> </th><th>Model 1</th><th>Model 2</th></tr>"]
for shown, name in (R[2], R[0], R[1]):
    for part, head in ((cell, shown), (error, " ")):
        html.append(
            f"<tr><td>{head}</td><td>{part(first, name)}</td><td>{part(second, name)}</td></tr>"
        )
html += [
    f"<tr><td>{head}</td><td>{one}</td><td>{two}</td></tr>"
    for head, one, two in (
        ("Num.Obs.", N, N),
        ("R2", f"{first.rsquared:.3f}", f"{second.rsquared:.3f}"),
        ("R2 Adj.", f"{first.rsquared_adj:.3f}", f"{second.rsquared_adj:.3f}"),
    )
]
write("modelsummary.html", "\n".join([*html, "</table>", ""]))
part = ["part,term,statistic,(1),(2)"]
for shown, name in (R[2], R[0], R[1]):
    part.append(f"estimates,{shown},estimate,{cell(first, name)},{cell(second, name)}")
    part.append(f"estimates,{shown},std.error,{error(first, name)},{error(second, name)}")
part += [
    f"gof,Num.Obs.,,{N},{N}",
    f"gof,R2,,{first.rsquared:.3f},{second.rsquared:.3f}",
    f"gof,R2 Adj.,,{first.rsquared_adj:.3f},{second.rsquared_adj:.3f}",
    "",
]
write("modelsummary.csv", "\n".join(part))

# Correlations, a histogram, an analysis of variance, a mixed model and sums of weights, as pandas and statsmodels print them.
cmc[["wife_age", "num_children", "husband_education"]].corr().to_csv(PLACE / "pandas_corr.csv")
cmc.wife_age.value_counts(bins=[10, 25, 35, 60], sort=False).rename_axis("wife_age").to_csv(
    PLACE / "pandas_bins.csv"
)
pd.crosstab(
    cmc.wife_education, cmc.wife_now_working, values=cmc.standard_of_living, aggfunc="sum"
).to_csv(PLACE / "pandas_weighted.csv")
by_education = smf.ols("num_children ~ C(wife_education)", cmc).fit()
variance = sm.stats.anova_lm(by_education)
write("statsmodels_anova.txt", f"{variance}\n")
variance.to_csv(PLACE / "statsmodels_anova.csv")
mixed = smf.mixedlm("num_children ~ wife_age + wife_now_working", cmc, groups="wife_education")
write("statsmodels_mixed.txt", f"{mixed.fit().summary()}\n")

# lifelines' and Stata's forms of these.
happened = cmc.contraceptive_method == 1
steps, survival = [], 1.0
for age in sorted(cmc.wife_age.unique()):
    at_risk, events = int((cmc.wife_age >= age).sum()), int(happened[cmc.wife_age == age].sum())
    survival *= 1 - events / at_risk
    steps.append((age, at_risk, events, int((cmc.wife_age == age).sum()) - events, survival))
curve = "".join(f"{age:.1f},{share}\n" for age, *_, share in steps)
write("../brought_survival/lifelines_survival.csv", f"timeline,KM_estimate\n0.0,1.0\n{curve}")
rows = "".join(
    f"{age:6d}{risk:9,d}{events:7d}{lost:7d}{share:19.4f}    0.0000     0.0000    0.0000\n"
    for age, risk, events, lost, share in steps
)
write(
    "../brought_survival/stata_sts_list.log",
    ". sts list\n\n        Failure _d: contraceptive_method==1\n  Analysis time _t: wife_age\n\n"
    "Kaplan\u2013Meier survivor function\n\n"
    "             Beg.            Net           Survivor      Std.\n"
    "  Time      total   Fail   lost           function     error     [95% conf. int.]\n"
    f"{'-' * 79}\n{rows}{'-' * 79}\n",
)
sums = pd.crosstab(
    cmc.wife_education, cmc.wife_now_working, values=cmc.standard_of_living, aggfunc="sum"
)
lines = [
    ". tabulate wife_education wife_now_working [fw=standard_of_living]",
    "",
    "wife_educa |   wife_now_working",
    "      tion |         0          1 |     Total",
    "-----------+----------------------+----------",
]
for level, row in sums.iterrows():
    lines.append(f"{level:10d} |{row[0]:10,d} {row[1]:10,d} |{row.sum():10,d} ")
total = sums.sum()
lines.append("-----------+----------------------+----------")
lines.append(f"     Total |{total[0]:10,d} {total[1]:10,d} |{total.sum():10,d} ")
write("stata_fweights.log", "\n".join([*lines, ""]))
between, within = variance.iloc[0], variance.iloc[1]
write(
    "stata_anova.log",
    ". oneway num_children wife_education\n\n"
    "                        Analysis of variance\n"
    "    Source              SS         df      MS            F     Prob > F\n"
    f"{'-' * 72}\n"
    f"Between groups {between.sum_sq:15.6f}{between.df:7.0f} {between.mean_sq:12.6f} {between.F:9.2f}     {between['PR(>F)']:.4f}\n"
    f" Within groups {within.sum_sq:15.5f}{within.df:7.0f} {within.mean_sq:12.8f}\n"
    f"{'-' * 72}\n"
    f"    Total      {variance.sum_sq.sum():15.5f}{variance.df.sum():7.0f} {variance.sum_sq.sum() / variance.df.sum():12.8f}\n",
)
matrix = cmc[["wife_age", "num_children"]].corr()
write(
    "stata_correlate.log",
    f". correlate wife_age num_children\n(obs={N:,})\n\n"
    "             | wife_age num_ch~n\n-------------+------------------\n"
    f"    wife_age |   1.0000 \nnum_children |   {matrix.iloc[0, 1]:.4f}   1.0000 \n",
)
