"""Web archives (WARC, WET, ARC) become documents of pages.

    file ── cut_warc ──► shards ── read_members ──► bytes ── Walk ──► Record ── Pages ──► Page
                                                                        Page ── Extractor ──► text

Open `warc.py` first: it takes each record of a shard through the steps of the drawing, and counts
every record in the notes, also those that are no documents.

    warc.py        also the places at which an archive can be cut; packed files do not say where
    members.py     gzip, zstd and lz4 members, unpacked, and their bytes in order
    records.py     records of WARC and ARC: headers, length, content; where they go on behind damage
    http.py        status, headers and codings of a response
    pages.py       which records are documents, by status and type, and by the bytes of the body
    charset.py     what charset its bytes are in, whatever it is told to be
    extract.py     tags counted before HTML is parsed, so that a bomb is refused; then its text, in
                   a process of its own (child.py) that may be killed

Nouns of this room:

    member         what was packed as one piece, as a rule one record
    record         a request, a response, a resource or a conversion, with its headers
    page           the content of a record that is a document
    coding         a transfer or content encoding of HTTP, as chunked or br
"""
