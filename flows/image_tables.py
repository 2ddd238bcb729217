"""The images of a run as tables in the terminal: where they went, and those of a document."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from tokenmill.flows.show import table
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.sizing.units import format_bytes

Row = Mapping[str, Any]


def image_tables(report: Report) -> list[Table]:
    """Images by stage, and by reason; nothing for a run of text alone."""
    rows = [
        (
            row.stage,
            images.images_in,
            sum(images.removed.values()),
            sum(images.failed.values()),
            images.with_document,
            images.images_out,
            format_bytes(images.bytes_out),
        )
        for row in report.ledger
        if (images := row.images)
    ]
    if not rows:
        return []
    columns = ("stage", ">in", ">removed", ">failed", ">with document", ">out", ">bytes out")
    made = [table("where the images went", columns, rows)]
    reasons = report.images_that_left()
    if reasons:
        made.append(table("why images left", ("stage", "outcome", "reason", ">images"), reasons))
    return made


def documents_and_images(report: Report) -> list[tuple[str, str, str, int, int]]:
    """(stage, outcome, reason, documents, images), by stage; images that left on their own."""
    docs = {(stage, out, why): n for stage, out, why, n in report.documents_that_left()}
    images = {(stage, out, why): n for stage, out, why, n in report.images_that_left()}
    stages = [row.stage for row in report.ledger]
    both = sorted(dict.fromkeys([*docs, *images]), key=lambda key: stages.index(key[0]))
    return [(*key, docs.get(key, 0), images.get(key, 0)) for key in both]


def images_left(report: Report) -> str:
    """How many images there are at the end, and how many went with their documents."""
    of = [row.images for row in report.ledger if row.images]
    gone = sum(images.with_document for images in of)
    return f"{of[-1].images_out:,} images are left; {gone:,} went with their documents"


def removed_table(reason: str, rows: Sequence[Row]) -> Table:
    """Receipts of images that left for a reason."""
    columns = (">doc_id", ">image", "stage", ">value", "where it stands")
    cells = [
        (str(r["doc_id"]), r["number"], r["stage"], r["value"], _lines(r["path"], r["url"], r))
        for r in rows
    ]
    return table(f"images, {reason}: the first {len(rows)}", columns, cells)


def fates_table(document: Row) -> Table:
    """The images of a document, as `pipelines.prepare.inspect` tells them."""
    columns = (">image", "format", ">pixels", ">bytes", "fate", "where it stands")
    cells = [
        (
            i["number"],
            i["format"],
            f"{i['width']:,} x {i['height']:,}" if i["width"] and i["height"] else None,
            format_bytes(i["bytes"]) if i["bytes"] else None,  # 0: not to be had
            _fate(i),
            _lines(i["path"], i["url"], i),
        )
        for i in document["images"]
    ]
    return table(f"images of {document['id']}", columns, cells)


def with_numbers(document: Row) -> str:
    """The text of a document, with the number of an image where the image stands.

    Placeholders are those of images that could be read.
    """
    numbers = [i["number"] for i in document.get("images", ()) if i["stage"] != "read"]
    pieces = document["text"].split(PLACEHOLDER)
    if len(pieces) != len(numbers) + 1:  # a sample has none; text alone is as it was written
        return str(document["text"])
    places = [f"[image {number}]" for number in numbers]
    return pieces[0] + "".join(p + t for p, t in zip(places, pieces[1:], strict=True))


def _fate(image: Row) -> str:
    fate = image["fate"].replace("_", " ")
    if image["reason"] is None:
        return str(fate)
    value = "" if image["value"] is None else f" ({image['value']:g})"
    return f"{fate} at {image['stage']}: {image['reason']}{value}"


def _lines(path: str, url: str | None, image: Row) -> str:
    """Path and URL of an image, what its receipt says, and which image it repeats."""
    repeats = image["duplicate_of"]
    of = None if repeats is None else f"repeats image {image['duplicate_number']} of {repeats}"
    told = dict.fromkeys(line for line in (path, url, image["detail"], of) if line)
    return "\n".join(told)
