#!/usr/bin/env bash
# The completion scripts are valid in their shells; shells that are missing are left out.
set -euo pipefail
folder=$SHOAL_BUILD_DIR/generated/completion
bash -n "$folder/shoal"
# Sourcing defines a completion for the command.
bash -c "source '$folder/shoal' && complete -p shoal" >/dev/null
for file in _shoal shoal.fish; do
    [[ -s $folder/$file ]] || { echo "empty: $file"; exit 1; }
done
if command -v zsh >/dev/null; then zsh -n "$folder/_shoal"; else echo "zsh is not here: its script is not parsed"; fi
if command -v fish >/dev/null; then fish -n "$folder/shoal.fish"; else echo "fish is not here: its script is not parsed"; fi
