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
        parts += [
            "## From sessions to procedures",
            _INTENTS.strip(),
            _domains(study),
            _left_out(study),
            _pays(study),
            _codes(study),
        ]
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
            of_all = found.scores(SEVERAL).recall
            yield (
                f"Recall of the rule over several traces is **{_share(found_of_it)}** of what is settled, "
                f"and {_share(of_all)} of all that is true."
            )
        yield table(
            ["true dependencies by what makes them hard", "there are", "the rule, several traces, misses"],
            [[reason, f"{len(found.of(reason)):,}", f"{missed[reason]:,}"] for reason in reasons],
        )
    wrong = ", ".join(f"{count} ({why})" for why, count in sorted(found.wrong().items()))
    yield f"Wrong by the rule over several traces: {wrong or 'none'}."
    if corpus.name == "BFCL":
        yield from _traces(study)
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


def _traces(study: Study) -> Iterator[str]:
    """What several traces of an executed task do for it, and how the truth was found."""
    if study.growth:
        yield _GROWTH.strip()
        yield table(
            ["traces of each intent", "found", "precision", "recall", "F1"],
            [
                [str(size), f"{each.precision.count:,}", _share(each.precision), _share(each.recall), f"{each.f1:.3f}"]
                for size, each in study.growth.items()
            ],
        )
    if study.truth:
        yield (
            "How the argument values were judged, which an earlier output shows: "
            + ", ".join(f"{how} {count}" for how, count in study.truth.items())
            + "."
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


#: What is assumed of a review, in seconds, and of a model's turn.
_REVIEW_S: Final = 600
_TURN_S: Final = 5


def _pays(study: Study) -> str:
    """After how many uses the review of a procedure has paid for itself."""
    kept = [made for each in study.domains for made in each.made if made.procedure is not None]
    traces = sum(len(made.traces) for made in kept)
    if not traces:
        return "No procedure was kept, so that none can pay for its review."
    turns = sum(each.reduction(asked=False).observed for each in study.domains) / traces
    uses = _REVIEW_S / (turns * _TURN_S)
    return (
        f"A run of a procedure takes no turn of a model; the agents took {turns:.1f} calls in a session of those that "
        f"were compiled. At {_TURN_S} seconds a call, a review of {_REVIEW_S // 60} minutes has paid for itself after "
        f"{uses:.0f} runs. Compiling asks no model, and takes the time that is given below."
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
  own environments, in each task's world and in up to eleven others, which are the several traces. The user asks for the
  same in all of them, and the agent knows the same. Numbers, names and codes that neither of them says are others in
  most worlds, in the initial state as in the package's tables (prices, fares, airports); of a list, a directory or a
  text of several lines, one member in four is left out. Names are made up of random letters, the ends of file names
  among them. What varies follows from what sort of thing a value is
  (`benchmarks/compiler/bfcl_worlds.py` says it exactly), and was fixed before these worlds were measured, though not
  without knowing what the rule had missed and got wrong in earlier ones. A world in which a call comes out otherwise
  than in the task's own is given up.

  Whether a value matters is found by swapping it; where it came from, by worlds in which the producer shows another
  one, so that the consumer takes that and refuses the old one (`proven`), or in which one of two calls does not show
  it, and the consumer is content with the other's (`refuted`); where no world tells, by there being one call that shows
  it (`only`), and for values that anything could have stood in for by reading the requests, one kind of pair of calls
  at a time (`read`: mostly prices and other numbers, which the consumers take whatever they are). A code is `known`,
  and no edge, where the user says the name that a directory of the package has it under and nobody looked it up
  (Microsoft is MSFT), and a value that was passed before any call had shown it.
  `benchmarks/compiler/make_bfcl.py` decides that without the rule, and makes the data. In the other worlds an argument
  follows the call that it was judged to come from, so that the several traces lean on that judgement; the row for one
  trace does not.

  Before, four other worlds with other numbers were all, and a person had read 97 values: precision was 0.971, recall
  0.851. Of those values 12 are now decided by worlds, each as it had been read, and 10 by directories; of the terms
  that were thought of for these, the one was taken that agrees with the reading, which therefore confirms nothing.
  After a look at results, four things were put right. Of the rule: a value that the agent had used before proves
  nothing, and the elements of a fan-out are judged one by one. Of the worlds: at first a list kept every member that
  the user names, so that no world could refute that the agent has MSFT from it; and a counter stayed that happened to
  be as large as the number of some record. Without these two, precision was 0.974 and recall 0.931: that all seven
  coincidences are refuted is what leaving out such members does, and holds for a user whose lists differ so.

  What an agent knows by itself the rule cannot tell from what a list happens to hold, until a trace comes in which the
  list does not hold it. What it misses are small numbers and codes (*short*) that are the same in all worlds, since
  they follow from what the user says, or that in some trace are what the user or the agent had said before; and what
  is taken out of a text or put together, for which it has no extractor, on purpose.
- **Generated**: five traces for each combination of where a value came from, where else it stands (in all traces or in
  three), whether it varies, and whether it is a small number. By far most combinations are such that no evidence
  settles them, and the rule is to say so. What is **settled** follows from what was put where, and no rule is asked:
  nothing but the producer explains the value in all traces, and the terms of a strong edge are met. That is so where
  the user, the context and the schema never hold the value; where each other call that holds it holds another one in
  some trace (a call without a recorded output can never be told apart, an echo explains nothing); and where the value
  is another in each trace, if another call holds it or it is a small number. The bar for recall, 0.90, is meant on what
  the evidence settles; recall of all that is true is in the table, too.
- **τ-bench**: recorded sessions; true is a distinctive value that exactly one call before shows and the user had not
  said. That is nearly the condition of the rule for one trace, so its row and those of the candidates say nothing of
  their precision. What it does show: several sessions that are alike reach the same argument in different ways, and the
  rule for several traces, which a single contradiction stops, then keeps silent. Its recall is the price of that.
"""

_GROWTH: Final = """
With the first traces of each intent alone, the task's own world being the first. One trace is what the compiler's
analysis makes of it, which looks at steps and labels, too, and so need not be the row above. An intent is compiled from
five traces on.
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
