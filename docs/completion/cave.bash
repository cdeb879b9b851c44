# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of cavec and caverun for bash 4.1 and later.

# The words, or the files that end in one of the endings (and folders), that begin as the current word does.
_cave_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}
_cave_files() {
	local cur=$1 ending

	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -d -- "$cur")
	shift
	for ending; do
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X "!*.$ending" -- "$cur")
	done
}
_cave_paths() {
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

# What follows an option that takes a value; false if `$1` is none.
_cavec_value() {
	local cur=$3

	case $2:$1 in
	compile:--emit) _cave_words 'bpf c oci' "$cur" ;;
	compile:--arch) _cave_words 'x86_64 aarch64 riscv64' "$cur" ;;
	compile:-o | compile:--output) _cave_paths -f "$cur" ;;
	diff:--within) _cave_files "$cur" cave json bpf ;;
	diff:--format) _cave_words 'text json markdown' "$cur" ;;
	diff:--color) _cave_words 'auto always never' "$cur" ;;
	explain:--format) _cave_words 'text json' "$cur" ;;
	explain:--profile) COMPREPLY=() ;;
	lint:--format) _cave_words 'text gcc json sarif github' "$cur" ;;
	lint:--fail-on) _cave_words 'error warning info' "$cur" ;;
	*:--root) _cave_paths -d "$cur" ;;
	*:--config | *:--capabilities) _cave_paths -f "$cur" ;;
	*) return 1 ;;
	esac
}

_cavec() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} what=compile options rules
	local subcommands='dump list diff explain lint fmt lsp'

	COMPREPLY=()
	if [ "$COMP_CWORD" -gt 1 ]; then
		case " $subcommands " in *" ${COMP_WORDS[1]} "*) what=${COMP_WORDS[1]} ;; esac
	fi
	rules='--root --config --capabilities'
	case $what in
	compile) options="-o --output --emit --arch $rules -h --help --version" ;;
	diff) options="--within --format --color $rules -h --help" ;;
	explain) options="--profile --format $rules -h --help" ;;
	lint) options="--fail-on --format --fix --unsafe-fix $rules -h --help" ;;
	lsp) options="--stdio $rules -h --help" ;;
	fmt) options='-w --write --check -h --help' ;;
	*) options='-h --help' ;;
	esac
	if _cavec_value "$prev" "$what" "$cur"; then return; fi
	case $what:$cur in
	*:-*) _cave_words "$options" "$cur" ;;
	list:*) _cave_words "$("${COMP_WORDS[0]}" list 2>/dev/null | sed 's/ .*//') base" "$cur" ;;
	lsp:*) ;;
	dump:*) _cave_files "$cur" bpf ;;
	fmt:*) _cave_files "$cur" cave ;;
	compile:*) _cave_files "$cur" cave json ;;
	*) _cave_files "$cur" cave json bpf ;;
	esac
	if [ "$what" = explain ] && [ "$COMP_CWORD" -gt 2 ] && [[ $prev == *.@(cave|json|bpf) ]]; then
		_cave_words 'connect listen syscall read write execute env lookup' "$cur"
	fi
	if [ "$COMP_CWORD" = 1 ] && [[ $cur != -* ]]; then
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$subcommands" -- "$cur")
	fi
}

_caverun() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = -- ] || continue
		if declare -F _command_offset >/dev/null; then
			_command_offset $((i + 1))
		elif [ $((i + 1)) = "$COMP_CWORD" ]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		else
			_cave_paths -f "$cur"
		fi
		return
	done
	case $prev in
	--script | --record | --log | --config) _cave_paths -f "$cur" ;;
	--workspace | --chdir) _cave_paths -d "$cur" ;;
	--user) _cave_paths -u "$cur" ;;
	--format) _cave_words 'text json' "$cur" ;;
	--profile | --folder | --keep-fd | --status-fd) ;;
	*)
		if [[ $cur == -* ]]; then
			_cave_words '--profile --script --workspace --chdir --folder --keep-fd --user --status-fd --trace
				--record --report --log --config --prepare --list --forget --all --doctor --conformance
				--format --help --version --' "$cur"
		else
			_cave_files "$cur" bpf
		fi
		;;
	esac
}

complete -F _cavec cavec
complete -F _caverun caverun
