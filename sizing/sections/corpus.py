"""What the model trains on, for how long, and how many bytes stand behind each token.

corpus or sources ── corpus tokens ── trained on ── training time
                          └────────── stored bytes a token, as training mixes the sources
"""

from collections.abc import Mapping
from dataclasses import replace

from tokenmill.sizing.corpus import CorpusMeasurement
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.formulas import capacity, image_text, training
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sheet import Given, Sheet, SourceFacts

TITLE = "Corpus and training"
AGREEING = 0.01  # tokens and days of a plan may differ by rounding
# of a sample of images with text, by the names of formulas, and their units
SAMPLE = {
    "image_bytes": "bytes",
    "images_per_sample": "images",
    "tokens_per_image": "tokens",
    "text_tokens": "tokens",
    "text_bytes": "bytes",
}
IMAGE_TRIED = (64.0, 256.0, 576.0)  # tokens of an image, where nobody knows them
PATCH, SQUARE = 14, 576.0  # pixels of a side; tokens of 336 x 336 pixels, as CLIP ViT-L/14
# "Training with up to 4 epochs of repeated data yields negligible changes to loss", and more of it
# comes to nothing in the end (Muennighoff et al. 2025, JMLR 26(53)).
MOST_EPOCHS = 4.0
WIDE_VOCAB = 65_500  # Megatron-LM's: ids of a vocabulary this large are stored in 4 bytes


def add(sheet: Sheet) -> None:
    """Add the rows of the section, and the facts of the sources."""
    sheet.sources = facts(sheet)
    sizes = {source.name: source.tokens for source in sheet.sources}
    sheet.add("corpus tokens", training.corpus_tokens, **sizes)
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
    reads = {f"read of {source.name}": read}
    sheet.add("stored bytes a token", training.mixture_bytes_per_token, **reads)


def _mixture(sheet: Sheet) -> None:
    """Of several: each source's share of the tokens, the epochs that makes, the bytes read."""
    parts = _by_epochs(sheet) if sheet.plan.sources[0].epochs is not None else _by_weight(sheet)
    if "tokens trained on" not in sheet:
        sheet.add("tokens trained on", training.mixture_tokens, **parts)
    reads = {
        f"read of {source.name}": _read_bytes(sheet, source, parts[source.name])
        for source in sheet.sources
    }
    sheet.add("stored bytes a token", training.mixture_bytes_per_token, **reads)


def _by_epochs(sheet: Sheet) -> dict[str, Requirement]:
    return {
        s.name: sheet.of(s, "tokens trained on", training.trained_tokens, epochs=f"{s.key}.epochs")
        for s in sheet.sources
    }


def _by_weight(sheet: Sheet) -> dict[str, Requirement]:
    trained = _stated_tokens(sheet)
    if trained is None:
        trained = sheet.add("tokens trained on", training.trained_tokens)
    weights = {source.name: _weight(sheet, source) for source in sheet.sources}
    whole = sheet.add("weights of all sources", training.weights_sum, **weights)
    given: dict[str, Given] = {"trained_tokens": trained, "weights_sum": whole}
    parts = {}
    for source in sheet.sources:
        given["weight"] = weights[source.name]
        part = sheet.of(source, "tokens trained on", training.source_tokens, **given)
        sheet.of(source, "epochs", training.epochs, trained_tokens=part)
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
        return sheet.add("tokens trained on", training.mixture_tokens, stated="training.tokens")
    if stated.days is None:
        return None
    return sheet.add("tokens trained on", training.tokens_in_days)


def _read_bytes(sheet: Sheet, source: SourceFacts, trained: Given) -> Requirement:
    tokens = sheet.input("corpus_tokens", source.tokens)
    seen = sheet.input("trained_tokens", trained).value / tokens.value
    if seen > MOST_EPOCHS * (1 + AGREEING):
        sheet.warnings.append(
            f"{source.name} is seen {seen:,.1f} times in training: beyond {MOST_EPOCHS:g} times"
            " repeated tokens are worth less than new ones (JMLR 26(53)); state more tokens of it,"
            " or fewer to train on"
        )
    return sheet.of(
        source,
        "read in training",
        training.read_bytes,
        trained_tokens=trained,
        stored_bytes_per_token=source.read_bytes_per_token,
    )


