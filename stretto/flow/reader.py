"""A flow file's content as a flow, checked as a whole.

`stretto.flow.schema` says what each field looks like; here is how they fit together: counts within their totals,
actions and contexts of the vocabulary, lookups that the manifest calls reads, no field newer than the file's version.
What comes out can be served without a further look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import ValidationError

from stretto.contents import field_path
from stretto.errors import FlowError
from stretto.flow import program
from stretto.flow.model import (
    Arbiter,
    Bar,
    Flow,
    Fold,
    Gate,
    Predicate,
    Promotion,
    Provenance,
    SiteRecord,
    Sites,
    site_name,
)
from stretto.flow.reader_bindings import read_bindings, read_uses
from stretto.flow.reader_parts import (
    fault,
    read_backoff,
    read_features,
    read_habit,
    read_vocabulary,
    same,
    shown,
    table,
)
from stretto.flow.schema import FlowForm
from stretto.flow.versions import VERSIONS, later_fields
from stretto.forms import first_fault
from stretto.sessions.manifest import Manifest, ToolDoc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stretto.flow.model import Favors, Site
    from stretto.flow.schema import PredicateForm, PromotedForm, SitesForm
    from waggle.jsonvalue import JsonValue

__all__ = ["flow_from_json"]

#: Features an arbiter weighs beside its predicates: the prior, two answers, handing back, the reliability.
_ARBITER_FEATURES: Final = 5
_FAVORS: Final = ("same_lookup", "any_lookup", "hand_back")

_Value = TypeVar("_Value")


def flow_from_json(value: JsonValue, path: str = "") -> Flow:
    """A flow from the content of its file.

    Args:
        value: the content, of version 1, 2 or 3.
        path: the file, named in errors.

    Raises:
        FlowError: a version that is not supported, a field that is missing, unknown, of the wrong type or out of range,
            or fields that do not fit together; it names the first of them by its JSON path.
    """
    try:
        return _flow(_form(value))
    except FlowError as error:
        raise FlowError(path, error.at, error.problem) from None


def _form(value: JsonValue) -> FlowForm:
    if not isinstance(value, dict):
        raise fault("$", "expected an object")
    version = value.get("stretto_flow")
    if type(version) is not int or version not in VERSIONS:
        supported = f"{', '.join(map(str, VERSIONS[:-1]))} and {VERSIONS[-1]}"
        raise fault("$.stretto_flow", f"expected a version of flow files that is read here: {supported}")
    try:
        return FlowForm.model_validate(value)
    except ValidationError as error:
        raise fault(*first_fault(error, value)) from None


def _flow(form: FlowForm) -> Flow:
    vocabulary = read_vocabulary(form.vocab, "$.vocab")
    manifest = Manifest(
        form.manifest.domain or "",
        dict(form.manifest.tools),
        {name: ToolDoc(doc.summary or "", doc.args or {}) for name, doc in (form.manifest.docs or {}).items()},
        dict(form.contracts or {}),
    )
    known = {*vocabulary.tools, *manifest.tools}
    flow = Flow(
        provenance=Provenance(
            form.provenance.stretto,
            tuple(form.provenance.sources or ()),
            form.provenance.habit_episodes or 0,
            form.provenance.arbiter_cases or 0,
            form.provenance.compiled_unix_ms or 0,
            form.provenance.conventions or "",
        ),
        vocabulary=vocabulary,
        manifest=manifest,
        features=read_features(form.map, "$.map"),
        habit=read_habit(form.habit, vocabulary, "$.habit"),
        reach=read_backoff(form.reach, vocabulary, "$.reach", exclusive=False) if form.reach else None,
        sites=_sites(form.sites, manifest, known),
        bindings=read_bindings(form.bindings, "$.bindings"),
        program=program.STANDARD if form.program is None else program.decode(form.program, "$.program"),
        arbiter=_arbiter(form),
        group=1 if form.group is None else form.group,
        promoted=_promotion(form.promoted, known) if form.promoted else None,
        thresholds=_of_sites(form.thresholds or {}, known, "$.thresholds"),
        uses=read_uses(form.uses or (), "$.uses"),
    )
    if form.surprise:
        flow.surprise = Gate(form.surprise.window, form.surprise.threshold, form.surprise.quantile)
    for version, at in later_fields(flow):
        if version > form.stretto_flow:
            raise fault(at, f"a field of version {version}, in a file that says it is version {form.stretto_flow}")
    return flow


def _sites(form: SitesForm, manifest: Manifest, known: set[str]) -> Sites:
    """Raises `FlowError` for whatever would make a flow look up what the manifest does not call a read."""
    for place, tool in enumerate(form.reads):
        if manifest.kind(tool) != "read":
            raise fault(f"$.sites.reads[{place}]", f"{shown(tool)} is not a read of the manifest")
        if place and form.reads[place - 1] >= tool:
            raise fault(f"$.sites.reads[{place}]", "expected names in order, each once")
    reads = set(form.reads)

    def site(key: tuple[str, bool], at: str) -> Site:
        if key[0] not in known:
            raise fault(f"{at}[0]", f"{shown(key[0])} is not a tool of this flow")
        return key

    def lookups(counts: dict[str, int], at: str) -> dict[str, int]:
        for tool in counts:
            if tool not in reads:
                raise fault(field_path((tool,), at), f"{shown(tool)} is not in $.sites.reads, so it is no lookup")
        return dict(counts)

    feeds: dict[str, dict[tuple[str, str], int]] = {
        tool: table(pairs, field_path((tool,), "$.sites.feeds"), same, same)
        for tool, pairs in (form.feeds or {}).items()
    }
    return Sites(tuple(form.reads), table(form.next, "$.sites.next", site, lookups), feeds, form.every_read or False)


def _promotion(form: PromotedForm, known: set[str]) -> Promotion:
    bar = Bar(form.bar.threshold, form.bar.min_used, form.bar.min_lower, form.bar.min_tasks)
    records = {
        name: SiteRecord(one.decisions, one.lookups, one.used, one.tasks, one.lower, one.promoted)
        for name, one in form.sites.items()
    }
    return Promotion(bar, _of_sites(records, known, "$.promoted.sites"))


def _of_sites(values: dict[str, _Value], known: set[str], at: str) -> dict[str, _Value]:
    """A map by site, each of which is of a tool that is known."""
    names = {site_name((tool, failed)) for tool in known for failed in (False, True)}
    for name in values:
        if name not in names:
            raise fault(field_path((name,), at), "not a site of this flow: a tool, or a tool and ' (error)'")
    return dict(values)


def _arbiter(form: FlowForm) -> Arbiter | None:
    predicates = _predicates(form.predicates or (), "$.predicates")
    weighed = _predicates(form.weighed or (), "$.weighed")
    folds = tuple(
        Fold(
            tuple(one.weights),
            table(one.rates.sites, f"$.folds[{place}].rates.sites", same, same),
            one.rates.agree,
            one.rates.cover,
        )
        for place, one in enumerate(form.folds or ())
    )
    if not (predicates or weighed or folds or form.model):
        return None
    if not folds:
        raise fault("$.folds", "missing, though the flow has parts of an arbiter")
    for place, fold in enumerate(folds):
        expected = _ARBITER_FEATURES + len(weighed)
        if len(fold.weights) != expected:
            raise fault(f"$.folds[{place}].weights", f"expected {expected}, {len(weighed)} of them of $.weighed")
    return Arbiter(predicates, weighed, folds, form.model or "")


def _predicates(forms: Sequence[PredicateForm], at: str) -> tuple[Predicate, ...]:
    return tuple(
        Predicate(one.id, _favors(one.favors, f"{at}[{place}].favors"), one.question, one.yes, one.no)
        for place, one in enumerate(forms)
    )


def _favors(value: object, at: str) -> Favors:
    if isinstance(value, str) and value in _FAVORS:
        return value
    if isinstance(value, dict) and set(value) == {"lookup"} and isinstance(value["lookup"], str):
        return {"lookup": value["lookup"]}
    raise fault(at, f'expected {", ".join(_FAVORS)} or {{"lookup": TOOL}}')
