"""An objective: the mean recall over the labels."""

import numpy as np

from dicast.optimizers import statistic_objective


def macro_recall(judge, people):
    recalls = [np.mean(judge[people == label] == label) for label in np.unique(people)]
    return float(np.mean(recalls)) if recalls else float("nan")


objective = statistic_objective(
    "macro-recall", macro_recall, summary="mean recall over the labels", kinds=["pairs", "choices"]
)
