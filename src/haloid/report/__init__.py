"""report.html: one self-contained page of sections, made of text, key numbers, tables and figures."""

from haloid.report.page import write_report
from haloid.report.parts import Figure, KeyNumbers, Note, Part, Section, Table, Text

__all__ = ["Figure", "KeyNumbers", "Note", "Part", "Section", "Table", "Text", "write_report"]
