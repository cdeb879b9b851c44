#!/bin/sh
# SPDX-License-Identifier: MIT
# Profiles within a profile: --profile chooses one, which is then enforced and no other; trust; reviewing them.
. "$(dirname "$0")/../lib.sh"
need_root

mkdir "$work/bin"
cp "$caverun" "$build/cave-load" "$probe" "$work/bin"
caverun=$work/bin/caverun probe=$work/bin/cave-probe
echo secret >"$work/data"
compile outer "$work/outer.bpf" <<'END'
profile outer {
    files { read "./data"; write workspace }
    env { pass TERM; set A "1" }
    profile reader {
        files { read "./data" }
        profile nothing { files { base none } }
    }
    profile writer { files { write workspace }; env { set A "1" } }
}
END

under() { "$caverun" ${profile:+--profile $profile} "$work/outer.bpf" -- "$probe" "$@"; }
# does PROFILE WHAT…, refuses PROFILE WHAT…: the probe succeeds, or fails, under the profile.
does() { profile=$1; shift; expect_status "$profile: $* is done" 0 under "$@"; }
refuses() {
	profile=$1
	shift
	run under "$@"
	if [ "$status" != 0 ] && [ "$status" != 125 ]; then
		ok "$profile: $* is refused"
	else
		not_ok "$profile: $* is refused" "status $status, $(cat "$work/out" "$work/err")"
	fi
}

does '' read "$work/data"
does '' create f
does outer read "$work/data"
does outer create f
does reader read "$work/data"
refuses reader create f
refuses writer read "$work/data"
does writer create f
refuses nothing read "$work/data"
refuses nothing read /etc/hosts
does reader read /etc/hosts

profile=reeder
expect_code "a profile that there is not" 125 cave_sandbox_failed under ids
expect "the error names those that there are" -n "$(grep 'it has nothing, reader, writer' "$work/err")"
echo 'profile plain { }' | compile plain "$work/plain.bpf"
expect_code "a policy without profiles in it" 125 cave_sandbox_failed "$caverun" --profile x "$work/plain.bpf" -- "$probe" ids
expect "the error says so" -n "$(grep 'no nested profiles' "$work/err")"

# --- trust: the identity of the policy around a nested one covers it, its own is enough
of() { "$cavec" dump "$work/outer.bpf" | sed -n "s/^  profile $1, identity //p"; }
outer=$("$cavec" dump "$work/outer.bpf" | sed -n 's/^identity //p')
trusted() { "$caverun" --config "$work/operator.conf" ${profile:+--profile $profile} "$work/outer.bpf" -- "$probe" no-new-privs; }
trust() { printf 'trust %s\n' "$1" >"$work/operator.conf"; }
trust "$outer"
profile=reader
expect_status "the outermost one is trusted, a nested one starts" 0 trusted
trust "$(of reader)"
expect_status "a nested one is trusted, and starts" 0 trusted
profile=writer
expect_code "another nested one does not" 125 cave_sandbox_policy_untrusted trusted
profile=
expect_code "the outermost one does not" 125 cave_sandbox_policy_untrusted trusted

# --- what is kept: each profile has its own
compile kept "$work/kept.bpf" <<'END'
profile around {
    network { allow tcp 192.0.2.1 port 443-444 }
    profile within { network { allow tcp 192.0.2.1 port 443 } }
}
END
kept() { "$caverun" --list | grep -cF " $1 "; }
expect_status "a nested profile is prepared" 0 "$caverun" --prepare --profile within "$work/kept.bpf"
expect "it is kept, and not the one around it" "$(kept within) $(kept around)" = '1 0'
expect_status "the one around it is forgotten" 0 "$caverun" --forget "$work/kept.bpf"
expect "the nested one is still kept" "$(kept within)" = 1
expect_status "the nested one is forgotten" 0 "$caverun" --forget --profile within "$work/kept.bpf"
expect "it is gone" "$(kept within)" = 0

for option in --trace '--workspace /tmp' '--user nobody' '--script /etc/hosts' '--record x'; do
	# shellcheck disable=SC2086
	expect_code "to prepare, $option is nothing" 125 cave_sandbox_failed "$caverun" --prepare $option "$work/kept.bpf"
done
expect_code "to list, a profile is nothing" 125 cave_sandbox_failed "$caverun" --list --profile within

# --- review
expect_output "a profile with others in it, and its artefact" 'equal reach' "$cavec" diff "$work/outer.cave" "$work/outer.bpf"
sed 's/files { read "\.\/data" }/files { read ".\/data"; write workspace }/' "$work/outer.cave" >"$work/more.cave"
run "$cavec" diff "$work/outer.cave" "$work/more.cave"
expect "what a nested profile newly grants" "$status $(grep -c '+ write workspace  # profile reader' "$work/out")" = '1 1'
