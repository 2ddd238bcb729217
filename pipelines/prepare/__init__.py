r"""A recipe made into a run.

    recipe --> plan (shards) --> phases: shard passes, corpus steps, tokens --> report
                   \__ against: documents that earlier runs hold __/

Begin with prepare.py, which does the whole; recipe.py says what can be asked for, phases.py in
which order it is done, shard.py how one shard goes through a pass, steps.py which steps there are,
dry_run.py what a run will do and take at most, inspect.py what one finds in a run. The
room owns the recipe, the identity of a run and its phases.
"""
