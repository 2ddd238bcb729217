"""Documents of any report, on one page: section says what they are made of.

section ─┬─ markdown
         └─ page, in HTML, with charts (drawn by svg), passages of texts, and pictures
"""
