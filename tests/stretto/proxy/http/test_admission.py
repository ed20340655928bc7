"""Nobody gets in who is not to: pages of others, other names of this machine, wrong tokens; and no token is on show."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.conftest import ROOT
from tests.stretto.proxy.http.site import SERVER, ask, headers_of, listening
from tests.stretto.proxy.relays import PATIENCE, program

# --- who is let in --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]:80"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "localhost@evil.example"}, 421),
        ({"host": ""}, 421),
        ({"origin": "http://localhost:6274"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[bad"}, 403),
    ],
)
def test_without_a_token_only_this_machine_and_no_web_page_of_others_is_let_in(
    headers: dict[str, str], status: int, tmp_path: Path
) -> None:
    with listening(tmp_path) as site:
        assert site.send(ask(0, "initialize"), **headers).status_code == status
        assert len(site.logs()) == (status == 200)


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer wrong", "bearer right-token", "right-token", "Bearer é"])
def test_with_a_token_nobody_else_is_let_in(given: str, tmp_path: Path) -> None:
    with listening(tmp_path, token="right-token") as site:  # noqa: S106 - is none
        headers = {"authorization": given.encode("latin-1").decode("latin-1")} if given else {}
        request = httpx2.Request("POST", site.listener.url, content=b"{}", headers=headers_of(""))
        for name, value in headers.items():
            request.headers.raw.append((name.encode(), value.encode("latin-1")))
        refused = site.client.send(request)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "right-token" not in refused.text
        allowed = {"authorization": "Bearer right-token", "host": "public.example", "origin": "https://page.example"}
        assert site.send(ask(0, "initialize"), **allowed).status_code == 200


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--listen", "0.0.0.0:0"], "--listen-token-file"),
        (["--listen", "somewhere"], "HOST:PORT"),
        (["--listen", "1:99999"], "HOST:PORT"),
        (["--listen", "192.0.2.1:1", "--listen-token-file", "token"], "192.0.2.1:1"),
        (["--listen", "0", "--listen-token-file", "none"], "cannot be read"),
        (["--listen", "0", "--listen-token-file", "empty"], "holds no token"),
        (["--listen", "0", "--context", "c"], "--context"),
        (["--listen-idle", "3"], "does nothing without --listen"),
        (["--listen", "0", "--listen-idle", "0"], "--listen-idle"),
        (["--upstream", "ftp://x"], "http"),
        (["--upstream", "http://x", "--", "server"], "one server"),
        (["--upstream-header", "a=HOME"], "without --upstream"),
        (["--upstream", "http://x", "--upstream-header", "a"], "NAME=VAR"),
        (["--upstream", "http://x", "--upstream-header", "a b=HOME"], "NAME=VAR"),
        (["--upstream", "http://x", "--upstream-header", "a=s3cret_not_a_variable"], "of the name given"),
        (["--upstream", "http://x", "--upstream-header", "a=TWO_LINES"], "cannot be sent"),
        ([], "one server"),
    ],
)
def test_what_cannot_be_done_is_refused_and_says_what_to_do(options: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-token", encoding="utf-8")
    (tmp_path / "empty").write_text("\n", encoding="utf-8")
    command = [] if not options or "--" in options or "--upstream" in options else ["--", "server"]
    refused = subprocess.run(
        [sys.executable, "-m", "stretto.proxy.main", *options, *command],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TWO_LINES": "secret\nvalue"},
        timeout=PATIENCE,
        check=False,
    )
    assert refused.returncode == 2
    assert said in refused.stderr
    assert "secret" not in refused.stderr
    assert "s3cret" not in refused.stderr
    assert refused.stdout == ""


def test_a_token_that_others_can_read_is_used_and_told(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a-token\n", encoding="utf-8")
    token.chmod(0o644)
    proxy = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "stretto.proxy.main",
            "--listen",
            "[::1]:0",
            "--listen-token-file",
            token,
            "--",
            *SERVER,
        ],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert proxy.stderr
    with proxy.stderr:
        assert "chmod 600" in proxy.stderr.readline()
        url = proxy.stderr.readline().split()[-1]
        assert url.startswith("http://[::1]:")
        headers = headers_of("") | {"authorization": "Bearer a-token"}
        assert httpx2.post(url, content=json.dumps(ask(0, "initialize")), headers=headers).status_code == 200
        proxy.send_signal(signal.SIGINT)
        assert proxy.wait(PATIENCE) == 0


def test_no_option_takes_a_token_and_none_is_in_the_process_list_or_handed_to_the_server(tmp_path: Path) -> None:
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("looks at command lines and environments in /proc, which only Linux has")
    token = tmp_path / "token"
    token.write_text("open-sesame-1234", encoding="utf-8")
    token.chmod(0o600)
    shows = program(
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    said = json.loads(line)\n"
        "    if 'id' in said:\n"
        "        seen = [open(f'/proc/{each}/cmdline').read() for each in (os.getpid(), os.getppid())]\n"
        "        seen += [open(f'/proc/{each}/environ').read() for each in (os.getpid(), os.getppid())]\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': said['id'], 'result': {'seen': seen}}), flush=True)\n"
    )
    words = [sys.executable, "-m", "stretto.proxy.main", "--listen", "0"]
    proxy = subprocess.Popen(
        [*words, "--listen-token-file", token, "--", *shows], stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert proxy.stderr
    with proxy.stderr:
        url = proxy.stderr.readline().split()[-1]
        headers = headers_of("") | {"authorization": "Bearer open-sesame-1234"}
        seen = httpx2.post(url, content=json.dumps(ask(0, "initialize")), headers=headers).json()["result"]["seen"]
        proxy.send_signal(signal.SIGTERM)
        assert proxy.wait(PATIENCE) == 0
    assert str(token) in seen[1]
    assert not any("open-sesame-1234" in each for each in seen)
    for option in ("--listen-token", "--token"):
        done = subprocess.run(
            [*words, option, "open-sesame-1234", "--", *shows],
            capture_output=True,
            cwd=ROOT,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 2
        assert b"No such option" in done.stderr
        assert b"open-sesame-1234" not in done.stderr
