"""How a mixture is asked for: shares of the training tokens by source."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field

from tokenmill.pipelines.core.config import Config
from tokenmill.sizing.units import parse_count

MOST_COPIES = 1_000_000  # of a document, in all epochs: of an input too, by its weight


def _count(value: Any) -> Any:
    return parse_count(value) if isinstance(value, str) else value


# a number of tokens, or text such as "300B"
Tokens: TypeAlias = Annotated[float, BeforeValidator(_count), Field(ge=1)]
Share: TypeAlias = Annotated[float, Field(gt=0)]


class Mix(Config):
    """Shares of the training tokens by source, from which the weight of each source follows.

        weight = share * tokens / tokens of the source

    Tokens of a source are those of its documents on the training side when all steps are done.

    shares: by name of the source, each of them; relative to their sum, as those that GPT-3 was
        trained on add up to 101 % (Brown et al. 2020, arXiv:2005.14165, table 2.2).
    tokens: of an epoch, about: documents stay whole; None: as many as there are without taking a
        document twice, so that of one source all is taken.
    """

    shares: Annotated[dict[str, Share], Field(min_length=1)]
    tokens: Tokens | None = None

    def check(self, sources: Iterable[str]) -> None:
        """Compare with the names of all sources.

        Raises:
            ValueError: a name is none of theirs, or a source has no share.
        """
        known = sorted(set(sources))
        for name in self.shares:
            if name not in known:
                near = get_close_matches(name, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"sources: {', '.join(known)}"
                raise ValueError(f"mix.shares: no source is called {name!r}; {hint}")
        for name in known:
            if name not in self.shares:
                raise ValueError(
                    f"mix.shares: source {name!r} has no share; give it one, or leave its input out"
                )
