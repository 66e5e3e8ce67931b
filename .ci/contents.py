"""Compare a wheel and an sdist with the tracked files: both hold all files of the rooms, and no test or benchmark."""

import subprocess
import sys
import tarfile
import zipfile

OUTSIDE = ("tests/", "benchmarks/", "docs/", ".ci/", ".github/")
listed = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.splitlines()
rooms = {name for name in listed if not name.startswith(OUTSIDE) and ("/" in name or name.endswith(("py", "py.typed")))}

with zipfile.ZipFile(sys.argv[1]) as zipped, tarfile.open(sys.argv[2]) as packed:
    wheel = {name for name in zipped.namelist() if ".dist-info/" not in name}
    archive = {name.partition("/")[2] for name in packed.getnames()}
wrong = [f"missing in the wheel: {name}" for name in sorted(rooms) if f"dicast/{name}" not in wheel]
wrong += [f"not of a room, but in the wheel: {name}" for name in sorted(wheel - {f"dicast/{name}" for name in rooms})]
wrong += [f"missing in the sdist: {name}" for name in sorted(rooms | {"README.md", "LICENSE"}) if name not in archive]
wrong += [f"in the sdist: {name}" for name in sorted(archive) if name.startswith(OUTSIDE)]
print(*wrong or [f"wheel: {len(wheel)} files, those of the rooms; sdist: the same"], sep="\n")
sys.exit(bool(wrong))
