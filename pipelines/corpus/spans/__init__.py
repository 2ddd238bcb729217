"""The step that takes out what stands twice inside documents, `repeated_spans`.

    text ── minimizers ── n-grams ── runs ── apply

Read `settings` first, then `step`, the order of the phases; then `ngrams`, with the runs they make,
and `apply`.
"""
