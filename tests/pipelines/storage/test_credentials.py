"""Who signs: whatever gives credentials to botocore, for what is read and for what is written."""

import contextlib
import hashlib
import json
import sys
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest
from botocore.credentials import SSOProvider

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.storage.aws import arrow_settings
from tokenmill.pipelines.storage.inputs import expand, open_input
from tokenmill.pipelines.storage.s3 import ObjectStore

BUCKET = "credentials"
ROLE = "arn:aws:iam::123456789012:role/reader"
START_URL = "https://sign-on.example/start"


@pytest.fixture
def s3(reached_s3, monkeypatch, tmp_path):
    """A store of a file, and no credentials at all."""
    client = reached_s3.client()
    client.create_bucket(Bucket=BUCKET)
    client.put_object(Bucket=BUCKET, Key="in/a.jsonl", Body=b"{}\n", ACL="public-read")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{reached_s3.port}")
    (tmp_path / ".aws").mkdir()
    return reached_s3


def signers(s3):
    """Who signs when a file is listed, read and written."""
    (file,) = expand(f"s3://{BUCKET}/in/")
    with open_input(file.path) as f:
        assert f.read() == b"{}\n"
    read = set(s3.proxy.signers)
    s3.proxy.forget()
    ObjectStore(f"s3://{BUCKET}/out").put("x", b"1")
    wrote = set(s3.proxy.signers)
    assert read == wrote, "what is read and what is written have one signer"
    return read


@contextlib.contextmanager
def answering(answers):
    """A server on loopback; answers: by path, text or a callable that makes it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            found = answers.get(self.path.partition("?")[0])
            data = (found() if callable(found) else found or "").encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_PUT = do_GET  # noqa: N815 - a name the base class looks for

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def given(key, minutes=60):
    """Credentials as services hand them out."""
    end = datetime.now(UTC) + timedelta(minutes=minutes)
    named = {"AccessKeyId": key, "SecretAccessKey": "s", "Token": "t"}
    return json.dumps({**named, "Code": "Success", "Expiration": end.strftime("%FT%TZ")})


def test_shared_files(s3, tmp_path):
    text = "[default]\naws_access_key_id = AKIASHARED\naws_secret_access_key = s\n"
    (tmp_path / ".aws" / "credentials").write_text(text)
    assert signers(s3) == {"AKIASHARED"}


def test_a_profile_with_a_role(s3, tmp_path, monkeypatch):
    (tmp_path / ".aws" / "config").write_text(
        f"[profile reader]\nrole_arn = {ROLE}\nsource_profile = base\nregion = eu-west-1\n"
        "[profile base]\naws_access_key_id = AKIABASE\naws_secret_access_key = s\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "reader")
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    (signer,) = signers(s3)
    assert signer.startswith("ASIA"), "of the role, not of the profile it is taken from"
    assert dict(arrow_settings())["region"] == "eu-west-1"


def test_a_process(s3, tmp_path):
    words = {"Version": 1, "AccessKeyId": "AKIAPROCESS", "SecretAccessKey": "s"}
    script = tmp_path / "give.py"
    script.write_text(f"print('''{json.dumps(words)}''')")
    text = f"[default]\ncredential_process = {sys.executable} {script}\n"
    (tmp_path / ".aws" / "config").write_text(text)
    assert signers(s3) == {"AKIAPROCESS"}


def test_a_web_identity(s3, tmp_path, monkeypatch):
    (tmp_path / "token").write_text("a.b.c")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    (signer,) = signers(s3)
    assert signer.startswith("ASIA")


def test_single_sign_on(s3, tmp_path, monkeypatch):
    (tmp_path / ".aws" / "config").write_text(
        f"[default]\nsso_start_url = {START_URL}\nsso_region = us-east-1\n"
        "sso_account_id = 123456789012\nsso_role_name = reader\n"
    )
    monkeypatch.setattr(SSOProvider, "_SSO_TOKEN_CACHE_DIR", str(tmp_path))
    name = hashlib.sha1(START_URL.encode()).hexdigest()
    token = {"accessToken": "t", "expiresAt": "2099-01-01T00:00:00Z"}
    (tmp_path / f"{name}.json").write_text(json.dumps(token))
    role = {
        "accessKeyId": "ASIASSO",
        "secretAccessKey": "s",
        "sessionToken": "t",
        "expiration": 4e12,
    }
    with answering({"/federation/credentials": json.dumps({"roleCredentials": role})}) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", url)
        assert signers(s3) == {"ASIASSO"}


def test_a_container(s3, monkeypatch):
    with answering({"/role": given("ASIAECS")}) as url:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{url}/role")
        assert signers(s3) == {"ASIAECS"}


def test_an_instance(s3, monkeypatch):
    roles = "/latest/meta-data/iam/security-credentials/"
    served = {"/latest/api/token": "t", roles: "reader", f"{roles}reader": given("ASIAEC2")}
    with answering(served) as url:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
        assert signers(s3) == {"ASIAEC2"}


def test_what_expires_is_renewed(s3, monkeypatch):
    """Botocore renews from a quarter of an hour before the end."""
    number = count()
    with answering({"/role": lambda: given(f"ASIA{next(number)}", minutes=5)}) as url:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{url}/role")
        expand(f"s3://{BUCKET}/in/")
        before = set(s3.proxy.signers)
        s3.proxy.forget()
        expand(f"s3://{BUCKET}/in/")
        assert before.isdisjoint(s3.proxy.signers)


def test_unsigned_only_when_asked_for(s3, monkeypatch):
    reading, writing = f"s3://{BUCKET}/in/", ObjectStore(f"s3://{BUCKET}/out")
    for use in (lambda: expand(reading), lambda: writing.put("x", b"1")):
        with pytest.raises(ConfigError, match="no credentials, neither .*AWS_NO_SIGN_REQUEST=true"):
            use()
    assert not s3.proxy.requests
    monkeypatch.setenv("AWS_NO_SIGN_REQUEST", "true")
    with open_input(expand(reading)[0].path) as f:
        assert f.read() == b"{}\n"
    with pytest.raises(ConfigError, match="the store refuses"):
        writing.put("x", b"1")
    assert set(s3.proxy.signers) == {None}


SIGNED = "[profile signed]\naws_access_key_id = a\naws_secret_access_key = b\n"


@pytest.mark.parametrize(
    "profile",
    [
        "[profile other]\n",
        "[profile mine]\nrole_arn = x\n",
        f"[profile mine]\nrole_arn = x\nsource_profile = signed\n{SIGNED}",
    ],
)
def test_credentials_that_are_named_but_not_there_are_one_line(
    s3, tmp_path, monkeypatch, caplog, profile
):
    """And botocore's own log, a traceback where a role is refused, is not another."""
    (tmp_path / ".aws" / "config").write_text(profile)
    monkeypatch.setenv("AWS_PROFILE", "mine")
    with pytest.raises(ConfigError, match=r"^S3: credentials are named, but not to be had \(") as e:
        expand(f"s3://{BUCKET}/in/")
    assert "\n" not in str(e.value)
    assert not caplog.records
