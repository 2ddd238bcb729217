"""Raw text and image-text shards in, training-ready Arrow out: shards and what is done to them.

    inputs ─ read ─ filters ─┬─ tokens ─ dataset      recipe ─ prepare ─ phases of works ─ runs
                             └─ corpus: what needs all documents, then a further pass

Twelve rooms; imports go down only (`make lint` holds it):

    measure   probe   train        a run predicted; storage tried; models that steps take
    prepare                        a recipe made into a run, its report, `inspect`, the dry run
    contamination   tokens         benchmark items found and cut; documents to what trainers read
    corpus                         steps that need all documents: one protocol, one shuffle
    filters                        steps that look at one batch; `kernels/` their loops
    read                           files to batches of documents: a reader a format
    runs                           work done once: receipts, phases, resume; knows no step
    storage                        bytes, local or S3: atomic, cached, locked
    core                           what all others speak in: schema, config, ledger, step, stage

Each room's own page says what flows through it and which module to open first. Where to look for

    how a document's text is shingled      dedup/shingle.py, called from corpus/near.py
    where a duplicate is decided           corpus/equal.py (`find_equal`), corpus/near.py
                                           (`find_edges`, `join_forests`)
    where a removed row is written         core/step.py (`removed_rows`) makes it,
                                           prepare/shard.py (`Tally.receipts`) writes it
    the way of a shard through a pass      prepare/shard.py (`run_pass`)
    the order of all phases                prepare/phases.py
    where to add a step                    a filter: a module in filters/, and `filters/stages.py`;
                                           one that needs all documents: a `CorpusStep` in corpus/,
                                           and `prepare/steps.py`; your own, outside: `register` of
                                           core/step.py, in a module that TOKENMILL_PLUGINS names
"""
