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

Each room's `__init__.py` says what flows through it and which module to open first; its README.md
is for who runs tokenmill. Beside this folder lie `dedup/` (what deduplication and matching compute;
it knows no step), `sizing/` (what storage to buy) and `flows/` (commands/, a module a command;
prefect/; pools/, who does the works). Where to look for

    text
      where a web page becomes text        read/web/warc.py reads records, read/web/extract.py
                                           guards the extractor, read/web/child.py calls it
      what charset a page is in            read/web/charset.py (`decode_page`)
      what is passed over as damaged       read/web/records.py (`read_past_damage`), in web archives
      how a document's text is shingled    dedup/text/shingle.py (`shingles_of`), called by
                                           dedup/same/minhash.py (`signed_shingles`), which
                                           `NearDedup.key_columns` in corpus/near.py calls
      where images stand in a text         read/images/layouts.py (`laid_out`), as corpora are
                                           published; of tars read/images/sample.py (`placed`)
      where it becomes token ids           tokens/tokenize.py (`Engine.encode`), called by
                                           tokens/shards.py
    what leaves, and what stays
      the verdict of a filter              the filter's module; one that asks a model, of its
                                           language or quality, in filters/models/
      where a duplicate is decided         equal: corpus/equal.py (`find_equal`). Nearly the same:
                                           dedup/same/sets.py (`shared`); corpus/edges.py
                                           (`Comparing`) gives it the candidates
      a column that a step adds            core/filter.py (`Filter.judge` fills it), or `Step`'s
      what `select: {where}` means         filters/select.py (`Where`)
      how often a mixture has a document   tokens/mix/weights.py (`weighed`), of the groups that
                                           tokens/mix/groups.py counts
      which of a cluster stays             equal: `_kept` in corpus/equal.py. Nearly the same:
                                           `decide` in corpus/stars.py; of components
                                           `join_forests` in corpus/near.py. Images: `stars` in
                                           dedup/same/images.py, for corpus/near_images.py
      how many left for it, `copies_near`  corpus/copies.py (`counted`), read by tokens/shards.py
      where a removed row is written       core/step.py (`removed_rows`) makes it,
                                           prepare/shard.py (`Tally.note`) writes it; of a mixture
                                           tokens/mix/spill.py, of packing tokens/dataset.py
      where kept text is written           tokens/text.py (`text_file`), for tokens/dataset.py
      training or validation               tokens/shards.py (`in_validation`)
      where a benchmark item is matched    dedup/overlap/find.py (`find`); its edited copies:
                                           dedup/overlap/containment.py; in other words:
                                           dedup/overlap/paraphrase.py; called by
                                           contamination/found.py, contamination/copies.py and
                                           contamination/paraphrases.py
      whether an item is dirty             contamination/analysis.py (`Analysis`), by the shares of
                                           contamination/shares.py unless as published
    the run
      the order of all phases              prepare/phases.py
      the way of a shard through a pass    prepare/shard.py (`run_pass`)
      what a rerun does not do again       runs/drive.py (`_Driving.run`) hands out works without
                                           a receipt that holds (`valid_receipt` in
                                           runs/receipt.py); runs/packs.py packs them, and looks
                                           them up (`find_receipts`);
                                           prepare/prepare.py (`finished_report`), a whole run
      `tokenmill status`: how far it is    runs/standing.py (`look`) while it goes on; then what the
                                           manifest has of its report, flows/commands/status.py
      who does the works                   flows/pools/choose.py: threads, processes, Dask, jobs
                                           of SLURM; job arrays are planned in
                                           flows/pools/array.py (`plan`)
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
      Prefect's flows                      flows/prepare.py, flows/measure.py, …; what they do,
                                           flows/doing/; what is noted of it, flows/notes.py
    figures
      duplicates, from a sample            measure/copies.py (`Probing`), of `near`
                                           measure/earlier.py; who passes the filters before,
                                           measure/passing.py; measure/left.py makes shares of it by
                                           measure/unique.py and, of a part (`--budget`),
                                           measure/unseen.py
      how much disk a run will take        prepare/dry_run.py, at most, by the inputs' sizes;
                                           measure/scratch.py, by folder, from a sample
      a formula of sizing                  sizing/formulas/, a module a subject, as
                                           sizing/formulas/checkpoint.py; sizing/sections/ puts
                                           it on the sheet, sizing/verdict.py judges a tier by it
    where to add
      a filter                             a `Filter` (core/filter.py) in a module of filters/, as
                                           filters/length.py (models/ if it asks a model, images/
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
