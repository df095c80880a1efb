"""Files and tests that documents name, for scripts/plain_words.py."""

import pathlib
import re
import subprocess

EXTENSIONS = (".cc", ".css", ".h", ".html", ".js", ".json", ".md", ".py", ".sh", ".svg", ".txt", ".yaml", ".yml")
IGNORED_FOLDERS = ("build", ".venv")
# Files of other projects.
FOREIGN = ("config.json",)


def named_paths(root, text):
    """(line, name) of every file or folder that a document names in backticks, links and commands."""
    tops = {name.split("/")[0] for name in tracked(root)}
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().startswith("```"):
            fenced = not fenced
            continue
        links = re.findall(r"\]\(([^)#:]+)\)", line)
        quoted = line.split() if fenced else re.findall(r"`([^`]+)`", line)
        for name in links:
            yield number, name
        for name in quoted:
            name = name.split(":")[0].rstrip(",;.)") if not name.startswith("http") else ""
            if not re.fullmatch(r"[\w./*-]+", name) or name.startswith("/") or "..." in name:
                continue
            if name.split("/")[0] in IGNORED_FOLDERS:
                continue
            if ("/" in name and name.split("/")[0] in tops) or (not fenced and name.endswith(EXTENSIONS)):
                yield number, name


def named_tests(text):
    """(line, name) of every test that a document names in backticks: Suite.Name, Suite.* or test_name."""
    for number, line in enumerate(text.splitlines(), 1):
        for name in re.findall(r"`([A-Z]\w+\.(?:[A-Z]\w*|\*)|test_\w+)`", line):
            yield number, name


def tests(root, known=set()):
    if not known:
        for path in tracked(root):
            if path.startswith("tests/") and path.endswith((".cc", ".py")):
                text = (root / path).read_text()
                for suite, name in re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", text):
                    known.update((f"{suite}.{name}", f"{suite}.*"))
                known.update(re.findall(r"def (test_\w+)", text))
    return known


def tracked(root, known={}):
    if not known:
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, text=True,
                                capture_output=True, check=True).stdout.splitlines()
        known.update({name: True for name in listed if (root / name).exists()})
    return known


def exists(root, name, beside):
    if name in FOREIGN:
        return True
    for base in (root, beside):
        if (base / name).exists() or next(base.glob(name), None) or next(base.glob(name.rstrip("/") + ".*"), None):
            return True
    return "/" not in name and any(pathlib.PurePath(path).name == name for path in tracked(root))
