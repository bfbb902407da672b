"""The page: parts in, one self-contained HTML file out."""
