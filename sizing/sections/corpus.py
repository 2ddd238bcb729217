"""What the model trains on, for how long, and how many bytes stand behind each token.

corpus or sources ── corpus tokens ── trained on ── training time
                          └────────── stored bytes a token, as training mixes the sources
"""

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.formulas import mixture, training
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sheet import Given, Sheet, SourceFacts
from tokenmill.sizing.sources import facts

TITLE = "Corpus and training"
AGREEING = 0.01  # tokens and days of a plan may differ by rounding


def add(sheet: Sheet) -> None:
    """Add the rows of the section, and the facts of the sources."""
    sheet.sources = facts(sheet)
    sheet.add_parts(
        "corpus tokens",
        mixture.corpus_tokens,
        [sheet.input(s.name, s.tokens) for s in sheet.sources],
    )
    if sheet.plan.sources:
        _mixture(sheet)
    else:
        _single(sheet)
    days = sheet.add("training time", training.training_days)
    stated = sheet.plan.training.days
    if stated is not None and abs(days.value / stated - 1) > AGREEING:
        count = sheet.plan.cluster.count * days.value / stated
        raise PlanError(
            f"training.tokens {sheet.plan.training.tokens:.4g} take {days.value:.4g} days, and"
            f" training.days is {stated:g}; give one, or cluster.count {count:,.0f}"
        )


def _single(sheet: Sheet) -> None:
    """Of one corpus: the tokens trained on follow from it, or it is seen as often as they ask."""
    source = sheet.sources[0]
    trained = _stated_tokens(sheet)
    if trained is None:
        trained = sheet.add("tokens trained on", training.trained_tokens)
    else:
        sheet.add("epochs", training.epochs, trained_tokens=trained)
    read = _read_bytes(sheet, source, trained)
    sheet.add_parts(
        "stored bytes a token",
        training.mixture_bytes_per_token,
        [trained.as_input("trained_tokens"), read.as_input(f"read of {source.name}")],
    )


def _mixture(sheet: Sheet) -> None:
    """Of several: each source's share of the tokens, the epochs that makes, the bytes read."""
    parts = _by_epochs(sheet) if sheet.plan.sources[0].epochs is not None else _by_weight(sheet)
    if "tokens trained on" not in sheet:
        sheet.add_parts(
            "tokens trained on",
            training.mixture_tokens,
            [part.as_input(name) for name, part in parts.items()],
        )
    reads = [
        _read_bytes(sheet, source, parts[source.name]).as_input(f"read of {source.name}")
        for source in sheet.sources
    ]
    trained = sheet["tokens trained on"].as_input("trained_tokens")
    sheet.add_parts("stored bytes a token", training.mixture_bytes_per_token, [trained, *reads])


def _by_epochs(sheet: Sheet) -> dict[str, Requirement]:
    return {
        source.name: sheet.add(
            source.label("tokens trained on"),
            training.trained_tokens,
            corpus_tokens=source.tokens,
            epochs=f"{source.key}.epochs",
        )
        for source in sheet.sources
    }


def _by_weight(sheet: Sheet) -> dict[str, Requirement]:
    trained = _stated_tokens(sheet)
    if trained is None:
        trained = sheet.add("tokens trained on", training.trained_tokens)
    weights = {source.name: _weight(sheet, source) for source in sheet.sources}
    whole = sheet.add_parts(
        "weights of all sources",
        mixture.weights_sum,
        [sheet.input(name, weight) for name, weight in weights.items()],
    )
    parts = {}
    for source in sheet.sources:
        part = sheet.add(
            source.label("tokens trained on"),
            training.source_tokens,
            trained_tokens=trained,
            weight=weights[source.name],
            weights_sum=whole,
        )
        sheet.add(
            source.label("epochs"),
            training.epochs,
            trained_tokens=part,
            corpus_tokens=source.tokens,
        )
        parts[source.name] = part
    return parts


def _weight(sheet: Sheet, source: SourceFacts) -> Input:
    if sheet.plan.value(f"{source.key}.weight") is not None:
        return sheet.input("weight", f"{source.key}.weight")
    return sheet.input("weight", source.tokens)  # as large as the source is


def _stated_tokens(sheet: Sheet) -> Requirement | None:
    """The row of the tokens that the plan states, or that so many days train on."""
    stated = sheet.plan.training
    if stated.tokens is not None:
        given = [sheet.input("stated", "training.tokens")]
        return sheet.add_parts("tokens trained on", training.mixture_tokens, given)
    if stated.days is None:
        return None
    return sheet.add("tokens trained on", training.tokens_in_days)


def _read_bytes(sheet: Sheet, source: SourceFacts, trained: Given) -> Requirement:
    return sheet.add(
        source.label("read in training"),
        mixture.read_bytes,
        trained_tokens=trained,
        stored_bytes_per_token=source.read_bytes_per_token,
    )
