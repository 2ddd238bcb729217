"""How S3 is reached: region, endpoint and credentials, the same for what is read and written.

    AWS_ACCESS_KEY_ID … ─ AWS_PROFILE: roles, SSO, process ─ web identity ─ shared files ─ ECS ─ EC2
                                      └── botocore ──┬── Arrow, which reads
                                                     └── boto3, which writes

What expires botocore renews: boto3 asks it for each request, Arrow is handed what is valid whenever
a file is opened. Requests go unsigned only where AWS_NO_SIGN_REQUEST is true.
"""

import importlib
import logging
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from tokenmill.pipelines.core.errors import ConfigError

DEFAULT_REGION = "us-east-1"
UNSIGNED = "AWS_NO_SIGN_REQUEST"
YES = frozenset({"1", "true", "yes", "on"})
Environment: TypeAlias = tuple[tuple[str, str], ...]
NONE_FOUND = (
    "S3: no credentials, neither in the environment nor of a profile, a web identity, a container"
    f" or an instance; set AWS_PROFILE or AWS_ACCESS_KEY_ID, or {UNSIGNED}=true for what is public"
)


def optional(module: str, wanted: str, extra: str) -> Any:
    """A module of an extra, or one that needs it; ConfigError, with what is `wanted`, if none."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as e:
        missing = str(e.name).partition(".")[0]
        raise ConfigError(
            f"{wanted} needs {missing}, which is not installed; pip install 'tokenmill[{extra}]'"
        ) from e


def environment() -> Environment:
    """What of the environment decides how S3 is reached."""
    names = sorted(name for name in os.environ if name.startswith("AWS_") or name == "HOME")
    return tuple((name, os.environ[name]) for name in names)


def region() -> str:
    """Without one the clients ask a metadata service, which may not be there."""
    env = os.environ
    found = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
    found = found or (None if unsigned() else _asked(lambda of: of.region_name))
    return found or DEFAULT_REGION


def endpoint() -> str | None:
    """URL of a store that is not Amazon's; ConfigError: it is none."""
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        if url := os.environ.get(name):
            if not url.lower().startswith(("http://", "https://")):
                raise ConfigError(f"{name}: no URL; it begins with http:// or https://")
            return url
    return None


def unsigned() -> bool:
    """Whether requests are to go without credentials."""
    return os.environ.get(UNSIGNED, "").lower() in YES


def session() -> Any:
    """The boto3 session of the environment as it is now."""
    return _session(environment())


@lru_cache(maxsize=8)
def _session(_: Environment) -> Any:
    logging.getLogger("botocore.credentials").setLevel(logging.CRITICAL)  # told in a line of ours
    return optional("boto3.session", "s3://", "s3").Session()


def arrow_settings() -> tuple[tuple[str, Any], ...]:
    """Options of Arrow's S3 file system, credentials valid now; ConfigError: there are none."""
    options: dict[str, Any] = {"region": region()}
    if unsigned():
        options["anonymous"] = True
    else:
        found = _asked(lambda of: of.get_credentials())
        if found is None:
            raise ConfigError(NONE_FOUND)
        found = _asked(lambda _: found.get_frozen_credentials())
        options |= {"access_key": found.access_key, "secret_key": found.secret_key}
        options["session_token"] = found.token
    if url := endpoint():
        scheme, _, host = url.partition("://")
        options |= {"scheme": scheme.lower(), "endpoint_override": host.rstrip("/")}
    return tuple(sorted(options.items()))


def _asked(of_session: Callable[[Any], Any]) -> Any:
    """What botocore says of the session; its words may hold anything, but for a kind."""
    errors = optional("botocore.exceptions", "s3://", "s3")
    try:
        return of_session(session())
    except (errors.BotoCoreError, errors.ClientError, ValueError) as e:
        answer = getattr(e, "response", {}).get("Error", {})
        kind = answer.get("Code", type(e).__name__)
        raise ConfigError(
            f"S3: credentials are named, but not to be had ({kind}); check AWS_PROFILE, its shared"
            " files, and log in again where it is one of SSO"
        ) from None
