"""The pages that users read: README.md, and those of the rooms."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FIRST = ROOT / "README.md"
ROOMS = tuple(
    sorted(
        page
        for top in ("pipelines", "dedup", "flows", "sizing", "tests")
        for page in (ROOT / top).rglob("README.md")
    )
)


def blocks(kind: str, pages: tuple[Path, ...] = (FIRST, *ROOMS)) -> Iterator[str]:
    """What stands between ```kind and ``` in some pages, all of them unless told."""
    for page in pages:
        for block in page.read_text().split(f"```{kind}\n")[1:]:
            yield block.split("```")[0]
