r"""A recipe made into a run.

    recipe --> plan (shards) --> phases: shard passes, corpus steps, tokens --> report
                   \__ against: documents that earlier runs hold __/

Begin with prepare.py, which does the whole; recipe.py says what can be asked for, phases.py in
which order it is done, shard.py how one shard goes through a pass, steps.py which corpus-wide steps
there are. The room owns the recipe, the identity of a run, its phases, the dry run, and what
`inspect` finds in a run.
"""
