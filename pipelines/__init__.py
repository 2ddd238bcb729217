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
    core                           what all others speak in: schema, config, ledger, step

Each room's own page says what flows through it and which module to open first. Beside this folder
lie `dedup/` (what deduplication and matching compute; it knows no step), `sizing/` (what storage to
buy; verdict.py judges a tier) and `flows/` (commands, Prefect, pools of workers). Where to look for

    how a document's text is shingled      dedup/text/shingle.py (`shingles_of`), called by
                                           dedup/same/minhash.py (`signatures`), which
                                           `NearDedup.key_columns` in corpus/near.py calls
    where a duplicate is decided           equal: corpus/equal.py (`find_equal`). Nearly the same:
                                           corpus/near.py (`find_edges`, which two are alike);
                                           which of a cluster stays: `Forest.trees` in
                                           dedup/same/cluster.py
    where a removed row is written         core/step.py (`removed_rows`) makes it,
                                           prepare/shard.py (`Tally.note`) writes it;
                                           tokens/mix/spill.py, of a mixture's documents
    where a benchmark item is matched      dedup/overlap/find.py (`find`); its edited copies:
                                           dedup/overlap/containment.py; called by
                                           contamination/found.py and contamination/copies.py
    what a rerun does not do again         runs/receipt.py (`valid_receipt`), of works;
                                           prepare/prepare.py (`finished_report`), of a whole run
    how much disk a run will take          prepare/dry_run.py, at most, by the inputs' sizes;
                                           measure/scratch.py, by folder, from a sample
    where it is checked that nothing is    core/ledger.py has the rules; runs/work.py (`do`) holds
      lost                                 each work to them, prepare/report/summary.py each shard
                                           and the run
    the way of a shard through a pass      prepare/shard.py (`run_pass`)
    the order of all phases                prepare/phases.py
    what the report shows of a step        what the step's `told` returns, laid out by
                                           prepare/report/sections.py
    what bounds the memory of a step       corpus/rows.py (`Corpus.memory_left`, a work's share of
                                           `run.memory_budget`), corpus/shuffle.py (`parts`)
    where to add a filter                  a module in filters/, and a line in filters/stages.py;
                                           a golden file, and README's table of steps
    where to add a step that needs all     a `CorpusStep` in corpus/, and a line in prepare/steps.py
      documents                            (`OWN_STEPS`); README's table of steps
    where to add a format                  a `Reader` in read/, registered in read/readers.py
    where your own go, outside of here     `register` of core/step.py or of read/readers.py, in a
                                           module that TOKENMILL_PLUGINS names
"""
