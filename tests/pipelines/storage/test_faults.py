"""What is told of a fault of a store, for every status and kind of fault; how often it is asked."""

import errno
import io

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.core.errors import ConfigError, InputError, ShardError
from tokenmill.pipelines.storage import inputs, s3, stores
from tokenmill.pipelines.storage.inputs import OutageError

ADDRESS = "gs://bucket/a"


class Response:
    def __init__(self, name, status):
        setattr(self, name, status)


def answer(status, name="status"):
    """A fault that has its response, and in it a status by one of the names that libraries use."""
    made = Exception("what it says")
    made.response = Response(name, status)
    return made


def fault(name, *bases, text="what it says", because=None):
    made = type(name, bases or (Exception,), {})(text)
    made.__cause__ = because
    return made


def told_of(error):
    calls = []

    def call():
        calls.append(1)
        raise error

    with pytest.raises((OSError, ConfigError, InputError)) as e:
        stores.asked(call, ADDRESS, attempts=1)
    assert calls == [1]
    return type(e.value), getattr(e.value, "strerror", None) or str(e.value)


REFUSED = PermissionError, "may not be read"
NONE = FileNotFoundError, "no such file"


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 409, 410, 411, 429, 500, 503])
@pytest.mark.parametrize("name", ["status", "status_code", "code"])
def test_a_status_of_a_library_tells_what_the_fault_is(status, name):
    by_status = {401: REFUSED, 403: REFUSED, 404: NONE, 410: NONE}
    expected = by_status.get(status, (ConnectionError, f"status {status}"))
    assert told_of(answer(status, name)) == expected
    assert told_of(answer(str(status), name)) == expected
    assert told_of(fault("Odd", because=answer(status, name))) == expected
    assert told_of(fault("Odd", ValueError, because=answer(status, name))) == expected
    none = fault("NotThere", FileNotFoundError, because=answer(status, name))
    assert told_of(none) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (fault("Odd", text="Forbidden: for you"), REFUSED),
        (PermissionError(), REFUSED),
        (fault("ClientAuthenticationError"), REFUSED),
        (fault("Odd", because=fault("NoCredentials")), REFUSED),
        (FileNotFoundError(), NONE),
        (fault("Odd", FileNotFoundError), NONE),
        (fault("Odd", FileNotFoundError, because=fault("ReadTimeout")), (ConnectionError, "odd")),
        (fault("ServerBusy", FileNotFoundError), (ConnectionError, "server busy")),
        (fault("Odd", ValueError, text="one\n  two"), (ConfigError, f"{ADDRESS}: one two")),
        (fault("Odd", TypeError, text="three"), (ConfigError, f"{ADDRESS}: three")),
        (fault("CutShortError"), (ConnectionError, "cut short")),
        (fault("Error"), (ConnectionError, "time out")),
        (ConnectionError(errno.ECONNABORTED, "it broke off"), (ConnectionError, "it broke off")),
        (ConfigError("ours"), (ConfigError, "ours")),
        (InputError("ours", cause="not_found"), (InputError, "ours")),
    ],
)
def test_a_fault_of_a_library_is_told_as_one_of_ours(error, expected):
    assert told_of(error) == expected


@pytest.mark.parametrize(
    ("error", "times"),
    [
        (fault("Busy"), 4),
        (answer(503), 4),
        (answer(403), 1),
        (FileNotFoundError(), 1),
        (ConfigError(""), 1),
    ],
)
def test_what_may_pass_is_asked_four_times_with_longer_pauses(error, times, monkeypatch):
    pauses, calls = [], []
    monkeypatch.setattr(stores.random, "uniform", lambda *ends: pauses.append(ends) or 0.0)

    def call():
        calls.append(1)
        raise error

    with pytest.raises((OSError, ConfigError)):
        stores.asked(call, ADDRESS)
    assert len(calls) == times
    assert pauses == [(0, pytest.approx(most)) for most in (0.1, 0.4, 1.6)[: times - 1]]


def test_what_comes_the_last_time_is_given(monkeypatch):
    monkeypatch.setattr(stores.random, "uniform", lambda *_: 0.0)
    found = [fault("Busy"), fault("Busy"), fault("Busy"), "data"]

    def call():
        if isinstance(found[0], Exception):
            raise found.pop(0)
        return found[0]

    assert stores.asked(call, ADDRESS) == "data"


def answered(code, status):
    about = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    told = s3.translated(ClientError(about, "GetObject"), "s3://b/a")
    assert str(told).startswith("s3://b/a: ") or isinstance(told, OSError)
    return type(told), str(told)


OF_STATUS = {
    401: (ConfigError, "check AWS_ACCESS_KEY_ID, and that it may list, read, write and delete"),
    403: (ConfigError, "check AWS_ACCESS_KEY_ID, and that it may list, read, write and delete"),
    404: (FileNotFoundError, "no such object"),
    409: (FileExistsError, "not as it was"),
    412: (FileExistsError, "not as it was"),
    416: (ShardError, "ends before what was asked for; it has changed"),
    500: (OutageError, "does not answer (odd one)"),
    503: (OutageError, "does not answer (odd one)"),
}


