from __future__ import annotations

import os
import threading

from hypothesis import given
from hypothesis import strategies as st

from stretto.proxy.streams import Cutter, Line, Outlet

CHUNKS = st.lists(st.binary(min_size=1, max_size=12) | st.sampled_from([b"\n", b"\n\n", b"a\nb", b"\r\n"]))


@given(CHUNKS, st.integers(1, 20))
def test_pieces_are_the_stream_whole_lines_but_for_those_that_are_too_long(chunks: list[bytes], longest: int) -> None:
    cutter = Cutter(longest)
    pieces = [piece for chunk in chunks for piece in cutter.feed(chunk)]
    pieces += cutter.rest()
    stream = b"".join(chunks)
    assert b"".join(piece.raw for piece in pieces) == stream
    *ended, torn = stream.split(b"\n")
    lines = [line + b"\n" for line in ended] + [torn]
    assert [piece.raw for piece in pieces if piece.whole] == [line for line in lines if 0 < len(line) <= longest]


def test_a_line_is_parsed_when_it_is_asked_for_and_keeps_its_bytes() -> None:
    assert Line(b'{"id": 18446744073709551617}\r\n').message == {"id": 18446744073709551617}
    assert Line(b"Server started\n").message is None
    assert Line(b"\xff\xfe\n").message is None
    assert Line(b"[" * 100_000 + b"\n").message is None


def test_what_is_added_waits_for_the_end_of_a_line() -> None:
    reads, writes = os.pipe()
    outlet = Outlet(writes)
    outlet.put(b'{"half')
    adding = threading.Thread(target=outlet.add, args=(b"own\n",))
    adding.start()
    outlet.put(b'":1}\n')
    adding.join(10)
    assert os.read(reads, 100) == b'{"half":1}\nown\n'
    outlet.put(b"torn")
    outlet.release()
    outlet.add(b"own\n")
    assert os.read(reads, 100) == b"torn\nown\n"
    os.close(reads)
    assert not outlet.add(b"nobody reads\n")
    assert outlet.broken
    os.close(writes)
