"""The sections of an evaluation: their order and titles, the same on the terminal, on the page and in JSON."""

SECTIONS = {
    "agreement": "Agreement with people",
    "categories": "Categories",
    "people": "Human agreement",
    "baselines": "Baselines (no model)",
    "correlation": "Correlation of scores",
    "choice": "Multiple choice",
    "calibration": "Calibration",
    "selective": "Selective prediction",
    "bias": "Bias",
    "systems": "System ranking",
    "powered": "Prediction-powered estimates",
    "readout": "Probability readout",
    "findings": "Evidence",
    "explanations": "Generated and written texts",
    "cost": "Cost",
}


def section_title(name: str) -> str:
    """The title of a section; that of a section which only a plug-in uses is its name, capitalised."""
    return SECTIONS.get(name, f"{name[:1].upper()}{name[1:]}".replace("_", " "))


def in_order(names: set[str]) -> list[str]:
    """The names of sections in reading order; those of plug-ins come last, by name."""
    return [*(name for name in SECTIONS if name in names), *sorted(names - SECTIONS.keys())]
