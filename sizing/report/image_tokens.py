"""What a sheet of images is for several tokens of an image, where a run says nothing of them."""

from tokenmill.sizing.document.section import Table, table
from tokenmill.sizing.requirements import requirement_sheet
from tokenmill.sizing.sections.corpus import patch_tokens
from tokenmill.sizing.sheet import Sheet

CAPTION = "By the tokens of an image, which are not known"
KEY = "tokens_per_image"
TRIED = (64.0, 256.0, 576.0)
FIGURES = (
    "tokens trained on",
    "read bandwidth, whole job",
    "images, whole job",
    "cores to decode images, whole job",
    "training time",
)


def by_image_tokens(sheet: Sheet) -> Table | None:
    """The figures that they move, for each; None where they are known, or of several sources."""
    found = sheet.measurements.get("corpus")
    if found is None or not found.image_tokens_unknown or sheet.stated(f"corpus.{KEY}"):
        return None
    tried = {f"{n:g}": n for n in TRIED} | {"patch 14": patch_tokens(found)}
    rows = []
    for name, tokens in tried.items():
        corpus = sheet.plan.corpus.model_copy(update={KEY: tokens})
        plan = sheet.plan.model_copy(update={"corpus": corpus})
        of = requirement_sheet(plan, sheet.measurements)
        rows.append((name, *(of[f].shown if f in of else "not measured" for f in FIGURES)))
    return table(CAPTION, ("tokens", *(f">{name}" for name in FIGURES)), rows)
