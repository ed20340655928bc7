"""Learning counts, and counts add: parts, whole, one look or two, all come to the same flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.bindings.session import SessionValues
from stretto.errors import UsageError
from stretto.flow.file import dump_flow
from stretto.flow.model import Provenance
from stretto.learning import Evidence, LearnOptions, learn, learn_counts, merge, plan_of, plan_of_flow
from stretto.review.promote import promote
from stretto.sessions.corpus import Corpus, Recorded, open_corpus
from stretto.sessions.episode import Assistant, Episode
from stretto.sessions.log_dump import dump_log
from stretto.sessions.manifest import Manifest
from stretto.sessions.redact import redact
from tests.stretto.episodes import called, episode, replied, said, together
from tests.stretto.sessions.logs_support import aborted, call
from tests.stretto.sessions.logs_support import said as logged
from waggle import jsonvalue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from stretto.sessions.episode import Event

MADE = Provenance("test")
SHOP = Manifest(
    "shop",
    {
        "find_user": "read",
        "get_user": "read",
        "get_order": "read",
        "list_items": "read",
        "cancel": "write",
        "note": "generic",
    },
)
#: No features: they are chosen from whatever the sample holds, which property tests need not pay for.
PLAIN = LearnOptions(features=False, alpha=2.0)


class Held(Corpus):
    """Sessions in memory, in place of a directory."""

    def __init__(self, episodes: Sequence[Episode], manifest: Manifest = SHOP) -> None:
        self.conventions = ""
        self._episodes = episodes
        self._given = manifest
        self.looks = 0

    def __iter__(self) -> Iterator[Recorded]:
        self.looks += 1
        return iter([Recorded(each, self._given) for each in self._episodes])

    @property
    def manifest(self) -> Manifest:
        return self._given


@st.composite
def shopping(draw: st.DrawFn, name: str) -> Episode:
    """A session at a shop: a user, and some of their orders, read one by one or together, with words between."""
    user = draw(st.sampled_from(["u1", "u2"]))
    orders = draw(st.lists(st.sampled_from(["W11", "W12", "W13", "W14"]), min_size=1, max_size=4, unique=True))
    named = draw(st.sampled_from(["hello", "it is order W12", "mail a@b.org, please"]))
    events: list[Event | list[Event]] = [said(named), called("find_user", {"email": "a@b.org"}, user)]
    events.append(called("get_user", {"user": user}, {"orders": orders, "size": len(orders)}))
    events += [
        called("get_order", {"order": order}, {"id": order, "user": user}, error=draw(st.booleans()))
        for order in draw(st.lists(st.sampled_from(orders), max_size=4))
    ]
    if draw(st.booleans()):
        events.append(together(*[("get_order", {"order": order}, {"id": order}) for order in orders]))
    if draw(st.booleans()):
        events += [called("cancel", {"order": orders[0]}, "done"), replied(), said("thanks")]
    events.append(replied())
    return episode(*events, name=name, reward=draw(st.sampled_from([1.0, 1.0, 1.0, 0.0])))


def sessions(least: int = 2, most: int = 6) -> st.SearchStrategy[list[Episode]]:
    return st.integers(least, most).flatmap(
        lambda count: st.tuples(*[shopping(f"s{number}") for number in range(count)]).map(list)
    )


def evidence_of(episodes: Sequence[Episode]) -> Evidence:
    evidence = Evidence()
    for each in episodes:
        evidence.add(Recorded(each, SHOP))
    return evidence


@settings(max_examples=60, deadline=None)
@given(sessions(), st.data())
def test_the_counts_of_parts_merge_to_the_flow_of_the_whole_byte_for_byte(
    episodes: list[Episode], data: st.DataObject
) -> None:
    if not any(each.succeeded for each in episodes):
        return
    cut = data.draw(st.integers(0, len(episodes)))
    whole = learn(Held(episodes), PLAIN, provenance=MADE)
    first, second = evidence_of(episodes[:cut]), evidence_of(episodes[cut:])
    first.merge(second)
    plan = plan_of(first, SHOP, PLAIN)
    parts = [
        learn_counts([Recorded(each, SHOP) for each in part], plan, MADE) for part in (episodes[:cut], episodes[cut:])
    ]
    assert dump_flow(merge(*parts)) == dump_flow(whole)
    assert dump_flow(merge(*reversed(parts))) == dump_flow(whole)


@settings(max_examples=30, deadline=None)
@given(sessions())
def test_one_look_and_two_come_to_the_same_flow(episodes: list[Episode]) -> None:
    """A manifest that differs from what the sessions say of themselves takes a second look."""
    if not any(each.succeeded for each in episodes):
        return
    once = Held(episodes)
    flow = learn(once, PLAIN, provenance=MADE)
    assert once.looks == 1
    plan = plan_of(evidence_of(episodes), SHOP, PLAIN)
    assert dump_flow(learn_counts([Recorded(each, SHOP) for each in episodes], plan, MADE)) == dump_flow(flow)


def test_a_tool_that_the_manifest_calls_a_write_ends_reach_whatever_a_session_said() -> None:
    made = [
        episode(called("find_user", {}, "u1"), called("note", {}, "x"), called("get_user", {"user": "u1"}, "y"))
    ] * 2
    stricter = Manifest("shop", {**SHOP.tools, "note": "write"})

    class Told(Held):
        def __iter__(self) -> Iterator[Recorded]:
            self.looks += 1
            return iter([Recorded(each, SHOP) for each in self._episodes])

    corpus = Told(made, stricter)
    flow = learn(corpus, PLAIN, provenance=MADE)
    assert corpus.looks == 2
    assert flow.reach is not None
    get_user = flow.vocabulary.action("get_user")
    after_find = (flow.symbol("find_user", 0),)  # type: ignore[arg-type]  # the number of the outcome
    assert flow.reach.levels[1][after_find].by_action.get(get_user, 0) == 0


def test_sessions_of_a_served_flow_add_to_it() -> None:
    def shop(name: str) -> Episode:
        return episode(
            said("order W11"),
            called("get_user", {"user": "u1"}, {"orders": ["W11", "W12"]}),
            called("get_order", {"order": "W11"}, {"id": "W11"}),
            called("get_order", {"order": "W12"}, {"id": "W12"}),
            name=name,
        )

    flow = learn(Held([shop(f"s{number}") for number in range(4)]), PLAIN, provenance=MADE)
    later = [shop(f"t{number}") for number in range(3)]
    plan = plan_of_flow(flow, (each.id for each in later))
    grown = merge(flow, learn_counts([Recorded(each, SHOP) for each in later], plan, MADE))
    everything = learn(Held([shop(f"s{n}") for n in range(4)] + later), PLAIN, provenance=MADE)
    assert dump_flow(grown) == dump_flow(everything)
    assert grown.provenance.habit_episodes == 7


def test_flows_of_different_plans_do_not_add() -> None:
    one = learn(Held([episode(called("get_user", {"user": "u"}, "x"))]), PLAIN, provenance=MADE)
    other = learn(Held([episode(called("clock", {}, "x"))], Manifest("", {"clock": "read"})), PLAIN, provenance=MADE)
    with pytest.raises(UsageError, match="different actions"):
        merge(one, other)


def test_nothing_is_learned_from_failed_sessions() -> None:
    with pytest.raises(UsageError, match="no successful session"):
        learn(Held([episode(called("get_user", {"user": "u"}, "x"), reward=0.0)]), PLAIN, provenance=MADE)


def test_a_trial_leaves_nothing_behind() -> None:
    seen = SessionValues()
    seen.hear("W1")
    seen.call("get_order", {"order": "W1"})
    seen.result("get_order", {"order": "W1"}, '{"id": "W1"}')
    before = (
        seen.site,
        dict(seen.passed("get_order", "order")),
        len(seen.calls_of("get_order")),
        len(list(seen.outputs())),
    )
    with seen.trial():
        seen.call("get_order", {"order": "W2", "n": 12345})
        seen.result("get_order", {"order": "W2", "n": 12345}, '{"id": "W2"}')
        seen.call("get_user", {"user": "u"})
    after = (
        seen.site,
        dict(seen.passed("get_order", "order")),
        len(seen.calls_of("get_order")),
        len(list(seen.outputs())),
    )
    assert before == after
    assert not seen.calls_of("get_user")
    assert not seen.passed("get_order", "n")


def test_half_life_weighs_the_steps_of_older_sessions_less() -> None:
    older = [
        episode(called("get_user", {"user": "u"}, "x"), called("get_order", {"order": "W"}, "y"), name=f"a{n}")
        for n in range(3)
    ]
    newer = [
        episode(called("get_user", {"user": "u"}, "x"), called("list_items", {}, "y"), name=f"b{n}") for n in range(3)
    ]
    flow = learn(Held([*older, *newer]), LearnOptions(features=False, alpha=1.0, half_life=1), provenance=MADE)
    even = learn(Held([*older, *newer]), PLAIN, provenance=MADE)
    after = (flow.symbol("get_user", 0),)  # type: ignore[arg-type]  # the number of the outcome
    old, new = flow.vocabulary.action("get_order"), flow.vocabulary.action("list_items")
    assert flow.habit.base.probability(after, new) > 4 * flow.habit.base.probability(after, old)
    assert even.habit.base.probability(after, new) == even.habit.base.probability(after, old)


def test_a_flow_learned_from_a_redacted_copy_has_the_counts_of_the_original(tmp_path: Path) -> None:
    made = []
    for number in range(4):
        orders = [f"#W{number}{place}" for place in (1, 2)]
        made.append(
            episode(
                said(f"I am user_{number}; about {orders[1]}, please."),
                called("find_user", {"email": f"u{number}@b.org"}, f"user_{number}"),
                called("get_user", {"user": f"user_{number}"}, {"orders": orders, "plan": "gold"}),
                *(called("get_order", {"order": order}, {"id": order, "state": "open"}) for order in orders),
                called("cancel", {"order": orders[0]}, "done"),
                replied(),
                name=f"s{number}",
            )
        )
    source, copy = tmp_path / "logs", tmp_path / "copy"
    source.mkdir()
    for each in made:
        (source / f"{each.id}.jsonl").write_bytes(dump_log(each, SHOP))
    redact(source, copy, salt="pepper")
    assert b"u1@b.org" not in b"".join(path.read_bytes() for path in copy.iterdir())
    # A hash has another shape than what it stands for, so the user's words are not compared.
    options = LearnOptions(features=False, speak=False, uses=False)
    first, second = (learn(open_corpus(where), options, provenance=MADE) for where in (source, copy))
    assert first.bindings.sources
    assert dump_flow(first) == dump_flow(second)


def test_every_call_of_a_batch_is_an_assistant_turn_of_its_own_in_no_count() -> None:
    """The results of one turn are not visible to its own calls, whatever part of a corpus it is in."""
    made = episode(together(("get_user", {"user": "u"}, {"orders": ["W11"]}), ("get_order", {"order": "W11"}, "x")))
    assert sum(isinstance(event, Assistant) for event in made.events) == 1
    flow = learn(Held([made, made]), PLAIN, provenance=MADE)
    assert all(not counts.found for counts in flow.bindings.sources.values())


@pytest.mark.case("HC-23")
def test_calls_that_a_dead_server_left_open_count_neither_for_nor_against_a_flow(tmp_path: Path) -> None:
    """Another session that ended so, and its user's and agent's words about it, teach what it teaches without them."""
    events = [
        called("find_user", {"email": "a@b.org"}, "u1"),
        called("get_user", {"user": "u1"}, {"orders": ["W11", "W12"]}),
        called("get_order", {"order": "W11"}, {"id": "W11"}),
    ]
    left = [
        call(10**6, 90, "get_order", order="W12"),
        aborted(10**6 + 5, 90),
        logged(10**6 + 6, "user", "Oh."),
        logged(10**6 + 7, "assistant", "It is down."),
    ]
    corpora: list[Corpus] = []
    for name, more in (("whole", []), ("died", left)):
        place = tmp_path / name
        place.mkdir()
        for number in range(4):
            log = dump_log(episode(*events, name=f"s{number}"), SHOP)
            end = [jsonvalue.dumps(entry.to_json()) + b"\n" for entry in more]
            (place / f"s{number}.jsonl").write_bytes(log + b"".join(end))
        corpora.append(open_corpus(place))
    whole, died = (learn(corpus, PLAIN, provenance=MADE) for corpus in corpora)
    assert dump_flow(whole) == dump_flow(died)
    one, other = (promote(whole, [recorded.episode for recorded in corpus]) for corpus in corpora)
    assert one == other
    assert one.promotion.sites
