"""The steps of our own, in the order in which they are shown; a step of others is made known alike.

Each is imported when a recipe names it. Everything else asks a step for what it needs, and knows
none by its class.
"""

from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.filters.stages import STAGES

CORPUS = "tokenmill.pipelines.corpus"
OWN_STEPS = {
    **STAGES,
    "exact": f"{CORPUS}.equal:ExactDedup",
    "near": f"{CORPUS}.near:NearDedup",
    "same_url": f"{CORPUS}.equal:SameUrl",
    "same_images": f"{CORPUS}.equal:SameImages",
    "repeated_images": f"{CORPUS}.counted.images:RepeatedImages",
    "near_images": f"{CORPUS}.near_images:NearImages",
    "repeated_paragraphs": f"{CORPUS}.counted.paragraphs:RepeatedParagraphs",
    "repeated_spans": f"{CORPUS}.spans.step:RepeatedSpans",
    "decontaminate": "tokenmill.pipelines.contamination.decontaminate:Decontaminate",
}
STEPS.offer(OWN_STEPS)
