"""Text compared with text, on arrays: what is the same, nearly the same, or partly the same.

    Arrow text ── text ── words, hashes ──┬── same ───► the row that each equals, edges, clusters
                                          └── overlap ► spans of documents, documents without them

Knows no file format, step or run. `arrays` is the doorway from Arrow to `kernels`, the loops.
"""
