"""Puts the C++ sources of targets together into files that include several of them, each compiled at once: headers are
read and templates are made once for all.

Sources come together where they are neighbours, of one target and folder, and no name that one declares for itself (in
an unnamed namespace) is named by another or by what that one includes. One with macros of its own stays alone.

usage: batches.py ROOT FOLDER < LINES, each TARGET|ITS FOLDER|SOURCE,SOURCE,...; writes into FOLDER and prints CMake's
commands
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.dev.own_files import own_files_of  # noqa: E402

MOST_FILES = 10
MOST_BYTES = 90_000
#: Highway compiles each of these several times over.
CPU = "src/runtime/cpu"
#: Macros outlive the file.
ALONE = re.compile(r"^\s*#\s*(?:define|undef)|^using namespace|^\w.*\bmain\(", re.MULTILINE)
DECLARED = (
    re.compile(r"^(?:struct|class|union|enum(?: class| struct)?) (?:\[\[.*?\]\] )?(\w+)", re.MULTILINE),
    re.compile(r"^using (\w+) =", re.MULTILINE),
    re.compile(r"^namespace (\w+)", re.MULTILINE),
    re.compile(r"^(?!using|namespace|struct|class|#|//|return)\w[^\n(=;{]*?(\w+)\(", re.MULTILINE),
    re.compile(
        r"^(?!using|namespace|#|//|return)\w[^\n(=;{]*?[\s*&](\w+)(?:\[[^\n=]*\])?(?: = |;|\{| =$)", re.MULTILINE
    ),
    re.compile(r"\b(k[A-Z]\w*)(?:\[[^\n\]]*\])? ?(?:=(?!=)|\{)"),
)


def own_names(text: str) -> set[str] | None:
    """What a source may declare for itself alone; more names than that, rather than fewer. None: it stays alone."""
    if ALONE.search(text):
        return None
    begins = [m.end() for m in re.finditer(r"^namespace \{$", text, re.MULTILINE)]
    parts = [text[b : text.find("\n}  // namespace\n", b)] for b in begins]
    parts += re.findall(r"^static .*", text, re.MULTILINE)
    return {name for part in parts for form in DECLARED for name in form.findall(part)}


def words_of(text: str) -> set[str]:
    """All that a text may name, without comments and strings."""
    return set(re.findall(r"[A-Za-z_]\w*", re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", text)))


class Sources:
    """What is known of files, each read once."""

    def __init__(self, folders: list[Path]) -> None:
        self.folders = folders
        self.texts: dict[Path, str] = {}
        self.words: dict[Path, set[str]] = {}
        self.reached: dict[Path, set[Path]] = {}

    def text(self, file: Path) -> str:
        if file not in self.texts:
            self.texts[file] = file.read_text(encoding="utf-8")
        return self.texts[file]

    def words_in(self, file: Path) -> set[str]:
        if file not in self.words:
            self.words[file] = words_of(self.text(file))
        return self.words[file]

    def includes(self, file: Path) -> set[Path]:
        """The file and what it includes, through any depth."""
        if file not in self.reached:
            self.reached[file] = own_files_of(file, self.folders)
        return self.reached[file]

    def clash(self, one: Path, own: set[str], other: Path) -> bool:
        """Whether what `one` declares for itself is named by the other, or by headers that the other alone includes."""
        return any(own & self.words_in(f) for f in {other, *(self.includes(other) - self.includes(one))})


def batches(sources: list[Path], known: Sources) -> list[list[Path]]:
    """Of one target: those of several sources."""
    by_folder: dict[Path, list[Path]] = defaultdict(list)
    for source in sources:
        by_folder[source.parent].append(source)
    made = []
    for folder_sources in by_folder.values():
        opened: list[dict[Path, set[str]]] = []
        for source in folder_sources:
            own = own_names(known.text(source))
            if own is None:
                continue
            for batch in opened:
                size = sum(len(known.text(f)) for f in [*batch, source])
                if len(batch) == MOST_FILES or size > MOST_BYTES:
                    continue
                if not any(known.clash(source, own, f) or known.clash(f, batch[f], source) for f in batch):
                    batch[source] = own
                    break
            else:
                opened.append({source: own})
        made += [list(batch) for batch in opened if len(batch) > 1]
    return made


def main(root: Path, made: Path) -> None:
    # Every target has headers of src/, and so finds its sources there.
    src = root / "src"
    known = Sources([src])
    for line in sys.stdin.read().splitlines():
        target, folder, listed = line.split("|")
        names = listed.split(",")
        sources = {name: (Path(folder) / name).resolve() for name in names if "$<" not in name}
        ours = [p for p in sources.values() if p.suffix == ".cpp" and p.is_relative_to(src)]
        together = set()
        files = []
        for number, batch in enumerate(batches(ours, known)):
            together |= set(batch)
            files.append(made / target / f"{batch[0].parent.name}_{number}.cpp")
            # By their way from a folder of headers: the same in every clone, for ccache.
            text = "".join(f'#include "{source.relative_to(src)}"\n' for source in batch)
            if not files[-1].exists() or files[-1].read_text(encoding="utf-8") != text:
                files[-1].parent.mkdir(parents=True, exist_ok=True)
                files[-1].write_text(text, encoding="utf-8")
        kept = [name for name in names if sources.get(name) not in together]
        print(f'set_property(TARGET {target} PROPERTY SOURCES "{";".join([*kept, *map(str, files)])}")')
        for source in sorted(together):
            print(f"set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS {source})")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