def facts(sheet: Sheet) -> tuple[SourceFacts, ...]:
    """Of the corpus or each source, whose rows it adds; PlanError: no tokens, no measurement."""
    if sheet.plan.sources:
        return tuple(
            _facts(
                sheet, f"sources.{s.name}", s.name, _named(sheet.measurements.get(s.name), s.name)
            )
            for s in sheet.plan.sources
        )
    found = sheet.measurements.get("corpus")
    return (_facts(sheet, "corpus", "corpus" if found is None else found.name, found),)


def _named(found: CorpusMeasurement | None, source: str) -> CorpusMeasurement | None:
    """Two sources may have been measured in runs of one name, and differ all the same."""
    return None if found is None else found.model_copy(update={"name": f"{found.name} ({source})"})


def _facts(sheet: Sheet, key: str, name: str, measurement: CorpusMeasurement | None) -> SourceFacts:
    if measurement is not None:
        measurement = _images_as_stated(sheet, key, measurement)
    tokens = _tokens(sheet, key, measurement)
    amount = sheet.input("tokens", tokens).value
    scaled = measurement is None or amount != measurement.tokens.value
    if measurement is not None:
        measurement = measurement.carried_on(amount)
    source = SourceFacts(
        name=name,
        key=key,
        measurement=measurement,
        scaled=scaled,
        tokens=tokens,
        token_width_bytes=_width(sheet, key, measurement),
        sample=_sample(sheet, key, measurement),
    )
    if source.sample is not None:
        sheet.of(source, "tokens a sample", image_text.sample_tokens)
    source.text_bytes_per_token = _text_bytes_per_token(sheet, source)
    source.stored_bytes_per_token = _stored_bytes_per_token(sheet, source)
    source.read_bytes_per_token = _read_bytes_per_token(sheet, source)
    source.docs = _docs(sheet, source)
    if measurement is not None and scaled:
        source.docs_ratio = _docs_ratio(sheet, source, measurement)
    return source


def patch_tokens(found: CorpusMeasurement) -> float:
    """Of a mean image, one for each patch of 14 x 14 pixels; of 336 x 336 where nobody knows."""
    pixels = None if found.images is None else found.images.pixels_per_image
    return SQUARE if pixels is None else max(1.0, pixels.value / PATCH**2)


def _images_as_stated(sheet: Sheet, key: str, found: CorpusMeasurement) -> CorpusMeasurement:
    """With the tokens of an image that the plan states; where nobody knows them, by patch 14."""
    stated: float | None = sheet.plan.value(f"{key}.tokens_per_image")
    if stated is not None:
        return found.with_image_tokens(stated)
    if not found.image_tokens_unknown:
        return found
    tokens = patch_tokens(found)
    sheet.warnings.append(
        f"tokens of an image are unknown: {found.name} has a placeholder for each; {tokens:,.0f}"
        f" are taken, {key}.tokens_per_image states yours"
    )
    if tokens > IMAGE_TRIED[0]:
        sheet.obstacles.append("the tokens of an image are not known, and fewer read faster")
    return found.with_image_tokens(tokens)


def _docs_ratio(sheet: Sheet, source: SourceFacts, measured: CorpusMeasurement) -> Requirement:
    """By the measured growth; far beyond it, from no further duplicates to that growth."""
    law: dict[str, Given] = {
        "measured_tokens": measured.input("measured_tokens", "tokens", "tokens")
    }
    exponent = measured.growth_exponent
    if exponent is not None and exponent.least > 0:
        given = measured.input("growth_exponent", "growth_exponent", "ratio")
        if measured.carried is not None:
            ends = {f"{measured.name}: duplicates of what was not measured": (given.value, 1.0)}
            given = replace(given, spread=ends)
        law["growth_exponent"] = given
    name = "documents that come in, of those measured"
    return sheet.of(source, name, capacity.docs_ratio, **law)


def _sample(
    sheet: Sheet, key: str, measurement: CorpusMeasurement | None
) -> Mapping[str, Given] | None:
    """What a sample of images with text is: measured, or as the plan says; None of text."""
    setting = f"{key}.image_text"
    if measurement is None:
        if sheet.plan.value(f"{key}.tokens_per_image") is not None:
            sheet.warnings.append(
                f"{key}.tokens_per_image is not used, as {key} was not measured: state"
                f" {setting}.tokens_per_image"
            )
        stated = sheet.plan.value(setting)
        return None if stated is None else {name: f"{setting}.{name}" for name in SAMPLE}
    if measurement.images is None:
        return None
    if sheet.stated(setting):
        sheet.warnings.append(f"{setting} is not used, as {key} was measured")
    found = {name: measurement.image_input(name, unit) for name, unit in SAMPLE.items()}
    return {name: given for name, given in found.items() if given is not None}


