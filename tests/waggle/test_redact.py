"""Masking: no secret survives, code and commands do, and nothing takes more than linear time."""

from __future__ import annotations

import gzip
import json
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies
from waggle.jsonvalue import canonical, dumps, loads
from waggle.redact import MASK, is_masked, redact_text, redact_value

if TYPE_CHECKING:
    from pathlib import Path

    from waggle.jsonvalue import JsonValue

relaxed = settings(deadline=None)

KEY_BODY = "MIIEowIBAAKCAQEAxLAB0examplE0nLy+9fz/3kQ"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\n{KEY_BODY}=\n-----END RSA PRIVATE KEY-----\n"

#: A value, the texts in it that must be gone, and texts that must stay.
SECRETS: dict[str, tuple[JsonValue, list[str], list[str]]] = {
    "a header in a list": (
        {"headers": [{"Authorization": "Bearer aaa.bbb.ccc"}]},
        ["aaa", "bbb", "ccc"],
        ["headers", "Authorization"],
    ),
    "a key with dots": ({"apiKey": "9f3c1e77a0b24d5e.QmTr42xx"}, ["9f3c1e77a0b24d5e", "QmTr42xx"], ["apiKey"]),
    "a header in a command": (
        {"cmd": "curl -H 'X-Token: sk-lab-EXAMPLE000111.seg2_EXAMPLE-333' u"},
        ["sk-lab", "EXAMPLE000111", "seg2_EXAMPLE", "333"],
        ["curl -H 'X-Token: ", "' u"],
    ),
    "an address": ({"url": "https://me:pw@host/p?token=t0k"}, ["me:pw", "t0k"], ["https://", "@host/p?token="]),
    "a private key": ({"key": PEM, "text": f"see {PEM} there"}, [KEY_BODY, "BEGIN"], ["see ", " there"]),
    "a key under another name": ({"input": f"use ghp_{'a1B2' * 9} now"}, ["a1B2"], ["use ", " now"]),
    "deep below": ({"a": [{"b": {"db_password": {"value": ["one", 2]}}}]}, ["one", "2"], ["db_password", "value"]),
    "a name beside a value": ([{"name": "API_KEY", "value": "abc"}, {"name": "a", "value": "b"}], ["abc"], ['"b"']),
    "an option and its value": (["mysql", "--password", "correct", "-h"], ["correct"], ["mysql", "--password", "-h"]),
    "a number": ({"password": 123456}, ["123456"], []),
    "a key": ({f"sk-{'x9' * 10}": 1}, ["x9"], []),
}


@pytest.mark.case("HC-17")
@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_is_found_by_a_search_over_the_bytes(name: str) -> None:
    value, gone, stay = SECRETS[name]
    written = dumps(redact_value(value)).decode()
    assert not [text for text in gone if text in written]
    assert not [text for text in stay if text not in written]
    assert redact_value(redact_value(value)) == redact_value(value)


@pytest.mark.case("HC-17")
@pytest.mark.parametrize("name", [name for name in SECRETS if name not in {"a number", "deep below"}])
@pytest.mark.parametrize("form", ["json", "json in json", "indented", "python"])
def test_the_same_secrets_are_masked_in_results_and_error_texts(name: str, form: str) -> None:
    """As text, a value's structure is gone: lists and nested values under a name are found in JSON values only."""
    value, gone, _ = SECRETS[name]
    if name in {"a name beside a value", "an option and its value"}:
        value = {"password": gone[0], "options": f"--password {gone[0]} -h"}
    text = {
        "json": json.dumps(value),
        "json in json": json.dumps(json.dumps(value)),
        "indented": json.dumps(value, indent=2),
        "python": f"HTTPError: 401 for {value}",
    }[form]
    masked = redact_text(text)
    assert not [part for part in gone if part in masked]
    assert redact_text(masked) == masked
    if form != "python":
        loads(masked)


@pytest.mark.case("HC-17")
@pytest.mark.parametrize(
    "value",
    [
        {"password": None},
        {"max_tokens": 100},
        {"tokenizer": "bpe"},
        {"password": ""},
        {"use_token": True},
        {"next_page_token": "abc123def456"},
        {"token_count": 12, "secret_name": "prod/db", "token_type": "x"},
        {"pwd": "/home/me"},
        {"sha": "8f14e45fceea167a5a36dedd4bea2543", "id": "3f2504e0-4f89-11d3-9a0c-0305e82c3301"},
    ],
    ids=str,
)
def test_what_only_sounds_like_a_secret_is_left(value: JsonValue) -> None:
    assert redact_value(value) == value


