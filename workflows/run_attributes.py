"""The attributes of a run's cases, read again from the cases where the run does not have a field.

A run of an earlier version has no attributes, and a column may be added to the cases after they were judged.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..evaluation import RunArrays
from ..evaluation.attribute_arrays import AttributeCoder
from .case_source import CaseSource
from .recorded_run import RecordedRun
from .run_texts import texts_of


def arrays_with_fields(
    run: RecordedRun, arrays: RunArrays, fields: Sequence[str], cases: CaseSource | None = None
) -> RunArrays:
    """The arrays of a run; with the attributes of its cases where it lacks one of the fields.

    Args:
        arrays: of the run.
        fields: names of attributes.
        cases: where the cases are, if not where the run read them in this project.

    Raises:
        DataError: the manifest names a place that only the user may name, or the cases cannot be read.
    """
    known = {*arrays.attributes.names, *arrays.attributes.too_many}
    source = None if known.issuperset(fields) else texts_of(run.path, run.source, cases)
    if source is None:
        return arrays
    ids = {judged.case_id for judged in run}
    attributes = {case.id: case.attributes for case in source.cases() if case.id in ids}
    coder, codes = AttributeCoder(), dict[str, tuple[int, ...]]()
    for judged in run:
        added = {"attributes": judged.attributes | attributes.get(judged.case_id, {})}
        codes[judged.case_id] = coder.codes(judged.model_copy(update=added))
    coded = coder.arrays([codes[name] for name in arrays.ids], [codes[name] for name in sorted(codes)])
    return replace(arrays, attributes=coded)
