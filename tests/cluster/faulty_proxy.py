"""An HTTP proxy before an object store that fails as object stores do, as often as it is told.

    client ── FaultyProxy ── moto's server

Which request fails, and how, is drawn from (seed, method, path, how many times it came), so it
does not depend on the order in which clients ask; a request that is repeated may succeed.
"""

import contextlib
import hashlib
import http.client
import re
import select
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

SLOW_DOWN, TIME_OUT, TRUNCATE, RESET = "slow_down", "time_out", "truncate", "reset"
FAULTS = (SLOW_DOWN, TIME_OUT, TRUNCATE, RESET)
LINGER_NOT = struct.pack("ii", 1, 0)  # close() then sends a reset
POLL_S = 0.1
DRAWN_BY_THE_STORE = re.compile(r"(uploadId|X-Amz-[A-Za-z]+)=[^&]*")
SIGNER = re.compile("Credential=([^/]+)/")
SLOW_DOWN_BODY = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>SlowDown</Code>'
    b"<Message>Please reduce your request rate.</Message></Error>"
)
CONDITION, DELETE = "condition", "delete"  # what a store may lack
IGNORED, DENIED = 0, 1  # answered as if it were done; denied for each object, in an answer of 200
REFUSED = {
    status: (status, SLOW_DOWN_BODY.replace(b"SlowDown", code))
    for status, code in (
        (501, b"NotImplemented"),
        (403, b"AccessDenied"),
        (400, b"InvalidArgument"),
    )
}
DENIAL = b"<Error><Key>k</Key><Code>AccessDenied</Code><Message>no</Message></Error>"
REFUSED[IGNORED] = 200, b"<DeleteResult></DeleteResult>"
REFUSED[DENIED] = 200, b"<DeleteResult>" + DENIAL + b"</DeleteResult>"
HOP_BY_HOP = {"connection", "transfer-encoding", "expect", "keep-alive"}


def kind_of(method: str, target: str) -> str:
    """What a request to the S3 API is: LIST, GET, PUT, …; the steps of a multipart upload apart."""
    url = urlsplit(target)
    query = parse_qs(url.query, keep_blank_values=True)
    if "uploads" in query:
        return "CREATE_MULTIPART" if method == "POST" else "LIST_MULTIPART"
    if "uploadId" in query:
        of = {"PUT": "PUT_PART", "POST": "COMPLETE_MULTIPART", "DELETE": "ABORT_MULTIPART"}
        return of.get(method, method)
    is_bucket = "/" not in url.path.strip("/")
    return "LIST" if method == "GET" and is_bucket else method


class FaultyProxy(ThreadingHTTPServer):
    """Hands requests on to a server at `port`; `rates` says which share fails, and how.

    rates: share of the requests by fault, 0..1, together at most 1; may be changed at any time.
    only: kinds of requests that may fail; empty is all.
    requests, faults: how many came, by kind; how many failed, by fault.
    signers: how many came, by the access key that signed them.
    lacks: of CONDITION and DELETE, how they are refused: a status, or IGNORED or DENIED.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, *, seed: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind, self.seed = port, seed
        self.rates: Mapping[str, float] = {}
        self.only: frozenset[str] = frozenset()
        self.requests: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.signers: Counter[str | None] = Counter()
        self.lacks: Mapping[str, int] = {}
        self.closing = threading.Event()
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def forget(self) -> None:
        """Count from zero, and fail no more."""
        with self._lock:
            self.rates, self.only, self.lacks = {}, frozenset(), {}
            self.requests.clear()
            self.faults.clear()
            self.signers.clear()
            self._times.clear()

    def fault_for(self, method: str, target: str) -> str | None:
        """Count a request, and draw how it fails; None is not at all."""
        kind, name = kind_of(method, target), f"{method} {DRAWN_BY_THE_STORE.sub('', target)}"
        with self._lock:
            self.requests[kind] += 1
            self._times[name] += 1
            if self.only and kind not in self.only:
                return None
            fault = self._drawn(f"{self.seed} {name} {self._times[name]}")
            if fault:
                self.faults[fault] += 1
            return fault

    def _drawn(self, name: str) -> str | None:
        left = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) / 2**64
        for fault in FAULTS:
            left -= self.rates.get(fault, 0.0)
            if left < 0:
                return fault
        return None

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is nothing to tell of."""


class _Handler(BaseHTTPRequestHandler):
    server: FaultyProxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body would wait for the answer to its headers: 40 ms

    def _handle(self) -> None:
        body = self._body()
        signer = SIGNER.search(self.headers.get("Authorization", ""))
        self.server.signers[signer and signer[1]] += 1
        fault = self.server.fault_for(self.command, self.path)
        if fault == SLOW_DOWN:
            self._answer(503, {"Content-Type": "application/xml"}, SLOW_DOWN_BODY)
            return
        if fault == TIME_OUT:
            self._hang()
            return
        if fault == RESET:
            self._reset()
            return
        if self._lacking():
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=60)
        with contextlib.closing(connection):
            headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
            headers["Content-Length"] = str(len(body))
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        self._answer(answer.status, dict(answer.headers), data, truncated=fault == TRUNCATE)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle  # noqa: N815 - names the base class looks for

    def _lacking(self) -> bool:
        """Answer as a store without conditions, or without deletion, if it is to be one."""
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        deletes = self.command == "DELETE" or "delete" in query
        conditions = [name for name in ("If-Match", "If-None-Match") if name in self.headers]
        how = self.server.lacks.get(DELETE if deletes else CONDITION)
        if how is None or not (deletes or (conditions and self.command == "PUT")):
            return False
        if how == IGNORED and conditions:
            for name in conditions:
                del self.headers[name]
            return False
        status, body = REFUSED[how]
        self._answer(status, {"Content-Type": "application/xml"}, body)
        return True

    def _body(self) -> bytes:
        """What the client sends, whole, whichever way it is framed."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _answer(
        self, status: int, headers: Mapping[str, str], data: bytes, *, truncated: bool = False
    ) -> None:
        """Send an answer; truncated: the length is told whole, half is sent (if none, a reset)."""
        if truncated and not (data and self.command != "HEAD"):
            self._reset()
            return
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {*HOP_BY_HOP, "content-length"}:
                self.send_header(name, value)
        told = {name.lower(): value for name, value in headers.items()}
        length = told.get("content-length") if self.command == "HEAD" else len(data)
        if status not in (204, 304):
            self.send_header("Content-Length", str(length or 0))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if truncated else data)
        self.close_connection = self.close_connection or truncated

    def _hang(self) -> None:
        """Never answer; end when the client has gone."""
        while not self.server.closing.is_set():
            if select.select([self.connection], [], [], POLL_S)[0]:
                break
        self.close_connection = True

    def _reset(self) -> None:
        """Have the server close the socket without a word, and without what was sent."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        self.connection.close()
        self.rfile.close()  # which holds the socket open too
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def faulty_proxy(port: int, *, seed: int = 0) -> Iterator[FaultyProxy]:
    """A proxy before the server at a port of this machine, for the length of the block."""
    with FaultyProxy(port, seed=seed) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(POLL_S,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.closing.set()
            proxy.shutdown()
            thread.join()
