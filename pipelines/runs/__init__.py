"""Work that is done once: a run directory, its pieces of work, and the proof of each.

    job ── yields ──► Phase: Work, Work, … ── executor ──► Outcome, Outcome, …
     ▲                                                         │
     └── receipts: what each wrote, its account, its digest ◄──┘

Open `work` first: a job is a generator of phases, and `drive` runs it with any executor. The room
knows no step and no recipe: it is handed what to call, and digests of what that reads.

    folder.py      what lies where in a run directory
    manifest.py    what a run is; refuses another run, another process, an output among the inputs
    receipt.py     the proof of one work; packs.py: of all works of a phase that has ended
    finished.py    the manifest at the end, and whether all it lists is still there
    bundle.py      works done in turn by one process, here or on another machine
    options.py     settings of the command line in place of a recipe's
    report.py      what failed, as every report shows it

Nouns of this room: a work (repeatable, independent of its siblings), a phase (works of one step;
the next waits for all), a receipt, a pack, an identity (all that decides a run's output), a bundle.
"""