CODE = [
    "token",
    "password|secret|token",
    "def get_token(self, password: str, token: Token | None = None) -> Secret:",
    "token = get_token()",
    "self.token = token",
    "login(user, password=password, token=self.token)",
    "token: Optional[str] = None",
    "    secret: SecretStr\n    token: int32\n",
    "interface A { password: string; token?: string }",
    "if token == expected and secret != other:",
    "token := lexer.next()",
    'case "token": return parse(token)',
    'print("token: " + token + "!")',
    'getpass("Password: ")',
    '["password", "token"]',
    'grep -rn "password:" src',
    "rg 'token=' src/a.py | head",
    "psql password=$PASSWORD token=${TOKEN} secret=$(cat s)",
    "curl -H 'Authorization: Bearer $TOKEN' -H 'X-Key: {{ key }}' https://${USER}:${PASS}@host",
    'headers = {"Authorization": f"Bearer {token}", "X-Token": token}',
    "mytool --token TOKEN --password $PASSWORD",
    "bearer token authentication, Basic Authentication, the token: see below",
    "git clone git@github.com:o/r.git && git fetch ssh://git@github.com/o/r",
    "open https://host:8080/a@b?page_token=abc123def",
    "docker run -u 1000:1000 image",
    "cat src/token/secret.py:12 private_key=/home/me/.ssh/id_rsa",
    "grep -r '-----BEGIN RSA PRIVATE KEY-----' .",
    "8f14e45fceea167a5a36dedd4bea2543 3f2504e0-4f89-11d3-9a0c-0305e82c3301 sha256:deadbeefdeadbeef",
    'class="sk-container-id-1 sk-estimator-doc-link" tokens: 12345 tokenizer: bpe1234',
    "PWD=/home/x OLDPWD=/",
]


@pytest.mark.parametrize("text", CODE)
def test_code_and_commands_without_a_secret_are_left(text: str) -> None:
    assert redact_text(text) == text


TEXTS = [
    ("PASSWORD=correcthorse ./run", "PASSWORD=* ./run"),
    ('export API_KEY="a b c"', 'export API_KEY="*"'),
    ("mysql --password correct -h x", "mysql --password * -h x"),
    ("mysql --password=correct", "mysql --password=*"),
    ("a=1&password=correct&b=2", "a=1&password=*&b=2"),
    ("password=correct\nuser=me", "password=*\nuser=me"),
    ("  password: correcthorse\n", "  password: *\n"),
    ("password: hunter2", "password: *"),
    ('db_password = "abc"', 'db_password = "*"'),
    ('password: str = "abc"', 'password: str = "*"'),
    ("d['token'] = 'abcdef'", "d['token'] = '*'"),
    ("<password>correct</password>", "<password>*</password>"),
    ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic *"),
    ("say Basic dXNlcjpwYXNz twice", "say Basic * twice"),
    ("Authorization: token abcdef123", "Authorization: token *"),
    ("Set-Cookie: sid=abc; Path=/", "Set-Cookie: *"),
    ("curl -u me:correct https://h", "curl -u * https://h"),
    ("postgres://u:p@ss@h/db", "postgres://*@h/db"),
    ("https://0123456789abcdef0123@h/", "https://*@h/"),
    ("https://h/?key=0123456789abcdef&page=2", "https://h/?key=*&page=2"),
    ("ADMIN_PASS=foo", "ADMIN_PASS=*"),
    ("Server=h;Pwd=s3cr3t;", "Server=h;Pwd=*;"),
    ("AKIAIOSFODNN7EXAMPLE", "*"),
    ("xoxb-1234567890-abc", "*"),
    ("eyJhbGciOiJI.eyJzdWIiOiIx.abc_-x", "*"),
    ("İ token=abc123def İ", "İ token=* İ"),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS, ids=[text for text, _ in TEXTS])
def test_a_literal_value_after_a_secret_s_name_and_a_secret_s_shape_are_masked_whole(text: str, expected: str) -> None:
    assert redact_text(text).replace(MASK, "*") == expected
    assert redact_text(redact_text(text)) == redact_text(text)


def test_a_private_key_that_was_cut_is_masked_to_its_end() -> None:
    assert redact_text(PEM[:90]) == MASK
    assert redact_text(json.dumps(PEM)[:90]) == f'"{MASK}'


