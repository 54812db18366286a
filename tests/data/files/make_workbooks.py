"""The workbook behind visits.*: made by openpyxl without stored values, then saved by LibreOffice, which computes and stores them.

python make_workbooks.py
soffice --headless --convert-to xlsx --outdir saved visits.xlsx      # and ods, and xls
soffice --headless --convert-to csv:"Text - txt - csv (StarCalc)":9,34,65535,1 people_r.csv      # people_utf16.dat
"""

from __future__ import annotations

import datetime

import openpyxl

if __name__ == "__main__":
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "May visits"
    sheet["B2"] = "Ward 7, May"
    sheet.merge_cells("B2:D2")
    for j, name in enumerate(["id", "age", "pay", "day", "seen", "code", "sex", "err", "twice"]):
        sheet.cell(4, 2 + j, name)
    for i in range(40):
        row = 5 + i
        age = 20 + i % 50
        day, seen = (
            datetime.date(2020, 1, 1) + datetime.timedelta(i),
            datetime.datetime(2020, 1, 1, 8, 30) + datetime.timedelta(hours=i),
        )
        cells = [
            1000 + i,
            age if i % 9 else str(age),
            round(100 + i * 1.37, 2),
            day,
            seen,
            f"{i % 7:03d}",
            "fm"[i % 2],
        ]
        for j, cell in enumerate([*cells, f"=IF(MOD(A{row}+{i},5)=0,1/0,{i % 4})", f"=C{row}*2"]):
            sheet.cell(row, 2 + j, cell)
    hidden = book.create_sheet("Hidden")
    hidden["A1"] = "secret"
    hidden.sheet_state = "hidden"
    book.create_sheet("Empty")
    book.save("visits.xlsx")
