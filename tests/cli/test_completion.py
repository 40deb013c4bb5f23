#!/usr/bin/env python3
"""Asks bash itself what it would offer: the script is loaded in a bash and its function called with a line. Fish is asked
the same where it is installed; but for values of --set, which its script does not know."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SHOAL = os.environ["SHOAL_BIN"]

# Calls the function as readline does: the words split at '=' too, the last one under the cursor.
ASK = """
compopt() { :; }
source %s
line=(%s)
COMP_WORDS=("${line[@]}") COMP_CWORD=$((${#line[@]} - 1))
$(complete -p shoal | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
printf '%%s\\n' "${COMPREPLY[@]}"
"""


def offers(script, folder, *words):
    line = " ".join(shlex.quote(w) for w in words)
    done = subprocess.run(["bash", "--norc", "-c", ASK % (shlex.quote(script), line)], capture_output=True, text=True,
                          cwd=folder, timeout=100, env={**os.environ, "XDG_RUNTIME_DIR": folder})
    if done.stderr:
        return {f"bash complains: {done.stderr.strip()}"}
    return set(done.stdout.split("\n")) - {""}


def fish_offers(script, folder, *words):
    line = " ".join(w.replace(" ", "\\ ") for w in words)
    done = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line],
                          capture_output=True, text=True, cwd=folder, timeout=100,
                          env={**os.environ, "XDG_RUNTIME_DIR": folder, "HOME": folder})
    if done.stderr:
        return {f"fish complains: {done.stderr.strip()}"}
    return {line.split("\t")[0].rstrip("/").replace("\\ ", " ") for line in done.stdout.splitlines()}


def shoal(*words):
    return subprocess.run([SHOAL, *words], capture_output=True, text=True, check=True, timeout=100).stdout


def cases(policies):
    """Words, what must be offered, what must not."""
    return [
        (["shoal", ""], {"sim", "trace", "policy", "doctor", "help"}, {"list", "--json"}),
        (["shoal", "po"], {"policy"}, {"sim", "doctor"}),
        (["shoal", "--"], {"--help", "--version", "--json"}, {"--policy"}),
        (["shoal", "policy", ""], {"list", "show"}, {"sim"}),
        (["shoal", "policy", "s"], {"show"}, {"list"}),
        (["shoal", "--ascii", "policy", "show", ""], policies, {"list"}),
        (["shoal", "policy", "show", "l"], {"las"}, {"fifo"}),
        (["shoal", "policy", "list", "--"], {"--names", "--json", "--color"}, {"--policy"}),
        (["shoal", "sim", "--p"], {"--policy", "--profiles"}, {"--seed"}),
        (["shoal", "sim", "--policy", ""], policies, {"a file.csv"}),
        (["shoal", "sim", "-p", "fifo,l"], {"fifo,las"}, {"las"}),
        (["shoal", "sim", "--policy", "=", "fi"], {"fifo"}, {"las"}),
        (["shoal", "sim", "--policy", "="], policies, set()),
        (["shoal", "sim", "--color", ""], {"auto", "always", "never"}, {"las"}),
        (["shoal", "sim", "--seed", ""], set(), {"a file.csv", "las"}),
        (["shoal", "sim", ""], {"a file.csv", "sub"}, policies - {"shoal"}),  # the program lies there too
        (["shoal", "sim", "a"], {"a file.csv"}, {"sub"}),
        (["shoal", "sim", "--set", ""], {"locality=", "quantum="}, {"las"}),
        (["shoal", "sim", "-p", "fifo", "--set", ""], {"locality=", "backfill="}, {"quantum="}),
        (["shoal", "sim", "-p", "fifo,las", "--set", "q"], {"quantum="}, {"backfill="}),
        (["shoal", "sim", "--set", "locality", "=", ""], {"anywhere", "rack", "strict"}, {"locality="}),
        (["shoal", "sim", "--set", "locality", "="], {"anywhere", "rack", "strict"}, set()),
        (["shoal", "sim", "--set", "locality", "=", "st"], {"strict"}, {"rack"}),
        (["shoal", "completion", ""], {"bash", "zsh", "fish"}, {"a file.csv"}),
        (["shoal", "help", "d"], {"doctor"}, {"sim"}),
        (["shoal", "train", ""], {"logreg", "mf", "a file.csv"}, {"las"}),
        (["shoal", "train", "l"], {"logreg"}, {"mf"}),
        (["shoal", "train", "mf", ""], {"a file.csv", "sub"}, {"mf", "logreg"}),
        (["shoal", "train", "mf", "--set", ""], {"rank=", "algorithm="}, {"penalty=", "quantum="}),
        (["shoal", "train", "mf", "a file.csv", "--set", "ra"], {"rank=", "rate="}, {"algorithm="}),
        (["shoal", "train", "mf", "--set", "algorithm", "=", ""], {"sgd", "als", "implicit"}, {"newton"}),
        (["shoal", "train", "logreg", "--set", "algorithm", "="], {"sgd", "newton"}, {"als"}),
        (["shoal", "train", "mf", "--set", "rank", "="], set(), {"sgd", "a file.csv"}),
        (["shoal", "train", "mf", "--spill", ""], {"sub"}, {"a file.csv"}),
        (["shoal", "app", "show", ""], {"logreg", "mf"}, {"a file.csv"}),
        (["shoal", "scale", ""], {"last", "films", "lda-7"}, {"a file.csv", "films.job"}),
        (["shoal", "scale", "films", ""], set(), {"last", "films"}),
        (["shoal", "top", "fi"], {"films"}, {"last", "lda-7"}),
        (["shoal", "drain", "l"], {"last", "lda-7"}, {"films"}),
        (["shoal", "jobs", "--key", ""], {"last", "films"}, {"a file.csv"}),
        (["shoal", "nothing", ""], set(), {"a file.csv", "sim"}),
    ]


def check_cases(ask, script, folder, rows, problems):
    for words, want, never in rows:
        found = ask(script, folder, *words)
        if not want <= found or found & never:
            problems.append(f"{ask.__name__} {words}: {sorted(found)}, wanted {sorted(want)}, not {sorted(never)}")


def check_every_option(script, folder, problems):
    """Each option that --help shows is offered."""
    for name in shoal("help", "--list").splitlines():
        words = name.split()
        shown = set(re.findall(r"^  (?:-.,|   ) (--[a-z0-9-]+)", shoal(*words, "--help"), re.M))
        missing = shown - offers(script, folder, "shoal", *words, "--")
        if missing or len(shown) < 3:
            problems.append(f"shoal {name} --: not offered: {sorted(missing)} of {sorted(shown)}")


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, ".script")
        with open(script, "w", encoding="utf-8") as file:
            file.write(shoal("completion", "bash"))
        open(os.path.join(folder, "a file.csv"), "w", encoding="utf-8").close()
        os.mkdir(os.path.join(folder, "sub"))
        jobs = os.path.join(folder, "shoal", "jobs")
        os.makedirs(jobs)
        for name in ("films.job", "films.lock", "lda-7.job"):
            open(os.path.join(jobs, name), "w", encoding="utf-8").close()
        policies = set(shoal("policy", "list", "--names").split())
        check_cases(offers, script, folder, cases(policies), problems)
        check_every_option(script, folder, problems)
        if shutil.which("fish"):
            with open(script, "w", encoding="utf-8") as file:
                file.write(shoal("completion", "fish"))
            check_cases(fish_offers, script, folder, [c for c in cases(policies) if "=" not in c[0]], problems)
    for shell in ("zsh", "fish"):
        text = shoal("completion", shell)
        for word in ("quantum=", "locality=", "policy", "always", "logreg", "rank=", "shoal/jobs", *policies):
            if word not in text:
                problems.append(f"completion for {shell} does not know '{word}'")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
