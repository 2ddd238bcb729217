"""The step that takes out what stands twice inside documents, `repeated_spans`.

    text ── minimizers ── n-grams ── runs ── apply

Read `step` first: settings and the order of the phases. `size` cuts the work; then
`ngrams`, `runs` and `apply`, in the order in which they work.
"""
