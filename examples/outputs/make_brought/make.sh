#!/usr/bin/env bash
# Make the outputs again: R with broom and survival and survival, Python with pandas, statsmodels and openpyxl, LibreOffice.
set -e
cd "$(dirname "$0")/.."
Rscript make_brought/make.R
"${PYTHON:-python3}" make_brought/make.py
soffice --headless --convert-to ods --outdir brought brought/calc_two_tables.xlsx > /dev/null
rm brought/calc_two_tables.xlsx
