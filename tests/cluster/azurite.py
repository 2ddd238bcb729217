"""Azure's blob service as a process of this machine, if npm has brought it."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from azure.storage.blob import BlobServiceClient

from tests.cluster.processes import answers, free_port, running

START_S = 60
ACCOUNT = "devstoreaccount1"
# the one that the emulator is documented to have
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def connection(port: int) -> str:
    """What reaches it at a port, its own or a proxy's."""
    url = f"http://127.0.0.1:{port}/{ACCOUNT}"
    return (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={url};"
    )


def program() -> str | None:
    return shutil.which("azurite-blob")


@contextlib.contextmanager
def azurite_in(folder: Path, container: str) -> Iterator[int]:
    """An empty container, in memory; yields its port."""
    port = free_port()
    options = ["--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    command = [str(program()), "--blobPort", str(port), *options]
    with running(command, log=folder / "azurite.log") as served:
        served.wait_until(lambda: answers(port), within_s=START_S)
        with BlobServiceClient.from_connection_string(connection(port)) as client:
            client.create_container(container)
        yield port


def upload(port: int, container: str, name: str, data: bytes) -> None:
    with BlobServiceClient.from_connection_string(connection(port)) as client:
        client.get_blob_client(container, name).upload_blob(data, overwrite=True)
