r"""What a finished run has to say.

    receipts --> summary, images --> model.Report --> report.json (schema.json is its form)
                                          \__ sections, thumbnails --> report.md, report.html

Begin with model.py, which says what each key is. The room owns the report, its rows of the ledger,
and the sections that Markdown and the page both show.
"""
