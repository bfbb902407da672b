"""report.html: one self-contained page of sections, made of text, key numbers, tables and figures."""

from haloid.report.html.page import write_report
from haloid.report.html.parts import Figure, KeyNumbers, Note, Part, Picture, Section, Table, Text

__all__ = ["Figure", "KeyNumbers", "Note", "Part", "Picture", "Section", "Table", "Text", "write_report"]
