"""What is to be mixed, told before a run: weights, shares, and how much that will be."""

from collections.abc import Iterator, Mapping

from tokenmill.pipelines.recipe import Recipe
from tokenmill.pipelines.shard import SourceShard
from tokenmill.sizing.document.section import count
from tokenmill.sizing.units import format_count


def mixture_lines(recipe: Recipe) -> Iterator[str]:
    """Lines for people; none where nothing is mixed."""
    output = recipe.output
    if not output.shuffle:
        return
    yield f"shuffled by seed {output.seed}, {count(output.epochs, 'epoch')}"
    if recipe.mix is not None:
        total = sum(recipe.mix.shares.values())
        for source, share in recipe.mix.shares.items():
            yield f"{source}: {100 * share / total:.4g} % of the tokens"
        if recipe.mix.tokens is None:
            yield "as many tokens as there are without repeating any source in an epoch"
        else:
            yield f"{format_count(recipe.mix.tokens)} tokens in an epoch"
        return
    for one in recipe.inputs:
        if one.weight != 1.0:
            yield f"{one.source_name}: weight {one.weight:g}, {one.path}"


def mixed_tokens(recipe: Recipe, tokens: Mapping[SourceShard, float]) -> float:
    """Tokens of the dataset, from how many each shard may have; at most, where shares are asked for
    of as many as there are.
    """
    if recipe.mix is None:
        mixed = sum(n * recipe.inputs[shard.input].weight for shard, n in tokens.items())
    else:
        mixed = sum(tokens.values()) if recipe.mix.tokens is None else recipe.mix.tokens
    return mixed * recipe.output.epochs
