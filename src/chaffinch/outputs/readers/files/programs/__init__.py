"""Texts of programs, one module each: what it prints, as lines of a file that hold outputs."""
