"""Results to pictures and pages: plain data in, self-contained SVG and HTML out."""
