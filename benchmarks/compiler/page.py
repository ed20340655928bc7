"""The page: what was measured, in tables and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.compiler.agreement_page import agreement_section
from benchmarks.compiler.edges import SEVERAL, SINGLE
from benchmarks.compiler.markdown import table
from benchmarks.compiler.study import ALONE
from benchmarks.compiler.trees_page import trees_section
from stretto.compiler.measure import Share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.compiler.edges import Found
    from benchmarks.compiler.study import Study

__all__ = ["page"]

_TITLES: Final = {
    "BFCL": "BFCL, executed: truth by intervening",
    "generated": "Generated, with decoys in all combinations: truth by construction",
}


def page(study: Study, source: str) -> str:
    """The page in Markdown.

    Args:
        study: what was measured.
        source: where the recorded sessions come from, for people.
    """
    parts = [_HEAD.format(source=source)]
    if study.edges:
        parts += ["## What depends on what", _EDGES.strip()]
        parts += [part for found in study.edges for part in _corpus(study, found)]
    if study.agreed:
        parts += agreement_section(study.agreed)
    if study.domains:
        parts += ["## From sessions to procedures", _INTENTS.strip(), _domains(study), _left_out(study), _codes(study)]
    if study.trees:
        parts += trees_section(study.trees)
    if study.costs:
        parts += ["## What it costs", _SPEED.strip(), _costs(study)]
    return "\n\n".join(parts) + "\n"


def _share(share: Share) -> str:
    low, high = share.interval
    return f"{share.value:.3f} [{low:.3f}, {high:.3f}]" if share.count else "-"


# --- edges --------------------------------------------------------------------------------------------------------


def _corpus(study: Study, found: Found) -> Iterator[str]:
    corpus = found.corpus
    yield f"### {_TITLES.get(corpus.name, f'τ-bench, {corpus.name}: truth by unique values')}"
    counted = f"{len(corpus.counted):,} traces are scored, {len(corpus.gold):,} dependencies are true"
    yield f"{counted}, {len(corpus.open - corpus.gold):,} nobody knows."
    rows = []
    for name in found.rows:
        scores = found.scores(name)
        shown = f"**{name}**" if name in (SEVERAL, SINGLE) else name
        rows.append(
            [shown, f"{scores.precision.count:,}", _share(scores.precision), _share(scores.recall), f"{scores.f1:.3f}"]
        )
    yield table(["way", "found", "precision", "recall", "F1"], rows)
    right = len(found.suspected & corpus.gold)
    yield f"Beside these, the rule reports {len(found.suspected):,} as suspected, {right:,} of them true."
    reasons = sorted({reason for each in corpus.gold for reason in [corpus.reasons.get(each, "")]})
    if len(reasons) > 1:
        missed, missing = found.missed(), corpus.gold - found.rows[SEVERAL]
        if corpus.name == "generated":
            settled = found.of("settled")
            found_of_it = Share(len(settled - missing), len(settled))
            yield f"Of what is settled, the rule over several traces finds {_share(found_of_it)}."
        yield table(
            ["true dependencies by what makes them hard", "there are", "the rule, several traces, misses"],
            [[reason, f"{len(found.of(reason)):,}", f"{missed[reason]:,}"] for reason in reasons],
        )
    wrong = ", ".join(f"{count} ({why})" for why, count in sorted(found.wrong().items()))
    yield f"Wrong by the rule over several traces: {wrong or 'none'}."
    if corpus.name == "BFCL" and study.truth:
        yield (
            "How the argument values were judged, which an earlier output shows: "
            + ", ".join(f"{how} {count}" for how, count in study.truth.items())
            + "."
        )
    if corpus.name == "generated":
        yield _ALONE.strip()
        yield table(
            ["where else the value stands", "in", *(f"recall, {name}" for name in ALONE)],
            [
                [
                    each.decoy or "nowhere",
                    "every trace" if each.agree else "three of five",
                    *(f"{each.recall[name].value:.2f}" for name in ALONE),
                ]
                for each in study.alone
            ],
        )


# --- intents ------------------------------------------------------------------------------------------------------


def _domains(study: Study) -> str:
    rows = []
    for each in study.domains:
        plain, asked, calls = each.outcomes(), each.outcomes(asked=True), each.reduction()
        rows.append(
            [
                each.domain.name,
                f"{len(each.domain.traces)} of {each.domain.sessions}",
                str(len(each.found.intents)),
                str(len(each.found.supported)),
                str(plain["compiled"]),
                f"{plain['compiled with a person']} ({asked['compiled with a person']})",
                f"{plain['refused']} ({asked['refused']})",
                str(plain["no step"]),
                f"{100 * each.removable:.1f}%",
                f"{calls.observed} → {calls.cold} → {calls.warm}" if calls.observed else "-",
            ]
        )
    head = [
        "domain",
        "sessions",
        "intents",
        "supported",
        "compiled",
        "with a person",
        "refused",
        "no step",
        "removable",
        "calls, cold, warm",
    ]
    return table(head, rows)


def _left_out(study: Study) -> str:
    same, escalated, wrong, final = (
        sum(each.left_out(asked=asked)[name] for each in study.domains for asked in (False, True))
        for name in ("same", "escalated", "wrong", "wrong, irreversible")
    )
    kept = sum(
        replayed.irreversible
        for each in study.domains
        for made in (*each.made, *each.asked)
        if made.procedure is not None
        for replayed in made.left_out
    )
    return (
        f"Traces that were left out and replayed on paper, of both ways of compiling: {same} the same calls, "
        f"{escalated} escalated, **{wrong} wrong**. Wrong calls of irreversible steps: {final}, and **{kept}** in "
        "procedures that were kept, since one such call refuses the procedure."
    )


def _codes(study: Study) -> str:
    codes = sorted({code for each in study.domains for code in each.codes})
    rows = [[code, str(sum(each.codes[code] for each in study.domains))] for code in codes]
    return table(["refused intents with the reason", "intents"], rows) if rows else "Nothing was refused."


def _costs(study: Study) -> str:
    return table(
        ["traces", "calls", "seconds", "a trace", "times reading them", "peak memory"],
        [
            [
                f"{cost.traces:,}",
                f"{cost.calls:,}",
                f"{cost.seconds:.1f}",
                f"{1000 * cost.seconds / cost.traces:.0f} ms",
                f"{cost.seconds / max(cost.parse_seconds, 1e-9):.0f}",
                f"{cost.megabytes} MB",
            ]
            for cost in study.costs
        ],
    )


_HEAD: Final = """# Results: the compiler

