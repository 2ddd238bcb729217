r"""What a finished run has to say.

    receipts --> summary, images --> model.Report --> report.json (schema.json is its form)
                                          \__ sections, thumbnails --> report.md, report.html

Begin with model.py, which says what each key is; summary.py fills it, and fails the run if
documents or bytes do not add up. What one step shows is what its `told` returns, gathered by
summary.py and laid out by sections.py. The room owns the report, its rows of the ledger, and the
sections that Markdown and the page both show.
"""
