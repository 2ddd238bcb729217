"""The words that all other rooms speak in: what a recipe says, what flows, what is counted.

    recipe: Config, Step, Input     plan: SourceShard, Plan      batches: DOCUMENT, REMOVED, …
    a stage: batch in  ──►  batch out, a row for each document that left, StageStats (what adds up)

Open `schema` first, which says what documents are, then `step`, which says what is done to them,
and `shard`, which says what is read. Nothing here reads or writes data. What is opened is opened to
check settings: a file that a recipe pins, and a plug-in.

Nouns of this room:

    step           settings with a name in a recipe; a stage is one that is called with a batch
    shard          a piece of one input, read by one work
    ledger         counts of documents, bytes and images by stage: what goes in comes out, or is
                   removed or failed and counted as such
    removed row    why a document or an image left (REMOVED, REMOVED_IMAGE)
    place          a folder here or a prefix of a bucket; roots say which are allowed
"""