What the compiler finds in traces of which it is known what depends on what, what becomes of recorded sessions, and what
compiling costs. Every number is written by one command, which takes some minutes:

    python -m benchmarks.compiler --markdown docs/results-compiler.md

The recorded sessions are those of {source}.
Other sessions give other numbers; the executed tasks of BFCL and the generated traces are in the clone, and the same
everywhere. Nothing but the costs depends on the clock, and nothing on chance without a seed."""

_EDGES: Final = """
Counted are distinct triples of trace, producer call and consumer call, strong and conditional ones, with Wilson's
intervals at 95 %. **The rule, several traces** is what is concluded of all traces of an intent; **the rule, one trace**
looks at each by itself. The others are baselines, and are never used to compile: they look at order alone, or choose
among the candidates that are left when carriers, repeats and other origins are excluded.

- **BFCL**: the reference solutions of 200 tasks of the Berkeley Function Calling Leaderboard, executed in the package's
  own environments, in each task's world and in up to four others with other numbers and random seeds, which are the
  several traces. Whether a value matters is found by swapping it; where it came from, by worlds in which the producer
  shows another value, so that the consumer fails with the old one (`proven`); where no world tells, by there being one
  call that shows it (`only`), and for values that anything could have stood in for by reading the requests (`read`).
  In the other worlds an argument follows the call that it was judged to come from, so that the several traces lean on
  that judgement; the row for one trace does not. Two of the rule's terms were put right after a look at these tasks: a
  value that the agent had used before proves nothing, and the elements of a fan-out are judged one by one.
  `benchmarks/compiler/make_bfcl.py` says exactly what counts, and makes the data. What the rule cannot tell is what an
  agent knows by itself: that Microsoft is MSFT it takes from a list that happens to hold it. That is all it gets wrong.
  What it misses are small numbers and codes of three letters, which prove nothing unless they vary (*short*), and what
  is taken out of a text or put together.
- **Generated**: five traces for each combination of where a value came from, where else it stands (in all traces or in
  three), whether it varies, and whether it is a small number. By far most combinations are such that no evidence
  settles them, and the rule is to say so: what counts is that nothing it says is wrong, and that it misses nothing of
  what is **settled** by its own terms.
- **τ-bench**: recorded sessions; true is a distinctive value that exactly one call before shows and the user had not
  said. That is nearly the condition of the rule for one trace, so its row and those of the candidates say nothing of
  their precision. What it does show: several sessions that are alike reach the same argument in different ways, and the
  rule for several traces, which a single contradiction stops, then keeps silent. Its recall is the price of that.
"""

_ALONE: Final = """
One decoy at a time, where the value is an id of the producer's that is another in each trace. The rule gives up what
the user, the context or the schema may explain, and calls that tie whenever they are used; a call that sometimes has
another value is refuted.
"""

_INTENTS: Final = """
Of each domain: the sessions that reached their goal, the intents that are found in them, and what becomes of those with
five traces or more (*supported*). In brackets, when a person may be asked which way to go. *No step*: nothing in it
changes anything or is in the answer, so there is nothing to make a procedure of. *Removable* is the median share of
calls that go without any analysis. The calls are those of the traces that procedures were made of, then what the
procedures call when they log in first, and with a session that is valid. Effects are those of the recordings, where a
write counts as irreversible and a tool that is neither as unknown.
"""

_SPEED: Final = """
Generated traces of one intent, of about 30 calls each, with retries, repeats, a list to choose from, an optional step
behind a guard and outputs that nothing uses; compiled with all checks: every trace is replayed on paper, and left out
with its part when the procedure is made again, twenty times. Processor time of one core.
"""
