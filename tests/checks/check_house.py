#!/usr/bin/env python3
"""The house only gets simpler: what is still in the way is listed in tests/checks/house, and lists only shrink.

prefix.txt     external functions whose prefix is not their folder: folder, name
uncalled.txt   external functions that nobody in src calls: folder, name, why it stays. Public ones need no line.
               reference: the slow twin that tests compare with; simulation: controls of the simulated world;
               torture: makes allocation fail; observed: tests look at it; going: to be deleted
sizes.txt      of src and include, at most: files; lines of a function, the median and what nine of ten have; lines of a
               thousand without comment

A new entry is a failure: rename it, delete it, merge it. So is one that no longer holds: run
`tests/checks/check_house.py --shrink BUILD-DIR`, which takes those off and lowers the sizes, and never adds. Lines are counted and told; a
capability may add some.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ.get("SHOAL_SOURCE_DIR") or Path(__file__).resolve().parents[2])
LISTS = SOURCE / "tests" / "checks" / "house"
LINES_FIRST = 135461  # at e6f9994, where the count began
LINES_BAR = 0.92
SHRINKING = ("files",)
CODE = (".c", ".h", ".inc", ".js")
REASONS = {"reference", "simulation", "torture", "observed", "going"}
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def objects(build_dir):
    """Each object of the library and the command that has a source, with the source's path below src."""
    for made in sorted(Path(build_dir).glob("**/CMakeFiles/shoal_c*.dir/**/*.c.o")):
        inside = str(made).rsplit(".dir/src/", 1)[-1].removesuffix(".o")
        if (SOURCE / "src" / inside).is_file():
            yield made, inside


def read_symbols(build_dir):
    """name -> source that defines it, and source -> names it takes from others."""
    sources = {str(made): source for made, source in objects(build_dir)}
    defined, taken = {}, {source: set() for source in sources.values()}
    text = subprocess.run(["nm", "-A", *sources], check=True, capture_output=True, text=True).stdout
    for made, kind, name in re.findall(r"^(.*?):[0-9a-f ]{16} ([TU]) (\S+)$", text, re.M):
        if kind == "T":
            defined[name] = sources[made]
        else:
            taken[sources[made]].add(name)
    return defined, taken


def has_prefix(folder, name):
    return name == "main" or re.match(f"(shoal|{folder})_", name)


def is_called(name, source, taken, texts):
    """By another file, by its own beyond the line that defines it, or by one that this build leaves out."""
    if any(name in names for file, names in taken.items() if file != source):
        return True
    word = re.compile(rf"\b{name}\b")
    return len(word.findall(texts[source])) > 1 or any(word.search(t) for f, t in texts.items() if f not in taken)


def public_names():
    text = (SOURCE / "packaging" / "debian" / "libshoal0.symbols").read_text()
    return set(re.findall(r"^ (shoal_\w+)@", text, re.M))


def read_list(name):
    lines = (LISTS / name).read_text().splitlines()
    return {tuple(line.split()[:2]): line for line in lines if line and not line.startswith("#")}


def write_list(name, keep):
    lines = (LISTS / name).read_text().splitlines()
    kept = [line for line in lines if not line or line.startswith("#") or tuple(line.split()[:2]) in keep]
    (LISTS / name).write_text("\n".join(kept) + "\n")


def compare(name, found, advice, problems, shrink):
    listed = read_list(name)
    problems += [f"{folder}: {function}: {advice}" for folder, function in sorted(found - set(listed))]
    if shrink:
        write_list(name, found)
    else:
        problems += [f"{name}: '{' '.join(key)}' is no longer so; run check_house.py --shrink BUILD-DIR"
                     for key in sorted(set(listed) - found)]


def function_lines(text):
    """Lines between the braces in the first column: the format puts those of functions, structs excepted, there alone."""
    begin = None
    for at, line in enumerate(text.splitlines()):
        if line == "{":
            begin = at
        elif line == "}" and begin is not None:
            yield at - begin - 1
            begin = None


def count_code():
    texts = [p.read_text(encoding="utf-8") for top in ("src", "include") for p in (SOURCE / top).rglob("*") if p.suffix in CODE]
    lines = sum(text.count("\n") for text in texts)
    functions = sorted(length for text in texts for length in function_lines(text))
    comments = sum(c.count("\n") + 1 for text in texts for c in re.findall(r"/\*.*?\*/", text, re.S))
    return {"files": len(texts), "lines": lines, "median": functions[len(functions) // 2],
            "nine-of-ten": functions[len(functions) * 9 // 10], "uncommented": 1000 - 1000 * comments // lines}


def check_sizes(problems, shrink):
    sizes = count_code()
    most = dict(line.split() for line in (LISTS / "sizes.txt").read_text().splitlines() if not line.startswith("#"))
    for what, count in sizes.items():
        if count > int(most.get(what, count)):
            problems.append(f"{count} {what} in src and include, at most {most[what]}")
    if shrink:
        text = (LISTS / "sizes.txt").read_text()
        for what in SHRINKING:
            text = re.sub(rf"^{what} \d+$", f"{what} {min(sizes[what], int(most[what]))}", text, flags=re.M)
        (LISTS / "sizes.txt").write_text(text)
    return sizes


def main():
    if shutil.which("nm") is None:
        print("skipped: nm is not installed (binutils)")
        return 77
    shrink = sys.argv[1:2] == ["--shrink"]
    defined, taken = read_symbols(sys.argv[2] if shrink else os.environ["SHOAL_BUILD_DIR"])
    texts = {str(p.relative_to(SOURCE / "src")): COMMENT_OR_STRING.sub(" ", p.read_text())
             for p in (SOURCE / "src").rglob("*.c")}
    problems = []
    strangers = {(s.split("/")[0], n) for n, s in defined.items() if not has_prefix(s.split("/")[0], n)}
    public = public_names()
    idle = {(s.split("/")[0], n) for n, s in defined.items()
            if n not in public and n != "main" and not is_called(n, s, taken, texts)}
    compare("prefix.txt", strangers, "its prefix is not its folder", problems, shrink)
    compare("uncalled.txt", idle, "nobody in src calls it", problems, shrink)
    problems += [f"uncalled.txt: '{line}' does not say why it stays: {', '.join(sorted(REASONS))}"
                 for line in read_list("uncalled.txt").values() if not REASONS & set(line.split()[2:3])]
    sizes = check_sizes(problems, shrink)
    print("\n".join(problems))
    print(f"{len(defined)} external functions, {len(strangers)} with another prefix, {len(idle)} not called in src; "
          f"{sizes['files']} files, {sizes['lines']} lines: {sizes['lines'] / LINES_FIRST:.3f} of the first count, "
          f"at most {LINES_BAR}; {len(problems)} problems")
    return 1 if problems or len(defined) < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
