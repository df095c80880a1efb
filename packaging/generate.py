#!/usr/bin/env python3
"""Writes the manual page and the completions from the help of the binary: packaging/generate.py BINARY FOLDER.

The folder gets penstock.1, completions/penstock.bash and completions/_penstock. A test compares them with those here."""
import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(r"^  (?P<name>\S+)(?P<form> .*?)?(?:\s{2,}(?P<text>.*))?$")
# Values that the shell can offer: files, or a closed set such as {a,b}.
CHOICES = re.compile(r"\{([a-z_,]+)\}")


class Entry:
    def __init__(self, name, form, text):
        self.names = name.split(",")
        self.form = re.sub(r"\b(TEXT|UINT|INT):|\bFLOAT:(?=FLOAT)", "", (form or "").strip())
        self.text = text or ""

    @property
    def takes_value(self):
        return bool(re.sub(r"Excludes: \S+|Needs: \S+|REQUIRED|\(Env:\S+\)", "", self.form).strip())

    @property
    def choices(self):
        found = CHOICES.search(self.form)
        return found[1].split(",") if found else []


class Help:
    """The help of one command: its sections of entries, and its first and last lines."""

    def __init__(self, text):
        lines = text.rstrip("\n").split("\n")
        self.purpose, self.usage, self.sections, self.footer = lines[0], lines[1].removeprefix("Usage: "), {}, []
        section = None
        for line in lines[2:]:
            if line and not line.startswith(" "):
                section = self.sections.setdefault(line[:-1], []) if line.endswith(":") else None
                if section is None:
                    self.footer.append(line)
            elif line.startswith(" " * 20) and section:
                section[-1].text = f"{section[-1].text} {line.strip()}".strip()
            elif line and section is not None:
                entry = ENTRY.match(line)
                section.append(Entry(entry["name"], entry["form"], entry["text"]))

    def entries(self, section):
        return self.sections.get(section, [])

    def flags(self):
        return [name for option in self.entries("Options") for name in option.names]


def helps_of(binary):
    """The help of the program, and that of every command by name."""
    ask = lambda *words: Help(subprocess.run([binary, "help", *words], capture_output=True, text=True, check=True).stdout)
    root = ask()
    return root, {entry.names[0]: ask(entry.names[0]) for entry in root.entries("Subcommands")}


def roff(text):
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


def manual_of_command(name, page):
    lines = [f".SS {roff(page.usage)}", roff(page.purpose)]
    for section in ("Positionals", "Options"):
        for entry in page.entries(section):
            if "--help" not in entry.names:
                lines += [".TP", ".B " + roff(", ".join(entry.names)) + (f" \\fR{roff(entry.form)}" if entry.form else ""),
                          roff(entry.text)]
    for line in page.footer:
        lines += [".PP", roff(line)]
    return lines


ENDING = r"""
.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
The run or the input is bad, or requests of a load failed.
.TP
.B 2
Wrong usage.
.TP
.B 3
The router ended, and some requests were cut or a hung part was left.
.SH SIGNALS
.B penstock serve
drains at SIGTERM, SIGINT and SIGQUIT, cuts its requests at the second one, and waits for nothing at the third one.
It reads its configuration again at SIGHUP.
.SH ENVIRONMENT
.TP
.B PENSTOCK_ADMIN_KEY
The admin key that penstock top sends.
.TP
.B PENSTOCK_KEY
The API key that penstock load sends.
.PP
A configuration names further variables as "${NAME}".
.SH FILES
.TP
.I /etc/penstock/penstock.yaml
The configuration of penstock.service.
.TP
.I /etc/default/penstock
Its environment.
.TP
.I /usr/share/doc/penstock/examples
Configurations to start from.
.SH SEE ALSO
.BR systemctl (1)
""".strip().replace("-", "\\-")


def manual(root, helps):
    lines = ['.\\" Written by packaging/generate.py.', '.TH PENSTOCK 1 "" Penstock "User Commands"', ".SH NAME",
             "penstock \\- " + roff(root.purpose.removeprefix("Penstock: ").rstrip(".")), ".SH SYNOPSIS", ".B penstock",
             ".I COMMAND", "[\\fIOPTIONS\\fR]", ".SH DESCRIPTION",
             "Penstock stands in front of engines for LLM inference. For every request it decides: forward now, wait until its",
             "memory fits, or refuse early with an honest hint.", ".SH COMMANDS"]
    for name, page in helps.items():
        lines += manual_of_command(name, page)
    return "\n".join(lines) + "\n" + ENDING + "\n"


def bash(root, helps):
    cases = []
    for name, page in helps.items():
        closed = [f"      {'|'.join(entry.names)}) words=\"{' '.join(entry.choices)}\" ;;"
                  for entry in page.entries("Options") if entry.choices]
        values = [other for entry in page.entries("Options") if entry.takes_value and not entry.choices for other in entry.names]
        files = ["      " + "|".join(values) + ") files=1 ;;"] if values else []
        words = [word for entry in page.entries("Positionals") for word in entry.choices]
        words += list(helps) if name == "help" else []
        rest = f"      *) words=\"{' '.join([*words, *page.flags()])}\"; files={0 if words else 1} ;;"
        cases.append("\n".join([f"    {name})", '      case "$previous" in', *closed, *files, rest, "      esac ;;"]))
    return f"""# Written by packaging/generate.py.
_penstock() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words="" files=0
  case "${{COMP_WORDS[1]}}" in
{chr(10).join(cases)}
  esac
  [ "$COMP_CWORD" -ne 1 ] || {{ words="{' '.join([*helps, *root.flags()])}"; files=0; }}
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ "$files" -eq 0 ] || COMPREPLY+=($(compgen -f -- "$current"))
}}
complete -o filenames -F _penstock penstock
"""


def zsh_text(text):
    return re.sub(r"([\[\]:])", r"\\\1", text).replace("'", "'\\''")


def zsh_value(entry):
    if not entry.takes_value:
        return ""
    return f":value:({' '.join(entry.choices)})" if entry.choices else ":value:_files"


def zsh(helps):
    commands = [f"    '{name}:{zsh_text(page.purpose)}'" for name, page in helps.items()]
    cases = []
    for name, page in helps.items():
        entries = [f"'{flag}[{zsh_text(entry.text)}]{zsh_value(entry)}'" for entry in page.entries("Options")
                   for flag in entry.names]
        for entry in page.entries("Positionals"):
            choices = list(helps) if name == "help" else entry.choices
            entries.append(f"'*:{entry.names[0]}:({' '.join(choices)})'" if choices else f"'*:{entry.names[0]}:_files'")
        cases.append(f"    {name}) _arguments " + " \\\n      ".join(entries) + " ;;")
    return f"""#compdef penstock
# Written by packaging/generate.py.
_penstock() {{
  local -a commands
  commands=(
{chr(10).join(commands)}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{chr(10).join(cases)}
  esac
}}
_penstock "$@"
"""


def main():
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    root, helps = helps_of(binary)
    (folder / "completions").mkdir(parents=True, exist_ok=True)
    (folder / "penstock.1").write_text(manual(root, helps))
    (folder / "completions/penstock.bash").write_text(bash(root, helps))
    (folder / "completions/_penstock").write_text(zsh(helps))


if __name__ == "__main__":
    main()
