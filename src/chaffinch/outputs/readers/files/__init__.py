"""Output files as people bring them: text of R, Stata and SPSS, tables in CSV and workbooks. Each reader is one module, registered in `READERS`."""
