"""Earlier names of measures, for what was written with them: requirements, recipes of judge files."""

BOTH_ORDERS = "both-orders accuracy"
RENAMED = {
    "agreement": BOTH_ORDERS,
    "agreement without ties": "both-orders accuracy without ties",
}


def current_name(name: str) -> str:
    """The name that a measure has now.

    Example:
        >>> current_name("agreement"), current_name("accuracy")
        ('both-orders accuracy', 'accuracy')
    """
    return RENAMED.get(name, name)
