#!/bin/sh
# SPDX-License-Identifier: MIT
# Where people work: manual pages, completion, highlighting and hooks know what the programs and the grammar know.
. "$(dirname "$0")/../lib.sh"

man=$top/docs/man completion=$top/docs/completion editors=$top/grammar/editors
PATH=$build:$PATH
sub=$(cavec --help | sed -nE 's/^ +cavec ([a-z]+) .*/\1/p' | sort)
expect "the help names subcommands" -n "$(echo "$sub" | grep -x lint)"

# Sorted, one a line.
options_of() { "$@" --help | sed -nE 's/^ {2,}-/-/p' | grep -oE '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,' | sort -u; }
same() {
	if [ -n "$2" ] && [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "$(printf '%s\n%s\n' "$2" "$3" | sort | uniq -u)"
	fi
}

# --- manual pages: clean, and complete both ways
expect_output "mandoc has nothing to say" '' mandoc -T lint -W warning "$man/cavec.1" "$man/caverun.1" "$man/cave.5"
page_options() {
	awk -v section="$2" '/^\.S[sh] / { on = $0 == ".Ss " section } on && /^\.It /' "$man/$1" |
		grep -oE 'Fl [-a-z]+' | sed 's/Fl /-/' | sort -u
}
same "cavec(1) has the options of a compile" "$(options_of cavec)" "$(page_options cavec.1 Compiling)"
for s in $sub; do
	expect_output "$s: nothing is said beside its help" "$(cavec "$s" -h)" cavec "$s" --help
	same "cavec(1) has the options of $s" "$(options_of cavec "$s")" "$(page_options cavec.1 "$s")"
done
same "cavec(1) has the subcommands" "$sub" "$(sed -n 's/^\.Ss \([a-z]*\)$/\1/p' "$man/cavec.1" | sort)"
same "caverun(1) has the options" "$(options_of caverun)" "$(page_options caverun.1 Options)"
keywords=$(sed -nE 's/^\t\{ "([A-Za-z]+)", [A-Z_]+ \},$/\1/p' "$top/grammar/cave.l" | sort)
expect "the lexer has keywords" "$(echo "$keywords" | wc -l)" -gt 30
same "cave(5) has the keywords" "$keywords" \
	"$(grep -oE '(^\.|[ ])Ic [A-Za-z]+' "$man/cave.5" | sed 's/.* //' | sort -u)"
sed -n '/^include "team/,/^}$/p' "$man/cave.5" | sed '1d' >"$work/page.cave"
expect_status "the profile in cave(5) compiles" 0 sh -c "mkdir '$work/lib' && cavec '$work/page.cave' -o '$work/page.bpf'"

# --- completion: exactly the options of the help
bash_completes() {
	what=$1
	shift
	bash -c '. "$1"; f=$2; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); $f; printf "%s\n" "${COMPREPLY[@]}"' \
		- "$completion/cave.bash" "_$what" "$@" 2>/dev/null | grep -vx -- -- | sort -u
}
fish_completes() { fish -c "source $completion/$1.fish; complete -C '$2'" | sed 's/\t.*//' | sort -u; }
cat >"$work/zsh" <<'END'
compdef() { }
_arguments() { print -rl -- "$@" }
_describe() { print -rl -- "${subcommands[@]}" }
_files() { }
_call_program() { }
completion=$1
shift
service=$1 CURRENT=$#
words=("$@")
source $completion
END
zsh_completes() { zsh -f "$work/zsh" "$completion/_cave" "$@"; }
zsh_options() { zsh_completes "$@" '' | sed -nE 's/^(\([^)]*\))?\*?(-[a-zA-Z-]+)\[.*/\2/p' | sort -u; }
expect_output "shellcheck has nothing to say about bash's" '' shellcheck "$completion/cave.bash"
for s in compile $sub; do
	if [ "$s" = compile ]; then set -- cavec; else set -- cavec "$s"; fi
	wanted=$(options_of "$@")
	same "bash knows the options of $s" "$wanted" "$(bash_completes cavec "$@" -)"
	same "fish knows the options of $s" "$wanted" "$(fish_completes cavec "$* -")"
	[ "$s" = compile ] && set -- cavec x.cave
	same "zsh knows the options of $s" "$wanted" "$(zsh_options "$@")"
done
wanted=$(options_of caverun)
same "bash knows the options of caverun" "$wanted" "$(bash_completes caverun caverun -)"
same "fish knows the options of caverun" "$wanted" "$(fish_completes caverun 'caverun -')"
same "zsh knows the options of caverun" "$wanted" "$(zsh_options caverun)"
cd "$work" || exit
mkdir empty && cd empty || exit
same "bash knows the subcommands" "$sub" "$(bash_completes cavec cavec '')"
same "fish knows the subcommands" "$sub" "$(fish_completes cavec 'cavec ')"
same "zsh knows the subcommands" "$sub" "$(zsh_completes cavec '' | sed 's/:.*//' | sort)"
touch one.bpf one.cave one.txt
same "bash completes artefacts" one.bpf "$(bash_completes caverun caverun o)"
same "bash completes policies" "$(printf 'one.bpf\none.cave')" "$(bash_completes cavec cavec lint o)"
same "bash completes groups" @keyring "$(bash_completes cavec cavec list @keyr)"
same "bash completes programs" bash "$(bash_completes caverun caverun one.bpf -- bash | grep -x bash)"

# The values that it offers are values.
echo 'profile p { limits { time 1s } }' >"$work/p.cave"
values() { bash_completes cavec cavec "$@" ''; }
for v in $(values lint --format); do
	expect_status "lint takes --format $v" 0 cavec lint --format "$v" "$work/p.cave"
done
for v in $(values lint --fail-on); do
	expect_status "lint takes --fail-on $v" 0 cavec lint --fail-on "$v" "$work/p.cave"
done
for v in $(values diff --format); do
	expect_status "diff takes --format $v" 0 cavec diff --format "$v" "$work/p.cave" "$work/p.cave"
done
for v in $(values explain --format); do
	expect_status "explain takes --format $v" 0 cavec explain --format "$v" "$work/p.cave" syscall read
done
echo 'filter f { allow read }' >"$work/f.cave"
for v in $(values --emit); do
	expect_status "a compile takes --emit $v" 0 cavec --emit "$v" "$work/f.cave" -o "$work/f.out"
done
for v in $(values --arch); do
	expect_status "a compile takes --arch $v" 0 cavec --arch "$v" "$work/f.cave" -o "$work/f.out"
done

# --- highlighting: the keywords of the lexer
same "the Vim syntax has the keywords" "$keywords" \
	"$(sed -n 's/^syntax keyword caveStatement //p' "$editors/vim/syntax/cave.vim" | tr ' ' '\n' | sort)"
cat >"$work/v.cave" <<'END'
profile p {
    network { allow tcp 10.0.0.1 port 443 } # cave: ignore CAVE116 because x
    files { read "./${x}/\"a"; read read/allow, allow-x }
    limits { time 30s }
}
END
cat >"$work/v.vim" <<'END'
filetype plugin on
syntax on
edit v.cave
redir! > groups
for [l, c] in [[1, 1], [1, 9], [2, 15], [2, 21], [2, 39], [2, 49], [3, 13], [3, 22], [3, 32], [3, 40], [3, 50], [4, 14], [4, 19]]
  echo synIDattr(synID(l, c, 1), 'name') . '.'
endfor
redir END
qall!
END
(cd "$work" && vim -Nesu NONE --cmd "set rtp^=$editors/vim" -S v.vim </dev/null >/dev/null 2>&1)
same "Vim highlights a profile" "caveStatement. . caveStatement. caveValue. caveNumber. caveSuppression. caveStatement. \
cavePlace. caveStatement. . . caveLimit. caveNumber." "$(tr -s '\n' ' ' <"$work/groups" | sed 's/^ //; s/ $//')"
cat >"$work/textmate.py" <<'END'
import json, re, sys
folder, keywords = sys.argv[1], sys.argv[2].split()
package = json.load(open(folder + "/package.json"))
language, grammar = package["contributes"]["languages"][0], package["contributes"]["grammars"][0]
json.load(open(folder + "/" + language["configuration"]))
rules = json.load(open(folder + "/" + grammar["path"]))
assert rules["scopeName"] == grammar["scopeName"] and language["extensions"] == [".cave"]
repository = rules["repository"]
assert [p["include"] for p in rules["patterns"]] == ["#" + name for name in repository]
def patterns(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("match", "begin", "end"):
                yield re.compile(value)
            else:
                yield from patterns(value)
    elif isinstance(node, list):
        for value in node:
            yield from patterns(value)
assert len(list(patterns(repository))) > 10
statement = repository["statement"]["match"]
assert sorted(re.search(r"\(\?:([A-Za-z|]+)\)", statement).group(1).split("|")) == keywords, "keywords differ"
def first(name, text):
    found = re.search(repository[name].get("match") or repository[name]["begin"], text)
    return found and found.group()
assert first("statement", "{ allow tcp") == "allow" and not first("statement", "read-x xread /read read/")
assert first("number", "time 30s") == "30s" and not first("number", "10.0.0.1 1x")
assert first("set", "use <git>") == "<git>" and first("group", "deny @keyring") == "@keyring"
assert first("comment", "a # b") == "# b" and first("limit", "open-files 8") == "open-files"
END
expect_status "the TextMate grammar has the keywords, and its parts fit" 0 \
	"$python" "$work/textmate.py" "$editors/vscode" "$keywords"

# --- hooks of pre-commit: what they run does what they say
hook() { sed -n "/^- id: $1\$/,/^- /s/^  entry: //p" "$top/.pre-commit-hooks.yaml"; }
expect "the hook cave-fmt is there" "$(hook cave-fmt)" = 'cavec fmt -w'
printf 'profile p {limits{time 1s}}\n' >"$work/h.cave"
# An entry is words.
# shellcheck disable=SC2046
expect_status "the hook cave-fmt runs" 0 $(hook cave-fmt) "$work/h.cave"
expect "and lays the file out" "$(sed -n 2p "$work/h.cave")" = '    limits { time 1s }'
# shellcheck disable=SC2046
expect_status "the hook cave-lint takes a good profile" 0 $(hook cave-lint) "$work/h.cave"
echo 'profile p { network { allow tcp 169.254.169.254 port 80 } }' >"$work/h.cave"
# shellcheck disable=SC2046
expect_status "the hook cave-lint refuses a bad one" 1 $(hook cave-lint) "$work/h.cave"

# --- the workflow for GitHub: its scripts are sound, and do what they say
cat >"$work/steps.py" <<'END'
import sys, textwrap
name, lines, steps = None, open(sys.argv[1]).read().split("\n"), {}
for i, line in enumerate(lines):
    if line.startswith("      - name: "):
        name = line[len("      - name: "):]
    if line == "        run: |":
        end = next(k for k in range(i + 1, len(lines) + 1) if k == len(lines) or lines[k] and not lines[k].startswith(" " * 10))
        steps[name] = textwrap.dedent("\n".join(lines[i + 1:end])).strip() + "\n"
for name, text in steps.items():
    assert "${{" not in text, "an expression of the workflow within a script is an injection"
    open(sys.argv[2] + "/" + name.split()[0].lower(), "w").write(text)
print(" ".join(sorted(n.split()[0].lower() for n in steps)))
END
mkdir "$work/steps"
expect_output "the workflow has its scripts" 'comment install lint what' \
	"$python" "$work/steps.py" "$top/examples/github-workflow.yml" "$work/steps"
for s in "$work/steps"/*; do
	expect_output "shellcheck has nothing to say about the step $(basename "$s")" '' \
		shellcheck -s bash -e SC2016 "$s"
done
# GitHub runs `shell: bash` so.
step() { (cd "$work/repo" && run bash --noprofile --norc -eo pipefail "$work/steps/$1" && echo "$status"); }
export HOME="$work" GITHUB_OUTPUT="$work/output" GITHUB_STEP_SUMMARY="$work/summary" GITHUB_BASE_REF=main APPROVED=false
git_() { git -C "$work/repo" -c user.name=x -c user.email=x@example.com "$@" >/dev/null 2>&1; }
commit() { git_ add -A && git_ commit -m x --allow-empty; }
mkdir -p "$work/repo/a b"
git_ init -b main
echo 'network { allow tcp 10.0.0.1 port 443 }' >"$work/repo/part.cave"
printf 'include "../part.cave"\nprofile p { limits { time 1s } }\n' >"$work/repo/a b/p.cave"
commit
git_ update-ref refs/remotes/origin/main HEAD
git_ checkout -b change
expect "a good repository passes lint" "$(step lint)" = 0
expect "SARIF is there" "$(cat "$work/output") $(grep -c '"2.1.0"' "$work/repo/cave.sarif")" = 'sarif=cave.sarif 1'
rm "$work/repo/cave.sarif"
expect "a change of nothing passes" "$(step what) $(tail -n 1 "$work/repo/cave.md")" = \
	'0 No sandbox profile grants more or less than before.'
rm "$work/repo/cave.md"
echo 'network { allow tcp 10.0.0.1 port { 443, 80 } }' >"$work/repo/part.cave"
echo 'filter f { allow read }' >"$work/repo/f.cave"
echo 'profile q { }' >"$work/repo/q.cave"
commit
expect "a grant by an include is found" "$(step what) $(grep -c '10.0.0.1 port 80' "$work/repo/cave.md")" = '1 1'
expect "and a new filter's" -n "$(grep -F 'f.cave' "$work/repo/cave.md")"
expect "but not a profile that grants nothing" -z "$(grep -F 'q.cave' "$work/repo/cave.md")"
expect "the summary has it" -n "$(grep -F 'port 80' "$work/summary")"
expect "nothing is left of the base" ! -e "$work/repo/.cave-base"
export APPROVED=true
expect "it passes when it was approved" "$(step what)" = 0
echo 'profile q { network { allow tcp 169.254.169.254 port 80 } }' >"$work/repo/q.cave"
commit
expect "an error of lint fails" "$(step lint)" = 1
echo 'profile q { netwrk }' >"$work/repo/q.cave"
commit
expect "what does not compile fails lint" "$(step lint)" = 2
expect "and the diff, whatever was approved" "$(step what) $(grep -c 'does not compile' "$work/repo/cave.md")" = '2 1'

# --- make install brings all of it
run make -C "$top" --no-print-directory install DESTDIR="$work/root"
expect "make install" "$status" = 0
for f in man/man1/cavec.1 man/man1/caverun.1 man/man5/cave.5 bash-completion/completions/cavec \
	bash-completion/completions/caverun zsh/site-functions/_cave fish/vendor_completions.d/cavec.fish \
	fish/vendor_completions.d/caverun.fish vim/vimfiles/syntax/cave.vim; do
	expect "share/$f is installed" -s "$work/root/usr/local/share/$f"
done
