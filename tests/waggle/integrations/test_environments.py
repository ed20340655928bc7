"""Where the environments of the frameworks' tests come from: whence pip would install, by uv's own settings."""

from __future__ import annotations

import pytest

from tests.integrations.run import FROM_PIP, uv_settings

LISTED = r"""WARNING: something that pip says besides
:env:.find-links='/wheels /more'
global.cert='/etc/roots.pem'
global.constraint='\n/etc/one.txt\n/etc/two.txt'
global.index-url='https://global.example/simple'
install.index-url='https://install.example/simple'
global.timeout='60'
freeze.index-url='https://freeze.example/simple'
"""


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*FROM_PIP.values(), "UV_INDEX_STRATEGY"):
        monkeypatch.delenv(name, raising=False)


def test_what_pip_is_told_uv_is_told() -> None:
    assert uv_settings(LISTED) == {
        "SSL_CERT_FILE": "/etc/roots.pem",
        "UV_CONSTRAINT": "/etc/one.txt /etc/two.txt",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_INDEX_URL": "https://install.example/simple",
    }


def test_of_several_indexes_none_is_better_as_in_pip() -> None:
    assert uv_settings("global.extra-index-url='file:///a file:///b'") == {
        "UV_EXTRA_INDEX_URL": "file:///a file:///b",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_what_uv_is_told_itself_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_INDEX_URL", "https://own.example/simple")
    assert uv_settings("global.index-url='https://global.example/simple'") == {}


def test_without_settings_nothing_is_told() -> None:
    assert uv_settings("") == {}