@pytest.mark.parametrize("status", [*range(400, 420), 499, 500, 501, 503])
def test_a_status_of_s3_tells_what_the_fault_is(status):
    refused = ConfigError, "refuses (odd one); check AWS_REGION and AWS_ENDPOINT_URL_S3"
    kind, said = OF_STATUS.get(status, refused if status < 500 else OF_STATUS[500])
    found, text = answered("OddOne", status)
    assert (found, said in text) == (kind, True)
    for code in s3.PASSING:
        assert answered(code, status)[0] is OutageError
    for code in s3.FORBIDDEN if status not in (404, 409, 412, 416) else ():
        found, text = answered(code, status)
        assert (found, "check AWS_ACCESS_KEY_ID" in text) == (ConfigError, True)
    assert answered("NotImplemented", 501)[0] is ConfigError
    assert answered("NoSuchBucket", status if status < 500 else 404)[1].endswith(
        "no such bucket; create it, or check the path"
    )
    assert f"(status {status})" in answered(str(status), max(status, 500))[1] or status < 500


MISSING = "no such file or folder; check the path"


@pytest.mark.parametrize(
    ("error", "path", "cause", "said"),
    [
        (FileNotFoundError(), "a", "not_found", MISSING),
        (OSError("AWS Error RESOURCE_NOT_FOUND: x"), "s3://b/a", "not_found", MISSING),
        (
            OSError("AWS Error NO_SUCH_BUCKET: x"),
            "s3://b/a",
            "not_found",
            "no such bucket; check the path",
        ),
        (PermissionError(), "a", "permission_denied", "may not be read; chmod it"),
        (
            PermissionError(),
            "gs://b/a",
            "permission_denied",
            f"may not be read; {stores.STORES['gs'].way}",
        ),
        *(
            (
                OSError(f"{words}: x"),
                "s3://b/a",
                "permission_denied",
                "may not be read; check the credentials and their rights",
            )
            for words in (
                "AWS Error ACCESS_DENIED",
                "AWS Error INVALID_ACCESS_KEY_ID",
                "AWS Error SIGNATURE_DOES_NOT_MATCH",
                "HTTP status 403",
            )
        ),
        (
            OSError("HTTP status 301 located in 'eu-west-1'"),
            "s3://b/a",
            "other_region",
            "its bucket is in another region, eu-west-1; set AWS_REGION to that",
        ),
        (
            OSError("AuthorizationHeaderMalformed"),
            "s3://b/a",
            "other_region",
            "its bucket is in another region; set AWS_REGION to that",
        ),
        (IsADirectoryError(), "a", "not_found", "is a folder, not a file"),
    ],
)
def test_what_a_user_can_help_is_told_with_the_way_out(error, path, cause, said):
    told = inputs.translated(error, path)
    assert (type(told), told.cause, str(told)) == (InputError, cause, f"{path}: {said}")


@pytest.mark.parametrize(
    ("error", "path", "why"),
    [
        (OSError("AWS Error SLOW_DOWN: x"), "s3://b/a", "slow_down"),
        (OSError("AWS Error [code 99]: x"), "s3://b/a", "unknown"),
        (ConnectionError(errno.ECONNABORTED, "reset"), "gs://b/a", "reset"),
        (ConnectionError(), "gs://b/a", "connection"),
    ],
)
def test_an_outage_is_told_with_what_may_lack(error, path, why):
    told = inputs.translated(error, path)
    more = ", AWS_ENDPOINT_URL_S3 and AWS_REGION" if path.startswith("s3") else ""
    assert str(told) == f"{path}: the store does not answer ({why}); check the network{more}"
    assert (type(told), told.address) == (OutageError, path)
    assert inputs.is_outage(told)
    assert inputs.translated(other := OSError(errno.EIO, "disk"), path) is other


def test_a_call_after_an_outage_is_made_four_times_with_longer_pauses(monkeypatch):
    pauses, shares, calls = [], [], []
    monkeypatch.setattr(inputs.time, "sleep", pauses.append)
    monkeypatch.setattr(inputs.random, "uniform", lambda *ends: shares.append(ends) or 1.0)

    def call(error):
        calls.append(error)
        raise error

    for theirs in (OSError("not a network's"), ValueError(), disk := OSError(errno.EIO, "disk")):
        with pytest.raises(type(theirs)) as e:
            inputs.patiently(lambda error=theirs: call(error), "/data/a")
        assert e.value is theirs
    assert (pauses, shares) == ([1.0, 5.0, 25.0], [(0.5, 1.0)] * 3)
    assert calls[2:] == [disk] * 4


class InMemory(stores.Sized):
    def __init__(self, data):
        super().__init__(len(data))
        self.data, self.asked = data, []

    def between(self, start, stop):
        self.asked.append((start, stop))
        return self.data[start:stop]


@given(
    st.binary(max_size=9),
    st.lists(
        st.tuples(st.just("read"), st.none() | st.integers(-2, 11))
        | st.tuples(st.just("seek"), st.integers(0, 11), st.just(0))
        | st.tuples(st.just("seek"), st.integers(0, 3), st.sampled_from([1, 2]))
        | st.tuples(st.just("tell"))
    ),
)
def test_a_file_of_a_known_size_is_read_as_one_in_memory(data, calls):
    ours, theirs = InMemory(data), io.BytesIO(data)
    assert (ours.readable(), ours.seekable()) == (True, True)
    for name, *args in calls:
        assert getattr(ours, name)(*args) == getattr(theirs, name)(*args)
    assert all(start < stop for start, stop in ours.asked)
