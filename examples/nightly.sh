#!/bin/sh
# nightly.sh SESSIONS DATA VERDICTS: check every session in a folder, and say which need a person.
# SESSIONS has a folder for each ACRO session (or file of outputs); DATA is the table behind them. In VERDICTS are then, for each session, a page, the
# verdicts as JSON, and a line in list.txt; those of the night before are replaced. Exit code: the worst of all sessions: 0 passed, 1 needs a person, 2 could not be read.
sessions=$1 data=$2 verdicts=$3 worst=0
umask 077
mkdir -p "$verdicts" || exit 2
: > "$verdicts/list.txt"
for session in "$sessions"/*; do
    name=$(basename "$session")
    said=$(chaffinch check "$session" --data "$data" --rules-only --quiet --overwrite --json "$verdicts/$name.json" --html "$verdicts/$name.html" 2>&1)
    code=$?
    case $code in
        0) word="passed" ;;
        1) word="needs a person" ;;
        *) word="could not be read: $said" ;;
    esac
    echo "$name: $word" >> "$verdicts/list.txt"
    [ "$code" -gt "$worst" ] && worst=$code
done
exit "$worst"
