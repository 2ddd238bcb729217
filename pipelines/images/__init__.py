"""Images and the documents they stand in: facts, rules, repeats, what becomes of the bytes."""
