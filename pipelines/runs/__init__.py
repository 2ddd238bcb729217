"""Work that is done once: phases of works, their receipts, and the run directory they fill.

    settings, inputs ── identity ──► manifest.json: what this run is     held by one run at a time
    Phase: Work, Work, … ── executor ── do ──► files, and a Receipt each  proof that it is done
      └─ those without a receipt that holds     └─ the phase has ended: packs of 1,000 receipts
    Finished: all receipts ── report ──► manifest.json: what was done    a rerun reads this alone

Read first `work`: a job is a generator of phases, and `drive` has somebody do them. Then `receipt`,
which says what proves a work done, and `packs`, where receipts lie and how they are found again;
`standing` tells from them how far a run is.
`manifest` opens a run directory or refuses it, `finished` writes and reads its end, `folder` says
what lies where, `bundle` does works in another process. Nothing here knows a step or a recipe.

The room owns these nouns: a job (one run directory and what fills it), a work, a phase (works that
wait for none of each other), a receipt, its facts, a pack, an outcome, the identity of a run (all
that decides its output), its manifest.
"""
