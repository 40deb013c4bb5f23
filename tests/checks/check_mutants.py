#!/usr/bin/env python3
"""Every mutant of tools/mutants finds its text once: a guard that is rewritten takes its mutant along."""
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("mutants", str(SOURCE / "tools" / "mutants"))
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
loader.exec_module(mutants)

problems = []
for name, files, texts, becomes, likely in mutants.MUTANTS:
    pairs = [(files, texts)] if isinstance(files, str) else list(zip(files, texts))
    for file, text in pairs:
        count = (SOURCE / file).read_text().count(text)
        if count != 1:
            problems.append(f"'{name}': its text is {count} times in {file}; bring the list in tools/mutants up to date")
    problems += [f"'{name}': no test {test}" for test in likely if not Path(mutants.test_file(str(SOURCE), test)).exists()]
print("\n".join(problems) or f"{len(mutants.MUTANTS)} mutants")
sys.exit(bool(problems))
