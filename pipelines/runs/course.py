"""What comes in a run, stage by stage, and what each costs beside the others, for its progress."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from tokenmill.pipelines.runs.work import Coming, Phases

T = TypeVar("T")


class Course:
    """The stages of a run, in order; each is taken when the run comes to it."""

    def __init__(self, stages: Iterable[Coming] = ()) -> None:
        self._coming = deque(stages)

    def take(self, name: str, running: Phases[T], n_phases: int = 1) -> Phases[T]:
        """The phases of a stage, each told its share of the cost, and what comes behind it.

        n_phases: that it has, about; what there are more cost nothing. So does a stage that was
        not foreseen.
        """
        share = 0.0
        if any(stage.name == name for stage in self._coming):
            while (stage := self._coming.popleft()).name != name:
                pass  # it has no works
            share = stage.cost / n_phases
        behind = tuple(self._coming)
        try:
            phase = next(running)
            while True:
                n_phases -= 1
                rest = (Coming(name, n_phases * share),) if share and n_phases > 0 else ()
                cost = share if n_phases >= 0 else 0.0
                phase = running.send((yield replace(phase, cost=cost, behind=(*rest, *behind))))
        except StopIteration as end:
            done: T = end.value
            return done
