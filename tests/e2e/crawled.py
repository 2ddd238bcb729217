"""A small crawl of prose that comes with Python, and pages that the published recipes drop."""

from datetime import UTC, datetime, timedelta
from html import escape
from pydoc_data.topics import topics

from tests.pipelines.read.web.archives import archive, http, record

SPANISH = (
    "El puerto fue construido hace muchos años por los pescadores de la aldea vecina.",
    "Todavía hoy los barcos salen cada mañana hacia el mar abierto en busca de atunes.",
    "Los niños miran desde la playa cómo las redes se secan lentamente bajo el sol.",
    "Cuando llega el invierno las calles quedan vacías y el viento sopla con fuerza.",
    "Nadie recuerda ya el nombre del primer capitán que encontró esta costa.",
    "Sin embargo, su casa de piedra sigue en pie al lado de la iglesia antigua.",
)
LOREM = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt."
BANNER = "Subscribe to our weekly letter and have all of the news of the harbour in one place."
PASSAGE = (
    "The lighthouse keeper wrote in his diary every evening for forty years, and what he wrote was"
    " mostly about the weather, the ships that passed, the price of oil, and the two goats which he"
    " kept behind the tower and which, he said, understood more of navigation than any captain that"
    " he had ever met on the mainland or at sea, and complained far less about the food or rain."
)
MAIL = "Whoever wants to know more may write to jane.doe@harbour-news.com or look at 93.184.216.34."


def prose(topic: str) -> list[str]:
    """The paragraphs of a help text that are sentences."""
    found = (" ".join(p.split()).replace("*", "").replace('"', "") for p in topic.split("\n\n"))
    return [
        p
        for p in found
        if len(p.split()) >= 20 and p.endswith(".") and p[0].isalpha() and not {*"{}|>"} & {*p}
    ]


def good_pages() -> list[list[str]]:
    made = (prose(text) for _, text in sorted(topics.items()))
    return [paragraphs for paragraphs in made if 5 <= len(paragraphs) <= 14]


def pages() -> dict[str, list[str]]:
    """Paragraphs of each page, by the name that its URL ends with."""
    good = good_pages()
    assert len(good) >= 12
    made = {f"good-{i}": paragraphs for i, paragraphs in enumerate(good)}
    made["good-3"] = [*good[3], BANNER]
    made["good-4"] = [BANNER, *good[4]]
    made["good-5"] = [*good[5], PASSAGE]
    made["good-6"] = [PASSAGE, *good[6]]
    made["good-7"] = [*good[7], MAIL]
    made["copy"] = good[0]
    made["nearly"] = [*good[9][:-1], good[9][-1].replace("the", "this", 1)]
    made["spanish"] = [*SPANISH]
    made["short"] = ["This page says next to nothing."]
    made["again and again"] = [good[2][0]] * 20
    made["menu"] = [f"Entry {i} of it" for i in range(60)]
    made["lorem"] = [*good[8], LOREM]
    return made


def write_crawl(folder, *, per_file: int = 8) -> None:
    """Web archives of all pages, some to a file, and one page crawled again at the end."""
    crawled = [*pages().items(), ("good-2?utm_source=letter", [*good_pages()[2]])]
    day = datetime(2026, 1, 1, tzinfo=UTC)
    records = []
    for number, (name, paragraphs) in enumerate(crawled):
        body = "".join(f"<p>{escape(p)}</p>\n" for p in paragraphs)
        page = f"<html><head><title>{name}</title></head><body><main>{body}</main></body></html>"
        date = (day + timedelta(days=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        block = http(page.encode(), type="text/html; charset=utf-8")
        headers = {
            "WARC_Record_ID": f"<urn:uuid:{number:04}>",
            "WARC_Target_URI": f"http://example.org/{name.replace(' ', '-')}",
            "WARC_Date": date,
            "Content_Type": "application/http; msgtype=response",
        }
        records.append(record("response", block, **headers))
    folder.mkdir()
    for first in range(0, len(records), per_file):
        path = folder / f"crawl-{first:04}.warc.gz"
        path.write_bytes(archive(records[first : first + per_file]))
