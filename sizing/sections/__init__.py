"""Sections of the sheet, in the order of `requirements.SECTIONS`, each with TITLE and add(sheet).

Each adds its rows from the plan, the measured corpora and the rows before it.
"""
