#!/bin/sh
# SPDX-License-Identifier: MIT
# What stands in a hostile profile, or in its name, is text in every report: no command, no markup, nothing that hides.
. "$(dirname "$0")/../lib.sh"

mkdir "$work/in"
cd "$work/in" || exit 1
printf 'profile a { }\n' >plain.cave

# A name of a file with a sequence for terminals, a turned direction, the end of a line and a command behind it.
name=$(printf 'y\302\233\033[31m\342\200\256|`%%0a,x:\\|<b>\n::error::z.cave')
cat >"$name" <<'END'
profile p {
    # ]]> --> </script> <b>
    env { set A "x\\| <img src=x> @all `code` ::error::y %0A</code>|"; pass GIT_X }
    files { read "/a\\| @x <b>", "/bé", "/c|d`e"; write "/opt/|<b>`", "/srv/\\" }
    network { allow tcp a.example.com port any } # cave: ignore CAVE111 because ]]> </script> ::error::y @all |`
}
END
printf '%s\n' '::stop-commands::x' 'profile p {' '  ::add-mask::y' '##[group]z' '}' >commands.cave
printf 'profile p { files { read "/\377\302\233x" } }\n' >bytes.cave

cat >"$work/judge.py" <<'END'
"""judge.py FORM FILE: what is wrong with a report, if anything."""
import json
import re
import sys
import unicodedata

form, data = sys.argv[1], open(sys.argv[2], "rb").read()
text = data.decode("utf-8", "replace")
if text.encode() != data:
    print("it is no UTF-8")
for c in set(text):
    if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp"):
        print("it has U+%04X" % ord(c))
for line in text.splitlines():
    command = re.match(r"\s*(::(\w*).*?::|##\[)", line)
    if command and not (form == "github" and command.group(2) in ("error", "warning", "notice")):
        print("a log takes it for a command: %r" % line)
    if form == "markdown" and line.startswith("|"):
        # As a table's rows are cut, by either reading of two backslashes.
        if len(re.findall(r"(?<!\\)\|", line)) != 5 or len(re.sub(r"\\[!-/:-@[-`{-~]", "", line).split("|")) != 6:
            print("its cells are not four: %r" % line)
    if form == "markdown":
        rest = re.sub(r"`[^`]*`|<code>(\w|[ ?]|[^\x00-\x7f]|&#\d+;)*</code>", "", line)
        if re.search(r"[<>`@!\[]", rest):
            print("it has markup: %r" % rest)
if text and form in ("json", "sarif"):
    json.loads(text)
END
# judged NAME FORM COMMAND…: standard output and error are fit for where they go, and there is something.
judged() {
	test_name=$1 form=$2
	shift 2
	run "$@"
	for stream in out err; do
		as=$form
		[ $stream = out ] || as=text
		wrong=$("$python" "$work/judge.py" "$as" "$work/$stream" 2>&1)
		expect "$test_name: $stream" -z "$wrong" || echo "$wrong"
	done
	expect "$test_name: says something" -s "$work/out" -o -s "$work/err"
}
for file in "$name" commands.cave bytes.cave; do
	shown=$(printf '%s' "$file" | tr -cd 'a-z.')
	for form in text gcc github json sarif; do
		judged "lint $form of $shown" "$form" "$cavec" lint --fail-on info --format "$form" "$file"
	done
	for form in text markdown json; do
		judged "diff $form of $shown" "$form" "$cavec" diff --format "$form" plain.cave "$file"
		judged "diff $form from $shown" "$form" "$cavec" diff --format "$form" "$file" plain.cave
		judged "within $form $shown" "$form" "$cavec" diff --within plain.cave --format "$form" "$file"
	done
	judged "explain $shown" text "$cavec" explain "$file"
	judged "explain a question of $shown" text "$cavec" explain "$file" read /opt/x
	judged "explain JSON of $shown" json "$cavec" explain --format json "$file" read /opt/x
	judged "compile $shown" text "$cavec" "$file" -o "$work/out.bpf" --emit c
	cp "$file" fixed.cave
	judged "fixes of $shown" text "$cavec" lint --unsafe-fix fixed.cave
done
"$cavec" "$name" -o p.bpf
judged 'lint of an artefact' github "$cavec" lint --format github --fail-on info p.bpf
judged 'diff of an artefact' markdown "$cavec" diff --format markdown plain.cave p.bpf
judged 'dump' text "$cavec" dump p.bpf
missing=$(printf 'no\033[31m\n::error::such.bpf')
judged 'a file that is missing' text "$cavec" lint "$missing"
judged 'diff of a file that is missing' text "$cavec" diff plain.cave "$missing"
printf 'x' >"$missing"
judged 'a file that is none' text "$cavec" explain "$missing"
printf '\177ELFx' >"$missing"
judged 'an artefact that is none' text "$cavec" explain "$missing"
judged 'a question that is none' text "$cavec" explain plain.cave "$missing"
judged 'a name that is none' text "$cavec" explain plain.cave connect tcp "$missing" port 1
judged 'an option that is none' text "$cavec" lint --format "$missing" plain.cave
# The judge finds what it is for.
printf '    ::stop-commands::x\n' >"$work/bad"
expect 'a command is found' -n "$("$python" "$work/judge.py" text "$work/bad")"
printf '| `a\\\\| b` | c | d | e |\n' >"$work/bad"
expect 'a cell too many is found' -n "$("$python" "$work/judge.py" markdown "$work/bad")"
printf '\302\233' >"$work/bad"
expect 'a control is found' -n "$("$python" "$work/judge.py" text "$work/bad")"
cd /
