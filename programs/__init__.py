"""The judging systems, a file each; every module registers its programs with `judging.registry`."""
