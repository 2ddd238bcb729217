"""What a run would do, before it does anything: inputs, shards, steps, disk needed and free.

What is to be mixed, told before a run: weights, shares, and how much that will be.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenmill.pipelines.core.places import Place, is_remote
from tokenmill.pipelines.core.shard import Plan, SourceShard
from tokenmill.pipelines.corpus.passes import corpus_steps, passes
from tokenmill.pipelines.corpus.step import Pass
from tokenmill.pipelines.prepare.against import remarks
from tokenmill.pipelines.prepare.prepare import plan_run
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.read.images.webdataset import texts_taken
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.read.plan import texts_from
from tokenmill.pipelines.read.readers import reader_named
from tokenmill.sizing.document.section import count
from tokenmill.sizing.units import format_count


def mixture_lines(recipe: Recipe) -> Iterator[str]:
    """Lines for people, of a recipe that shuffles."""
    yield f"shuffled by seed {recipe.output.seed}, {count(recipe.output.epochs, 'epoch')}"
    if recipe.mix is not None:
        total = sum(recipe.mix.named.values())
        for source, share in recipe.mix.named.items():
            yield f"{source}: {100 * share / total:.4g} % of the tokens"
        if recipe.mix.weights is not None:
            yield f"each document as often as its {recipe.mix.weights} says"
        elif recipe.mix.tokens is None:
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


# Assumptions, each on the safe side; `tokenmill measure` replaces them by measurements.
TEXT_BYTES_PER_TOKEN = 3.0  # English text: 4 to 5; code and other languages: 2 to 4
BYTES_PER_DOC = 1000  # web and documentation text: 2,000 to 10,000
SCRATCH_BYTES_PER_DOC = 700  # digest 16, signature 448, band keys 112, edges and receipts
FILTERED_FRAC = 1.0  # of the text: lz4 about halves it, unless it does not compress


def dry_run(recipe: Recipe, out: Place) -> dict[str, Any]:
    """The plan of a run as JSON data; nothing is written. ConfigError as the run itself would."""
    plan = plan_run(recipe)
    for step in corpus_steps(recipe.steps):
        step.look_into()
    settings = recipe.tokenizing()
    parts = passes(recipe.steps)
    illustrated = sum(shard.bytes for shard in plan.shards if _holds_images(shard))
    text = sum(shard.bytes for shard in plan.shards) - illustrated
    pages = (shard.bytes for shard in plan.shards if reader_named(shard.format).section == "html")
    token_bytes = text / TEXT_BYTES_PER_TOKEN * settings.id_bytes
    need = {
        "intermediates": round(sum(_scratch(text, part) for part in parts[:-1])),
        "token shards": round(token_bytes),
        "dataset": round(token_bytes),
    }
    if recipe.output.shuffle:
        tokens = {shard: shard.bytes / TEXT_BYTES_PER_TOKEN for shard in plan.shards}
        need["mixing"] = round(mixed_tokens(recipe, tokens) * settings.id_bytes)
        need["dataset"] = need["mixing"]
    if recipe.output.text is not None:  # what does not compress stands in it as it is
        copies = need["dataset"] / token_bytes if token_bytes else 1.0
        need["token shards"] += text
        need["text"] = round(text * copies)
        if recipe.output.shuffle:
            need["mixing"] += need["text"]
    if recipe.run.keep_index:
        need["index"] = round(sum(_sidecars(text, part) for part in parts[:-1]))
    if recipe.images is not None:
        images = _image_bytes(recipe.images, illustrated, len(parts))
        need = {name: need.get(name, 0) + images.get(name, 0) for name in need | images}
    # how far the run could go with its memory, of steps that hold something of every document
    limits = (step.limit(recipe.run.budget_bytes) for step in corpus_steps(recipe.steps))
    return {
        "name": recipe.name,
        "files": [{"path": f.path, "bytes": f.bytes} for f in plan.read],
        "failed_inputs": [f.to_json() for f in plan.failed],
        "skipped": list(plan.skipped),
        "other_format": list(plan.other_format),
        "idle": list(plan.idle),
        "texts": texts_from(plan),
        **({"captions": _captions(recipe, plan)} if recipe.images else {}),
        "shards": len(plan.shards),
        "text_bytes": text,
        "page_bytes": sum(pages),
        **(_of_images(plan.shards, illustrated) if recipe.images else {}),
        **_of_earlier(recipe, plan),
        **({"mixture": list(mixture_lines(recipe))} if recipe.output.shuffle else {}),
        "steps": [step.name for step in recipe.steps],
        "passes": len(parts),
        "limits": [f"{limit}, by {recipe.run.budget_key}" for limit in limits if limit],
        "tokenizer": recipe.tokenizer
        and settings.dtype
        and {"path": recipe.tokenizer.path, "dtype": settings.dtype.name},
        "disk_needed_bytes": need,
        "disk_needed_total_bytes": sum(need.values()),
        "disk_free_bytes": _free(out),
        "assumptions": {
            "text_bytes_per_token": TEXT_BYTES_PER_TOKEN,
            "bytes_per_doc": BYTES_PER_DOC,
            "scratch_bytes_per_doc": SCRATCH_BYTES_PER_DOC,
        },
    }


def _captions(recipe: Recipe, plan: Plan) -> dict[str, dict[str, list[str]]]:
    """Of each source of tars, where the first samples of its first tar have texts, what fields stay
    behind, and which columns that the recipe names none of them has.
    """
    first = {s.source: s for s in reversed(plan.shards) if reader_named(s.format).samples}
    looked = {name: texts_taken(s, recipe.limits) for name, s in sorted(first.items())}
    names = ("taken", "left", "absent")
    return {name: dict(zip(names, told, strict=True)) for name, told in looked.items()}


def _scratch(text: int, part: Pass) -> float:
    """Bytes between a pass and the next."""
    docs = text / BYTES_PER_DOC
    of_steps = sum(step.scratch_bytes(text, docs) for step in part.after if not step.has_keys)
    return text * FILTERED_FRAC + _sidecars(text, part) + of_steps


def _sidecars(text: int, part: Pass) -> float:
    """Bytes of the keys that a pass makes."""
    of_texts = text * sum(step.keys_frac for step in part.finders)
    return of_texts + text / BYTES_PER_DOC * SCRATCH_BYTES_PER_DOC if part.finders else 0


def _of_earlier(recipe: Recipe, plan: Plan) -> dict[str, Any]:
    """The runs that it stands against, and what to know of that; nothing where there are none."""
    if not plan.against:
        return {}
    runs = [
        {"path": str(run.out), "docs": run.docs, "index_bytes": run.index_bytes}
        for run in plan.against
    ]
    return {"against": {"runs": runs, "remarks": remarks(recipe, plan.against)}}


def _holds_images(shard: SourceShard) -> bool:
    return shard.images is not None or reader_named(shard.format).section == "images"


def _of_images(shards: Sequence[SourceShard], illustrated: int) -> dict[str, Any]:
    """Bytes of what has images, texts included, and the inputs of which but text is read."""
    alone = [shard.paths[0] for shard in shards if not _holds_images(shard)]
    return {"illustrated_bytes": illustrated, "without_images": list(dict.fromkeys(alone))}


def _image_bytes(images: Images, size: int, n_passes: int) -> dict[str, int]:
    """Bytes of images by what they are written to: on the safe side, all that inputs with images
    are, and nothing removed.
    """
    stored = images.store == "bytes"
    is_written = {
        "images between passes": stored or (images.webdataset and n_passes > 1),
        "dataset": stored,
        "webdataset": images.webdataset,
    }
    return {name: size for name, wanted in is_written.items() if wanted}


def _free(out: Place) -> int | None:
    """Bytes that are free there; None on an object store, which does not say."""
    if is_remote(out):
        return None
    path = Path(out).absolute()
    # the nearest folder that exists: where the run directory would be made
    return shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free
