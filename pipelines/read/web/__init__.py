"""Web archives (WARC, WET, ARC) become documents of pages.

    file ── cut_warc ──► shards ── read_members ──► bytes ── Walk ──► Record ── Pages ──► Page
                                                                        Page ── Extractor ──► text

Open `warc.py` first: it takes each record of a shard through the steps of the drawing, and counts
every record in the notes, also those that are no documents.

Nouns of this room:

    member         what was packed as one piece, as a rule one record
    record         a request, a response, a resource or a conversion, with its headers
    page           the content of a record that is a document
    coding         a transfer or content encoding of HTTP, as chunked or br
"""
