"""Controls: the gate's own checks must object to a model with a planted fault, and not to the sound one.

A check that nothing can fail is worth nothing; so each gate reports, for each fault, which of its checks
saw it, and a fault that none of them saw fails the gate.
"""

from collections.abc import Callable, Iterable, Mapping

from specdec.gates.faults import Fault
from specdec.gates.result import Check, guarded
from specdec.gates.subject import Subject

Question = Callable[[Subject], Check]


def controls(faults: Iterable[Fault], subject: Subject, questions: Mapping[str, Question]) -> list[Check]:
    """Plant each fault into ``subject`` and ask every question; one check per fault."""
    sound = _objections(subject, questions)
    if sound:
        told = "; ".join(f"{name}: {words}" for name, words in sound.items())
        return [Check("controls", "fail", f"without any fault: {told}", {"objections": sound})]
    return [_control(fault, subject, questions) for fault in faults]


def _control(fault: Fault, subject: Subject, questions: Mapping[str, Question]) -> Check:
    name = f"control: {fault.name}"
    objections = _objections(fault.plant(subject), questions)
    if not objections:
        return Check(name, "fail", f"nobody noticed that {fault.story}", {"asked": sorted(questions)})
    evidence = {"story": fault.story, "caught_by": objections}
    return Check(name, "pass", f"caught by {', '.join(objections)}", evidence)


def _objections(subject: Subject, questions: Mapping[str, Question]) -> dict[str, str]:
    objections = {}
    for name, question in questions.items():
        check = guarded(name, question, subject)
        if check.status in ("fail", "warn"):
            objections[name] = check.detail
    return objections
