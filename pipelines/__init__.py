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
buy) and `flows/` (commands, Prefect, pools of workers). Where to look for

    text
      where a web page becomes text        read/web/warc.py reads records, read/web/extract.py
                                           guards the extractor, read/web/child.py calls it
      how a document's text is shingled    dedup/text/shingle.py (`shingles_of`), called by
                                           dedup/same/minhash.py (`signatures`), which
                                           `NearDedup.key_columns` in corpus/near.py calls
      where it becomes token ids           tokens/tokenize.py (`Engine.encode`), called by
                                           tokens/shards.py
    what leaves, and what stays
      the verdict of a filter              the filter's module; one that asks a model, of its
                                           language or quality, in filters/models/
      where a duplicate is decided         equal: corpus/equal.py (`find_equal`). Nearly the same:
                                           dedup/same/sets.py (`shared`); corpus/edges.py
                                           (`Comparing`) gives it the candidates
      a column that a step adds            core/filter.py (`Filter.annotations`), or `Step`'s; read
                                           by filters/select.py, tokens/mix/groups.py; written
                                           with the text, tokens/text.py
      which of a cluster stays             equal: `_kept` in corpus/equal.py. Nearly the same:
                                           `decide` in corpus/stars.py; of components
                                           `join_forests` in corpus/near.py
      how many left for it             corpus/copies.py (`counted`), read by tokens/shards.py
      where a removed row is written       core/step.py (`removed_rows`) makes it,
                                           prepare/shard.py (`Tally.note`) writes it;
                                           tokens/mix/spill.py, of a mixture's documents
      training or validation               tokens/shards.py (`in_validation`)
      where a benchmark item is matched    dedup/overlap/find.py (`find`); its edited copies:
                                           dedup/overlap/containment.py; called by
                                           contamination/found.py and contamination/copies.py
    the run
      the order of all phases              prepare/phases.py
      the way of a shard through a pass    prepare/shard.py (`run_pass`)
      what a rerun does not do again       runs/drive.py (`_run`) hands out works without a receipt
                                           that holds (`valid_receipt` in runs/receipt.py),
                                           runs/packs.py (`find_receipts`) looks them up;
                                           prepare/prepare.py (`finished_report`), a whole run
      how far it is, seen from outside     runs/standing.py (`look`)
      that nothing is lost                 core/ledger.py has the rules; runs/work.py (`do`) holds
                                           each work to them, prepare/report/summary.py
                                           (`ledger`) adds up shards and run
      what bounds the memory of a step     corpus/rows.py (`Corpus.memory_left`, a work's share of
                                           `run.memory_budget`), corpus/shuffle.py (`parts`)
      what TOKENMILL_ROOTS lets through    core/places.py (`within_roots`, `file_or_model`), of what
                                           is named; sizing/roots.py (`held`), of what is opened
      a write that must not overwrite      storage/s3.py (`ObjectStore.put`), for storage/lock.py
      report.html                          prepare/report/sections.py (`write_report`), with what
                                           each step's `told` returns; the page,
                                           sizing/document/page.py
      Prefect's flows                      flows/prepare.py, flows/measure.py, …
    figures
      duplicates, from a sample            measure/unique.py, if all inputs are read;
                                           measure/unseen.py, if a part is (`--budget`)
      how much disk a run will take        prepare/dry_run.py, at most, by the inputs' sizes;
                                           measure/scratch.py, by folder, from a sample
      a formula of sizing                  sizing/formulas/; sizing/sections/ puts it on the sheet,
                                           sizing/verdict.py judges a tier by it
    where to add
      a filter                             a module in filters/ (models/ if it asks a model, images/
                                           if it looks at images), and a line in
                                           filters/stages.py; a file in tests/golden/; `make pages`
      a step that needs all documents      a `CorpusStep` (corpus/step.py), most by way of
                                           `KeyedStep` (corpus/spill.py) and `VerdictStep`
                                           (corpus/verdicts.py), and a line in prepare/steps.py
                                           (`OWN_STEPS`); `make pages`
      a format                             a `Reader` in read/, registered in read/readers.py;
                                           `make pages`
      your own, outside of here            `register` of core/step.py or of read/readers.py, in a
                                           module that TOKENMILL_PLUGINS names
"""
