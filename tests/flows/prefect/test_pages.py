"""Pages of reports over HTTP: those of ours below the roots, for this machine's own browser."""

import http.client
import re
from urllib.parse import quote, urlsplit

import pytest

from tokenmill.flows.prefect.pages import ADDRESS, link_to, served
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.sizing.roots import VARIABLE


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "allowed"))
    folder = tmp_path / "allowed" / "a run, of prose"
    folder.mkdir(parents=True)
    (folder / "report.html").write_text("<p>what came of it")
    (folder / "manifest.json").write_text("{}")
    return folder


def asked(address, path, host=None, method="GET"):
    where = urlsplit(address)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=600)
    connection.request(method, quote(str(path)), headers={"Host": host or where.netloc})
    answer = connection.getresponse()
    found = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return found


def test_an_artifact_links_to_the_page_that_is_served(run):
    assert link_to(run, "report.html") == str(run / "report.html")
    with served(None) as address:
        label, link = re.fullmatch(r"\[(.*)\]\((.*)\)", link_to(run, "report.html")).groups()
        assert label == str(run / "report.html")
        assert link.startswith(f"{address}/")
        assert " " not in link
        where = urlsplit(link)
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=600)
        connection.request("GET", where.path)
        assert connection.getresponse().read() == b"<p>what came of it"
        connection.close()
        assert link_to("s3://bucket/run", "report.html") == "s3://bucket/run/report.html"
    assert link_to(run, "report.html") == str(run / "report.html")


def test_nothing_else_is_told(run, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "report.html").write_text("a secret")
    (run / "probe.html").symlink_to(outside / "report.html")
    (run / "contamination.html").mkdir()
    with served(None) as address:
        assert asked(address, run / "report.html")[0] == 200
        for path in (
            run / "manifest.json",
            run,
            outside / "report.html",
            run / "probe.html",
            run / "requirements.html",
            run / "contamination.html",
            f"{run}/../../../outside/report.html",
            "report.html",
            f"{run}/report.html\0",
        ):
            status, body, _ = asked(address, path)
            assert (status, body) == (404, b"no report here"), path


def test_a_page_of_another_site_cannot_ask(run):
    """One whose name was made to mean this machine sends its own name."""
    with served(None) as address:
        port = urlsplit(address).port
        assert asked(address, run / "report.html", host=f"localhost:{port}")[0] == 200
        assert asked(address, run / "report.html", host=f"evil.example:{port}")[0] == 404


def test_it_is_read_only_and_runs_no_script(run):
    with served(None) as address:
        _, body, headers = asked(address, run / "report.html", method="HEAD")
        assert body == b""
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert asked(address, run / "report.html", method="PUT")[0] == 501
        assert asked(address, run / "report.html", method="DELETE")[0] == 501
    assert (run / "report.html").exists()


def test_a_port_that_is_taken(run, monkeypatch):
    monkeypatch.delenv(ADDRESS, raising=False)
    with served(None) as first, served(None) as second:
        assert first != second
        taken = urlsplit(first).port
        with pytest.raises(ConfigError, match=f"--pages-port {taken}: cannot be listened on"):
            served(taken).__enter__()
