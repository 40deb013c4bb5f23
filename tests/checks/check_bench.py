"""What benches share: versions of peers and shapes of data are told, and RESULTS.md shows them. Their programs compile."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "bench"))
sys.dont_write_bytecode = True
import measure
import render


def shapes_are_those_of_the_files(folder):
    (folder / "a.svm").write_text("1 3:0.5 7:1 \n-1\n1 2:1 12:0.25 40:1\n")
    assert measure.svm_shape(folder / "a.svm") == "3 x 40, 5 non-zeros"
    (folder / "docword.txt").write_text("2\n9\n3\n1 1 1\n1 9 4\n2 3 1\n")
    assert measure.bag_shape(folder / "docword.txt") == "2 documents x 9 words, 3 entries"
    assert measure.jobs_shape(1000, "2x4:t4,3x8:v100") == "1,000 jobs x 32 GPUs"


def a_program_built_elsewhere_has_the_version_of_the_header_beside_it(folder):
    os.environ["SHOAL_LIBMF"] = str(folder / "mf-train")
    (folder / "mf.h").write_text("#define LIBMF_VERSION 203\n")
    assert measure.built("SHOAL_LIBMF") == "2.03"
    assert measure.built("SHOAL_NOTHING") is None


def a_row_shows_its_data_and_the_version_of_its_peer():
    results = []
    measure.emit(results, bench="train-mf", what="w", data="3 x 4", ours=1.0, unit="s", against="LIBMF", peer=2.0)
    measure.emit(results, bench="train-mf", what="w", ours=1.0, unit="s", against="the bare loop", peer=2.0)
    text = "\n".join(render.render_table("train-mf", results))
    assert "| w | 3 x 4 | 1 s | 2 (LIBMF, version 2.03) |" in text, text
    assert "2 (the bare loop)" in text, text


def every_peer_in_the_results_has_a_version():
    text = (SOURCE / "bench" / "RESULTS.md").read_text()
    bare = [name for name in measure.PEERS if re.search(rf"\({name}(?:'s \w+)?\)", text)]
    assert not bare, f"bench/RESULTS.md: no version of {', '.join(bare)}"


def programs_compile():
    """`make bench` alone builds them, so that nothing else tells when what they include has moved."""
    rows = json.loads(Path(os.environ["SHOAL_BUILD_DIR"], "compile_commands.json").read_text())
    programs = [row for row in rows if Path(row["file"]).parent == SOURCE / "bench"]
    assert len(programs) == len(list((SOURCE / "bench").glob("*.c"))), [row["file"] for row in programs]
    for row in programs:
        words = shlex.split(row["command"])
        done = subprocess.run([*words[:words.index("-o")], "-fsyntax-only", "-Werror", row["file"]], cwd=row["directory"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


with tempfile.TemporaryDirectory() as name:
    shapes_are_those_of_the_files(Path(name))
    a_program_built_elsewhere_has_the_version_of_the_header_beside_it(Path(name))
    a_row_shows_its_data_and_the_version_of_its_peer()
    every_peer_in_the_results_has_a_version()
programs_compile()
