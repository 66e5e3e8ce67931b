"""The exit codes of every command: one table, which `dicast --help` prints."""

FAIL, INCONCLUSIVE, ERROR, STOPPED = 1, 2, 3, 130
EXIT_CODES = {
    0: "pass, or complete",
    FAIL: "fail: a judge is worse, or a requirement does not hold; nothing else is 1",
    INCONCLUSIVE: "inconclusive, or the budget is used up",
    ERROR: "a usage or operational error: no case, nothing scored, too little coverage, any unexpected error",
    STOPPED: "stopped by Ctrl-C or a signal",
}