# --- properties -------------------------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    [
        *("token", "password", "X-Api-Key", "Authorization", "secret_key", "--token", "curl -u ", "Bearer ", "Basic "),
        *("=", ": ", " ", '"', "'", "\\", '\\"', "://", "@", ":", ".", "?", "&", "\n", "{", "$X", "<", "</", ">", "é"),
        *("sk-", "ghp_", "eyJ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "A" * 70, "dXNlcjpwYXNz"),
        *("abc123def456", "hunter2", "x", MASK),
    ]
)
_HINTED = st.lists(_PIECES, max_size=14).map("".join)


@settings(deadline=None, max_examples=300)
@given(_HINTED | strategies.texts())
def test_masking_twice_changes_nothing(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


@relaxed
@given(strategies.json_values())
def test_masking_a_value_twice_changes_nothing_and_keeps_its_form(value: JsonValue) -> None:
    once = redact_value(value)
    assert canonical(redact_value(once)) == canonical(once)
    assert type(once) is type(value)


@relaxed
@given(
    st.sampled_from(["password", "API_KEY", "x-auth-token", "clientSecret", "Authorization", "private key"]),
    st.text(st.characters(codec="utf-8"), min_size=1),
    st.lists(st.sampled_from(["list", "a", "b"]), max_size=6),
)
def test_a_planted_secret_is_gone_at_any_depth(name: str, secret: str, path: list[str]) -> None:
    value: JsonValue = {name: f"<<{secret}>>"}
    for key in path:
        value = [value] if key == "list" else {key: value}
    assert redact_value(value) != value
    assert f"<<{secret}>>" not in json.dumps(redact_value(value), ensure_ascii=False)
    assert is_masked(redact_value(value))


def test_a_mask_is_seen_wherever_it_stands() -> None:
    assert is_masked([{"a": f"x{MASK}y"}])
    assert is_masked({MASK: 1})
    assert not is_masked([{"a": ["mask", None, 1]}])


def test_nesting_beyond_every_use_is_masked_unseen() -> None:
    value: JsonValue = {"password": "x"}
    for _ in range(5000):
        value = [value]
    masked = redact_value(value)
    assert is_masked(masked)
    assert redact_value(masked) == masked


# --- cost -------------------------------------------------------------------------------------------------------------

HOSTILE = {
    "one letter": "a",
    "names": "password",
    "names and no values": "password=",
    "unclosed quotes": "password='",
    "quotes of two kinds": "password=\"x token='y ",
    "quotes within quotes": 'token:\\"',
    "separators": "token=====",
    "types": "token: aaaaaaaaaaaaaaaaaaaaaaaaaaaaa ",
    "headers without end": "x-token:(a ",
    "addresses": "://a:b",
    "at signs": "://a@",
    "key blocks": "-----BEGIN PRIVATE KEY-----",
    "key blocks with content": f"-----BEGIN PRIVATE KEY-----{'A' * 60}\n",
    "marked keys": "sk-",
    "tokens": "eyJaaaaaaaa.",
    "schemes": "bearer Basic ",
    "users": "curl -u a:b ",
    "elements": "<password>",
    "backslashes": "\\",
    "letters that grow": "İtoken=abc123 ",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    """Eight times the text takes eight times as long; with the square it would be 64. Between them, a busy machine."""

    def cost(size: int) -> float:
        text = piece * (size // len(piece))
        spent = []
        for _ in range(3):
            started = time.process_time()
            redact_text(text)
            spent.append(time.process_time() - started)
        return min(spent)

    small = max(cost(16_000), 0.001)
    assert cost(128_000) / small < 8 * 4


def test_a_megabyte_is_masked_in_bounded_time() -> None:
    started = time.process_time()
    for text in ("a" * 1_000_000, "token='" + "a" * 1_000_000, "sk-" * 333_000, "token" + " " * 1_000_000 + "=x"):
        redact_text(text)
    assert time.process_time() - started < 20


# --- real arguments -----------------------------------------------------------------------------------------------


def test_few_arguments_of_real_agents_are_touched(shared_traces: Path) -> None:
    """Shells and edits apart, which write literal passwords into tests; there most that is touched is one."""
    seen = touched = 0
    for path in sorted(shared_traces.glob("coding-*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                for event in json.loads(line)["events"]:
                    if event["type"] == "call" and event["tool"] not in {"bash", "Bash", "Edit", "Write"}:
                        seen += 1
                        touched += redact_value(event["args"]) != event["args"]
    assert seen > 5000
    assert touched / seen < 0.002
