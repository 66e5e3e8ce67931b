"""A metric: the proportion of verdicts that contradict the human label."""

from dicast.evaluation import Metric, proportion_measure


def errors(run, options):
    cases = run.labelled
    if cases.n:
        yield proportion_measure("error rate", cases.judge != cases.human, cases.group, "the verdict is not the label")


metric = Metric("error-rate", section="errors", measure=errors)
