"""The files of the repository that the checks read."""

import os

# Build results and downloaded tools.
_SKIPPED = {"build", "__pycache__", "shared"}
# Recorded and generated data: no limit of size holds for it.
DATA = ("tests/data", "tests/fuzz/corpus")
CPP = (".h", ".cc")
CODE = (*CPP, ".py", ".sh", ".cmake", "CMakeLists.txt")


def files(root):
    """Paths of all files below `root`, relative to it and sorted; hidden folders are left out."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        inside = os.path.relpath(folder, root)
        found += [name if inside == "." else f"{inside}/{name}" for name in names]
    return sorted(found)


def is_data(path):
    return any(path == folder or path.startswith(folder + "/") for folder in DATA)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()
