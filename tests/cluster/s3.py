"""An S3 API over HTTP: moto's server as a process, behind a proxy that fails when it is told to."""

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import boto3
from botocore.config import Config

from tests.cluster.faulty_proxy import FaultyProxy, faulty_proxy
from tests.cluster.processes import answers, free_port, running

START_S = 120
SECRET = "a-secret-that-must-stand-nowhere"
KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIATESTSONLY",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass(frozen=True)
class S3:
    """A store reached through `proxy`. env: what a program needs to reach it."""

    port: int
    proxy: FaultyProxy

    @property
    def env(self) -> dict[str, str]:
        return {**KEYS, "AWS_ENDPOINT_URL_S3": self.proxy.url, "AWS_ENDPOINT_URL": self.proxy.url}

    def client(self):
        """A client that goes round the proxy: it never fails, and is not counted."""
        return boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{self.port}",
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=SECRET,
            region_name=KEYS["AWS_REGION"],
            config=Config(s3={"addressing_style": "path"}),
        )

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        """Names of the objects below a prefix, in order."""
        pages = self.client().get_paginator("list_objects_v2")
        found = pages.paginate(Bucket=bucket, Prefix=prefix)
        return [entry["Key"] for page in found for entry in page.get("Contents", ())]

    def upload(self, folder: Path, bucket: str, prefix: str = "") -> None:
        """Put a file, or each file below a folder, into a bucket, which is made if it is not."""
        client = self.client()
        client.create_bucket(Bucket=bucket)
        for path in [folder] if folder.is_file() else sorted(folder.rglob("*")):
            if path.is_file():
                name = path.name if path == folder else path.relative_to(folder).as_posix()
                client.upload_file(str(path), bucket, f"{prefix}{name}")

    def download(self, bucket: str, prefix: str, folder: Path) -> Path:
        """Get each object below a prefix into a folder; returns the folder."""
        client = self.client()
        for key in self.keys(bucket, prefix):
            path = folder / key.removeprefix(prefix).lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            client.download_file(bucket, key, str(path))
        return folder

    def open_uploads(self, bucket: str) -> list[str]:
        """Keys of multipart uploads neither completed nor aborted: storage that is paid for."""
        found = self.client().list_multipart_uploads(Bucket=bucket)
        return [upload["Key"] for upload in found.get("Uploads", ())]


@contextlib.contextmanager
def s3_in(folder: Path, *, seed: int = 0, page_keys: int = 1000) -> Iterator[S3]:
    """An empty store for the length of the block; it keeps its objects in memory.

    page_keys: names at most in an answer to a listing.
    """
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    env = {**os.environ, "MOTO_S3_DEFAULT_MAX_KEYS": str(page_keys)}
    with running(command, log=folder / "moto.log", env=env) as moto:
        moto.wait_until(lambda: answers(port), within_s=START_S)
        with faulty_proxy(port, seed=seed) as proxy:
            yield S3(port, proxy)
