"""The filters of our own, in the order in which they are shown."""

FILTERS = "tokenmill.pipelines.filters"
STAGES = {
    "normalize": f"{FILTERS}.normalize:Normalize",
    "c4": f"{FILTERS}.c4:C4",
    "bad_words": f"{FILTERS}.bad_words:BadWords",
    "gopher_quality": f"{FILTERS}.gopher_quality:GopherQuality",
    "gopher_repetition": f"{FILTERS}.gopher_repetition:GopherRepetition",
    "fineweb": f"{FILTERS}.fineweb:FineWeb",
    "fineweb2": f"{FILTERS}.fineweb2:FineWeb2",
    "language": f"{FILTERS}.models.language:Language",
    "length": f"{FILTERS}.length:Length",
    "quality": f"{FILTERS}.models.quality:Quality",
    "perplexity": f"{FILTERS}.models.perplexity:Perplexity",
    "url_filter": f"{FILTERS}.url_filter:UrlFilter",
    "pii": f"{FILTERS}.pii:Pii",
    "select": f"{FILTERS}.select:Select",
    "images": f"{FILTERS}.images.rules:ImageRules",
    "image_once": f"{FILTERS}.images.once:ImageOnce",
    "captions": f"{FILTERS}.images.captions:Captions",
    "interleaved_text": f"{FILTERS}.images.interleaved_text:InterleavedText",
    "image_scores": f"{FILTERS}.images.scores:ImageScores",
    "document_scores": f"{FILTERS}.images.scores:DocumentScores",
}