def _tokens(sheet: Sheet, key: str, measurement: CorpusMeasurement | None) -> Given:
    """Stated, else measured, else enough for the model."""
    if sheet.plan.value(f"{key}.tokens") is not None:
        return f"{key}.tokens"
    if measurement is not None:
        return measurement.input("tokens", "tokens", "tokens")
    if key != "corpus":
        raise PlanError(f"{key}: neither tokens nor a path is given; one says how large it is")
    return _trained_once(sheet)


def _trained_once(sheet: Sheet) -> Given:
    """A corpus of which nothing is known: what training takes, each token seen once."""
    if sheet.plan.training.tokens is not None:
        given = sheet.plan.input("training.tokens", name="tokens")
        return replace(
            given, source=f"{given.source}, each seen once as corpus.tokens says nothing"
        )
    if sheet.plan.training.days is not None:
        return sheet.add("tokens in so many days", training.tokens_in_days)
    return sheet.add("compute-optimal tokens", training.compute_optimal_tokens)


def _width(sheet: Sheet, key: str, measurement: CorpusMeasurement | None) -> Input:
    name = "token_width_bytes"
    if measurement is not None:
        for setting in (name, "text_bytes_per_token", "stored_bytes_per_token", "vocab_size"):
            if sheet.stated(f"{key}.{setting}"):
                sheet.warnings.append(f"{key}.{setting} is not used, as {key} was measured")
        return measurement.exact(name, measurement.token_width_bytes, "bytes/token")
    for setting in (f"{key}.{name}", f"corpus.{name}"):
        if sheet.plan.value(setting) is not None:
            return sheet.plan.input(setting)
    of = key if sheet.stated(f"{key}.vocab_size") else "corpus"
    width = 2 if sheet.plan.value(f"{of}.vocab_size") < WIDE_VOCAB else 4
    return sheet.plan.input(f"corpus.{name}", value=width)


def _text_bytes_per_token(sheet: Sheet, source: SourceFacts) -> Given:
    if source.measurement is not None:
        name = "text_bytes_per_token"
        return source.measurement.input(name, name, "bytes/token")
    if source.sample is None:
        return f"{source.key}.text_bytes_per_token"
    formula, of_text = image_text.image_text_bytes_per_token, source.sample["text_bytes"]
    return sheet.of(source, "text bytes a token", formula, sample_bytes=of_text)


def _stored_bytes_per_token(sheet: Sheet, source: SourceFacts) -> Given:
    has_size = source.sample is not None and {"image_bytes", "text_bytes"} <= source.sample.keys()
    if has_size:
        sheet.of(source, "bytes a sample", image_text.sample_bytes)
    if source.measurement is not None:
        name = "stored_bytes_per_token"
        return source.measurement.input(name, name, "bytes/token")
    if sheet.plan.value(f"{source.key}.stored_bytes_per_token") is not None:
        return f"{source.key}.stored_bytes_per_token"
    if not has_size:
        return source.token_width_bytes
    name = "image and text bytes a token"
    return sheet.of(source, name, image_text.image_text_bytes_per_token)


def _read_bytes_per_token(sheet: Sheet, source: SourceFacts) -> Given:
    """As stored; where the dataset only says where images stand, with these."""
    images = None if source.measurement is None else source.measurement.images
    if images is None or images.in_dataset or source.sample is None:
        return source.stored_bytes_per_token
    if "image_bytes" not in source.sample:
        return source.stored_bytes_per_token
    name = "dataset and image bytes a token"
    return sheet.of(source, name, image_text.referenced_bytes_per_token)


def _docs(sheet: Sheet, source: SourceFacts) -> Given:
    """Documents that reach the tokenizer: counted, or as many as the tokens make."""
    measured = source.measurement
    if measured is None and source.sample is not None:
        per_doc: Given = source.rows["sample_tokens"]  # a sample is a document
    elif measured is None or measured.docs is None:
        per_doc = f"{source.key}.tokens_per_doc"
    elif not source.scaled:
        return measured.input("docs", "docs", "documents")
    else:
        tokens = measured.tokens.value / measured.docs.value
        per_doc = measured.exact("tokens_per_doc", tokens, "tokens/document")
    return sheet.of(source, "documents", training.docs, tokens_per_doc=per_doc)
