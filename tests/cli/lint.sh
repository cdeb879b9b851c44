#!/bin/sh
# SPDX-License-Identifier: MIT
# cavec lint: for each rule a profile that has the finding, one that nearly has it, and one in which it is suppressed;
# what is reported, in every form; fixes.
. "$(dirname "$0")/../lib.sh"

# ids FILE: the numbers of the findings that are not suppressed.
ids() { "$cavec" lint --format gcc "$1" 2>>"$work/err" | sed 's/.*\[CAVE\([0-9]*\)\]$/\1/' | sort -u | tr '\n' ' '; }
has() { case " $(ids "$2")" in *" $1 "*) return 0 ;; esac; return 1; }

# rule ID BODY NEARLY: both are bodies of profiles, or of what $kind says.
kind=profile
rule() {
	echo "CAVE$1" >>"$work/ruled"
	printf '%s p {\n%s\n}\n' "$kind" "$2" >"$work/has.cave"
	printf '%s p {\n%s\n}\n' "$kind" "$3" >"$work/nearly.cave"
	: >"$work/err"
	if ! has "$1" "$work/has.cave"; then
		not_ok "CAVE$1" "it is not found: $2; $(ids "$work/has.cave") $(cat "$work/err")"
	elif has "$1" "$work/nearly.cave"; then
		not_ok "CAVE$1" "it is found in: $3"
	elif ! "$cavec" lint "$work/nearly.cave" >/dev/null 2>"$work/err" && [ -s "$work/err" ]; then
		not_ok "CAVE$1" "does not compile: $3; $(cat "$work/err")"
	else
		ok "CAVE$1"
	fi
	# On the line of the finding, for a reason; without one it stays.
	line=$("$cavec" lint --format gcc "$work/has.cave" | grep "CAVE$1\]" | head -n 1 | cut -d: -f2)
	sed "${line}s/\$/ # cave: ignore CAVE$1 because of a test/" "$work/has.cave" >"$work/put-aside.cave"
	if has "$1" "$work/put-aside.cave"; then not_ok "CAVE$1 is suppressed" "$(cat "$work/put-aside.cave")"
	else ok "CAVE$1 is suppressed"; fi
	sed "${line}s/\$/ # cave: ignore CAVE$1/" "$work/has.cave" >"$work/no-reason.cave"
	if has "$1" "$work/no-reason.cave" && has 180 "$work/no-reason.cave"; then ok "CAVE$1 needs a reason"
	else not_ok "CAVE$1 needs a reason" "$(ids "$work/no-reason.cave")"; fi
}
net() { printf 'network { %s }' "$1"; }
a='allow tcp 10.0.0.0/24 port 443'

printf '#include "base.cave"\nprofile p { }\n' >"$work/has.cave"
printf '# include "base.cave"\n#includes\nprofile p { env { set A "#include <x>" } }\n' >"$work/nearly.cave"
echo CAVE108 >>"$work/ruled"
expect 'CAVE108' "$(ids "$work/has.cave")$(ids "$work/nearly.cave")" = '108 '
printf '# cave: ignore CAVE108 because of a test\n#include "base.cave"\nprofile p { }\n' >"$work/has.cave"
expect 'CAVE108 is suppressed' -z "$(ids "$work/has.cave")"
rule 101 "$(net "allow tcp 10.0.0.1 port 443; deny 10.0.0.0/24")" "$(net "$a; deny tcp 10.0.0.1 port 443")"
rule 102 "$(net "$a
allow tcp 10.0.0.1 port 443")" "$(net "$a
allow tcp 10.0.0.1 port 444")"
rule 103 "$(net "$a; deny tcp 10.0.1.0/24 port 443")" "$(net "$a; deny tcp 10.0.0.9 port 443")"
rule 104 'files { read "/srv"; read "/srv/a" }' 'files { read "/srv"; write "/srv/a" }'
rule 105 'syscalls { deny mount }' 'syscalls { deny uname }'
rule 106 'syscalls { allow acct
deny acct }' 'syscalls { allow acct; deny uname }'
rule 101 "$(net 'allow tcp 10.0.0.0/24 except any port 443')" "$(net 'allow tcp 10.0.0.0/24 except 10.0.0.0/25 port 443')"
rule 107 "$(net 'allow tcp 10.0.0.0/24 except { 10.9.0.0/24, 10.0.0.7 } port 443')" \
	"$(net 'allow tcp 10.0.0.0/24 except { 10.0.0.0/16, 10.0.0.7 } port 443')"
rule 107 "$(net 'allow tcp 10.0.0.0/24 except localhost port 443')" "$(net 'allow tcp 10.0.0.0/7 except any port 443')"
rule 107 "$(net 'allow tcp 10.0.0.0/24 except ::1 port 443')" "$(net 'allow tcp 64:ff9b::/120 except 0.0.0.1 port 443')"
rule 107 "$(net 'allow tcp *.example.com except example.com port 443')" \
	"$(net 'allow tcp *.example.com except { a.example.com, *.b.example.com, 10.0.0.9 } port 443')"
rule 110 "$(net 'allow tcp 8.8.8.0/24 port 443')" "$(net 'allow tcp 8.8.8.0/25 port 443')"
rule 110 "$(net 'allow tcp 2606:50c0::/40 port 443')" "$(net 'allow tcp 2606:50c0::/48 port 443')"
rule 110 "$(net 'allow tcp 8.8.0.0/25 port 443; allow tcp { 8.8.0.128/26, 8.8.0.192/26 } port 80')" \
	"$(net 'allow tcp 8.8.0.0/25 port 443; allow tcp { 8.8.0.64/26, 8.8.0.128/26 } port 80')"
rule 111 "$(net 'allow tcp 10.0.0.1 port any')" "$(net 'allow tcp 10.0.0.1 port 8000-8999')"
rule 112 "$(net 'allow tcp 169.254.169.254 port 80')" "$(net 'allow tcp 10.0.0.1 port 80')"
rule 113 "$(net 'allow tcp { 8.8.8.8, 10.0.0.1 } port 443')" "$(net 'allow tcp 8.8.8.8 port 443; allow tcp 10.0.0.1 port 443')"
rule 114 "$(net 'allow udp 10.0.0.53 port 53')" "$(net 'allow udp 10.0.0.53 port 54')"
rule 114 "$(net 'allow resolver')" "$(net 'allow netlink route')"
rule 115 "$(net 'allow tcp 8.8.8.8 port 443')" "$(net 'allow tcp { 8.8.8.8, 2606:4700::1 } port 443')"
rule 116 "$(net 'allow tcp 127.0.0.1 port 80')" "$(net 'allow tcp 10.0.0.1 port 80')"
rule 117 "$(net 'allow tcp 10.0.0.0/16 port 80')" "$(net 'allow tcp 10.0.0.0/17 port 80')"
key='credentialEnv ANTHROPIC_API_KEY'
rule 120 "$key
$(net 'allow tcp 192.0.2.1 port 443')" "$key
$(net 'allow tcp { 160.79.104.0/23, 2607:6bc0::/48 } port 443')"
rule 121 "$key" "$key; $(net 'allow tcp 160.79.104.0/23 port 443')"
# --- host names
rule 101 "$(net "allow tcp { a.example.com, b.example.com } port 443
deny { a.example.com, b.example.com }")" "$(net 'allow tcp { a.example.com, b.example.com } port 443; deny a.example.com')"
rule 102 "$(net 'allow tcp *.example.com port 443
allow tcp a.example.com port 443')" "$(net 'allow tcp *.example.com port 443
allow tcp example.com port 443; allow tcp b.example.com port 444; allow tcp c.example.com port 443 within 10.0.0.1')"
rule 102 "$(net 'allow tcp a.example.com port 443
allow tcp { a.example.com, 10.0.0.1 } port 443')" "$(net 'allow tcp a.example.com port 443
allow tcp { b.example.com, 10.0.0.1 } port 443')"
rule 103 "$(net 'allow tcp a.example.com port 443
deny b.example.com')" "$(net 'allow tcp *.example.com port 443
deny b.example.com')"
rule 103 "$(net 'deny 10.0.0.0/8')" "$(net 'allow tcp a.example.com port 443 within 10.0.0.0/8; deny 10.0.0.1')"
rule 111 "$(net 'allow tcp a.example.com port any')" "$(net 'allow tcp a.example.com port 8000-8999')"
rule 112 "$(net 'allow tcp a.example.com port 80 within 169.254.169.254')" \
	"$(net 'allow tcp a.example.com port 80 within 10.0.0.1')"
rule 113 "$(net 'allow tcp a.example.com port 80 within { 8.8.8.0/24, 10.0.0.1 }')" "$(net 'allow tcp a.example.com port 80')"
rule 114 "$(net 'allow tcp a.example.com port 853')" "$(net 'allow tcp a.example.com port 854')"
rule 116 "$(net 'allow tcp a.example.com port 80 within 127.0.0.1')" "$(net 'allow tcp a.example.com port 80 within 10.0.0.1')"
rule 118 "$(net 'allow tcp *.blob.core.windows.net port 443')" \
	"$(net 'allow tcp { a.blob.core.windows.net, *.a.blob.core.windows.net, *.xblob.core.windows.net } port 443')"
rule 118 "$(net 'allow tcp *.azure.com port 443')" "$(net 'allow tcp *.ours.example.com port 443')"
rule 118 "$(net 'allow tcp storage.googleapis.com port 443')" "$(net 'allow tcp storage.example.com port 443')"
rule 119 "$(net 'allow tcp registry.npmjs.org port 443')" "$(net 'allow tcp xregistry.npmjs.org port 443')"
rule 119 "$(net 'allow tcp <pypi> port 443')" "$(net 'allow tcp pypi.example.org port 443')"
rule 120 "$key
$(net 'allow tcp api.example.com port 443')" "$key
$(net 'allow tcp api.anthropic.com port 443')"
rule 120 "credentialEnv OPENAI_API_KEY
$(net 'allow tcp *.openai.com port 443')" "credentialEnv OPENAI_API_KEY
$(net 'allow tcp { api.openai.com, *.api.openai.com } port 443')"
rule 121 "$key; $(net 'deny a.example.com')" "$key; $(net 'allow tcp api.anthropic.com port 443')"
rule 122 "$(net 'allow tcp a.example.com port 443 within 10.0.0.0/24')" \
	"$(net 'allow tcp a.example.com port 443 within 8.8.8.0/24')"
printf 'profile p { network {\n allow tcp %s port 443 within %s\n} }\n' a.example.com 10.0.0.0/16 >"$work/level.cave"
expect 'CAVE122: a wide place is a warning' -n "$("$cavec" lint "$work/level.cave" | grep ':2:2: warning: .*CAVE122')"
sed -i 's,/16,/17,' "$work/level.cave"
expect 'CAVE122: a narrow one is none' -n "$("$cavec" lint "$work/level.cave" | grep ':2:2: info: .*CAVE122')"
printf 'profile p { network {\n allow tcp webhook.site port 443\n} }\n' >"$work/level.cave"
expect 'CAVE118: what collects requests is an error' -n "$("$cavec" lint "$work/level.cave" | grep ':2:12: error: .*CAVE118')"
printf 'profile p { network {\n allow tcp { 10.0.0.1, <pypi> } port 443\n} }\n' >"$work/level.cave"
expect 'hosts of a set are found where it is named, once' \
	"$("$cavec" lint --format gcc "$work/level.cave" | grep -o ':2:.*CAVE119')" = \
	':2:24: note: pypi.org is served from addresses that it shares with many other names (Fastly) [CAVE119'
printf 'profile p { %s; network {\n allow tcp { 10.0.0.1, a.example.com } port 443\n} }\n' "$key" >"$work/level.cave"
expect 'a line of addresses and names is found once' "$("$cavec" lint --format gcc "$work/level.cave" | grep -c CAVE120)" = 1
rule 130 'env { set PYTHONPATH "/srv" }' 'env { set PYTHN "/srv" }'
rule 131 'env { pass SSH_AUTH_SOCK }' 'env { pass TERM }'
c='childProcess { max-processes 2; execute'
rule 132 'env { set GITHUB_TOKEN "a-secret" }' 'env { set TOKENIZERS_PARALLELISM "false"; set SSL_KEY "/etc/ssl/key.pem" }'
rule 132 'env { set X "sk-abcdefgh" }' 'env { set X "sk-abc"; set Y "https://example.com/a:b@c" }'
rule 132 'env { set X "postgres://user:secret@db/" }' 'env { set MAX_TOKENS "1000000000"; set HOME_KEY home }'
run "$cavec" lint "$work/has.cave"
expect 'its line is not shown' -z "$(grep -F 'secret@' "$work/out")"
printf 'profile p { env { set GITHUB_TOKEN "a-secret"; set NODE_OPTIONS "--x" } }\n' >"$work/has.cave"
run "$cavec" lint "$work/has.cave"
expect 'nor for another finding on it' "$(grep -c CAVE130 "$work/out")$(grep -c a-secret "$work/out")" = 10
rule 140 "$c \"/usr/bin/python3.11\" }" "$c \"/usr/bin/convert\" }"
rule 141 "files { write \"/srv\" }; $c \"/srv/tool\" }" "files { write \"/srv/out\" }; $c \"/srv/tool\" }"
rule 142 "$c \"/usr/lib/git-core/\" }" "$c \"/usr/lib/git-core/git-log\" }"
rule 150 'files { write workspace }' 'files { write workspace; deny workspace/.git }'
rule 150 'files { write workspace; deny write workspace/.git/hooks }' \
	'files { write workspace; deny write workspace/.git/hooks, workspace/.git/config }'
rule 152 'files { read "/etc"; deny write "/etc/shadow" }' \
	'files { read "/etc/x"; deny write "/etc/shadow" }'
rule 141 "files { write \"/srv\" }; $c \"/srv/tool\" }" \
	"files { write \"/srv\"; deny write \"/srv/tool\" }; $c \"/srv/tool\" }"
rule 150 'files { write "/etc/cron.d" }' 'files { write "/srv/cron.d" }'
rule 151 "files { write \"$work\" }" "files { write \"$work/below\" }"
rule 152 'files { read "/etc" }' 'files { read "/etc/hosts" }'
for path in '/srv/[ab]' '/srv/?' '/srv/$USER/x' '/srv/{a,b}' '/run/user/%U' '/srv/$(id)'; do
	rule 153 "files { deny optional \"$path\" }" 'files { deny optional "/srv/a[", "/srv/100%", "/srv/a$", "/srv/a}{" }'
done
rule 160 'files { read "/run" }' 'files { read "/run/lock" }'
rule 170 'syscalls { allow acct }' 'syscalls { allow personality(persona == 8) }'
kind=filter
rule 170 'allow mount' 'allow mount(flags == 0x1000)'
rule 172 'allow socket' 'allow socket(family in { AF_UNIX, AF_INET, AF_INET6 })'
rule 172 'allow socket(family < 40)' 'allow socket; deny socket(family in { 17, 38, 40 })'
rule 172 'allow socket; deny socket(family == AF_ALG && type == 1); deny socket(family in { 17, 40 })' \
	'allow socket(family < 17), socket(family in { 18-37, 39 }), socket(family > 40)'
rule 172 'default allow
deny socket(family in { 17, 38 })' 'default allow
deny socket'
rule 173 'default allow
deny fork, vfork' 'default allow
deny fork, vfork, clone; deny clone3 with errno ENOSYS'
rule 174 'allow clone' 'allow clone; deny clone3 with errno ENOSYS'
rule 174 'allow faccessat' 'default errno ENOSYS
allow faccessat'
kind=profile
rule 173 'syscalls { deny open }' 'syscalls { deny open, openat, creat }'
rule 173 'syscalls { deny kill(sig == SIGKILL) }' 'syscalls { deny @signal }'
rule 173 'syscalls { deny mprotect(prot & PROT_EXEC) }' \
	'syscalls { deny mprotect(prot & PROT_EXEC), pkey_mprotect(prot & PROT_EXEC) }'
rule 174 'syscalls { deny clone3 with errno EPERM }' 'syscalls { deny clone3; deny clone }'
rule 171 'syscalls { deny read(fd == 3) }' 'syscalls { deny ioctl(request == 3) }'
rule 171 'syscalls { deny read(count in { 512, 4096 }) }' 'syscalls { deny socket(domain == 38) }'
rule 190 'limits { time none }' 'limits { time 5min }'

# --- suppressions themselves: of a line that may have the finding, and does not, or has it for no reason
# aside ID WANTED COMMENT…: the comments stand alone, before a line that has no finding, and behind it.
aside() {
	echo "CAVE$1" >>"$work/ruled"
	test_name="CAVE$1: $3; $4" wanted=$2
	printf 'profile p {\n # cave: %s\n network { allow tcp 10.0.0.1 port 1 } # cave: %s\n}\n' "$3" "$4" >"$work/aside.cave"
	expect "$test_name" "$(ids "$work/aside.cave")" = "$wanted"
}
aside 180 '180 ' 'remark' 'ignore CAVE110'
aside 180 '181 ' 'remark' 'ignore CAVE110 because of a test'
aside 180 '' 'ignore CAVE180 because of a test' 'ignore CAVE110'
aside 181 '181 ' 'remark' 'ignore CAVE110 because of a test'
aside 181 '' 'remark' 'ignored CAVE110 because of a test'
aside 181 '' 'ignore CAVE181 because of a test' 'ignore CAVE110 because of a test'
aside 181 '180 181 ' 'ignore CAVE181 because of a test' 'ignore CAVE110'
aside 181 '181 ' 'remark' 'ignore CAVE999 because of a test'
printf 'profile p {\n # cave: ignore CAVE114 because of a test\n network { allow resolver }\n}\n' >"$work/above.cave"
expect 'a suppression that stands alone covers the next line' "$(ids "$work/above.cave")" = ''
printf 'profile p {\n # cave: ignore CAVE114 because of a test\n\n network { allow resolver }\n}\n' >"$work/above.cave"
expect 'and no other one' "$(ids "$work/above.cave")" = '114 181 '

cat >"$work/in.cave" <<'END'
profile p {
    network { allow tcp 10.0.0.0/24 port 1 }
    profile in {
        network { allow tcp 10.0.0.1 port 1; allow tcp 10.0.0.1 port 1 }
    }
}
END
expect 'a finding in a nested profile' "$("$cavec" lint --format gcc "$work/in.cave" | grep -c 'in.cave:4:.*CAVE102')" = 1

# --- the examples have the findings that they are known to have
known() { expect "examples/$1: ${2:-nothing}" "$(ids "$top/examples/$1.cave")" = "${2:+$2 }"; }
while read -r name numbers; do
	known "$name" "$numbers"
done <<'END'
api-call
build-c 140 141 142 150
build-go 141 142 150
build-site
clone-over-https 116 150
clone-repository 116 150
cluster-status 152
commit-changes
container-default 170 172
convert-data
database 150
demo 116 120 150
download-file
fetch-service 110 114
format-folder 150
install-npm 140 141 142 150
install-wheels 150
lint-project
list-fonts
local-model 116 150
native-addon 141 142 150
package-registry 150
parallel-python 150
push-over-ssh 116 130 150
run-java
search-logs
serve-folder
share-memory
unpack-archive 150
wrapped-program 140
END
# What is written and executed: for that it is there.
expect 'no other example has an error' \
	"$("$cavec" lint --format gcc "$top"/examples/*.cave | grep ': error:' |
		grep -Evc '/(build-c|build-go|install-npm|native-addon)\.cave:.*CAVE141')" = 0

# --- the exit status
printf 'profile p {\n network { allow resolver }\n}\n' >"$work/warning.cave"
printf 'profile p {\n network { allow tcp 127.0.0.1 port 1 }\n}\n' >"$work/info.cave"
printf 'profile p {\n network { allow tcp 169.254.169.254 port 1 }\n}\n' >"$work/error.cave"
printf 'profile p { }\n' >"$work/clean.cave"
printf 'profile p { network true }\n' >"$work/bad.cave"
while read -r level file wanted; do
	expect_status "$file, --fail-on $level" "$wanted" "$cavec" lint --fail-on "$level" "$work/$file.cave"
done <<'END'
error clean 0
error warning 0
error error 1
warning info 0
warning warning 1
warning error 1
info info 1
info clean 0
error bad 2
END
expect_status 'the default is error' 0 "$cavec" lint "$work/warning.cave"
expect_status 'several files' 1 "$cavec" lint "$work/clean.cave" "$work/error.cave"
expect_status 'no file' 2 "$cavec" lint
expect_status 'no such file' 2 "$cavec" lint "$work/none.cave"

# --- artefacts and JSON
"$cavec" "$work/warning.cave" -o "$work/warning.bpf"
expect 'an artefact' "$(ids "$work/warning.bpf")" = '114 '
printf '{"schema_version":1,"network":false,"child_process":false,"credential_env":["OPENAI_API_KEY"]}' >"$work/seed.json"
expect 'a JSON profile' "$(ids "$work/seed.json")" = '121 '
expect 'of which no line is shown' -z "$("$cavec" lint "$work/seed.json" | grep schema_version)"

# --- forms
run "$cavec" lint "$work/warning.cave"
expect 'text: place, severity, number' -n "$(grep "warning.cave:2:12: warning: .*\[CAVE114\]" "$work/out")"
expect 'text: what to write instead' -n "$(grep 'instead: the names that the tool needs' "$work/out")"
run "$cavec" lint --format github "$work/warning.cave"
expect 'GitHub' -n "$(grep '^::warning file=.*warning.cave,line=2,col=12,title=CAVE114 name-channel::' "$work/out")"
schema=$top/tests/data/sarif-2.1.0-rtm.5.json
printf 'profile p {\n network {\n  allow tcp 10.0.0.0/24 port 1\n  allow tcp 10.0.0.1 port 1\n }\n}\n' >"$work/twice.cave"
printf '%s\n' 'profile p {' ' network { allow resolver } # cave: ignore CAVE114 because of a test' '}' >"$work/aside.cave"
run "$cavec" lint --format json "$work/twice.cave" "$work/aside.cave"
expect 'JSON' "$("$python" -c 'import json, sys
for f in json.load(open(sys.argv[1])): print(f["id"], f["line"], f["other"] and f["other"]["line"], f["suppressed"])' \
	"$work/out" | tr '\n' ';')" = 'CAVE102 4 3 None;CAVE114 2 None of a test;'
run "$cavec" lint --format sarif "$work/twice.cave" "$work/aside.cave"
expect 'SARIF' "$("$python" "$top/tests/tools/sarif.py" "$schema" "$work/out")" = \
	'CAVE102 warning 4 fix; CAVE114 warning 2 fix suppressed: of a test'

printf 'profile p { env { set A "\303\244\303\266" }; network { allow resolver } }\n' >"$work/letters.cave"
"$cavec" lint --format sarif "$work/letters.cave" >"$work/out"
expect 'SARIF: columns are characters' "$("$python" -c 'import json, sys
r = json.load(open(sys.argv[1]))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
print(open(sys.argv[2], encoding="utf-8").read()[r["startColumn"] - 1:r["endColumn"] - 1])' \
	"$work/out" "$work/letters.cave")" = 'allow resolver'

# --- fixes
cp "$work/twice.cave" "$work/fixed.cave"
expect_status '--fix' 0 "$cavec" lint --fix "$work/fixed.cave"
expect 'the line is gone' "$(sed -n 4p "$work/fixed.cave")" = ' }'
expect_output 'and the reach is what it was' 'equal reach' "$cavec" diff "$work/twice.cave" "$work/fixed.cave"
expect 'nothing is left to fix' "$(ids "$work/fixed.cave")" = ''
cat >"$work/many.cave" <<'END'
profile p {
    network {
        allow tcp 10.0.0.0/24 port 1  # stays
        allow tcp 10.0.0.1 port 1; allow tcp 10.0.0.2 port 1
        allow tcp 10.0.0.0/24 port 1
        allow udp 10.0.0.1 port 9; deny udp 10.0.0.0/24 port 9
        deny tcp 10.9.0.0/24 port 5
    }
    syscalls { deny mount; deny uname }
}
END
cp "$work/many.cave" "$work/fixed.cave"
expect_status '--fix of many' 0 "$cavec" lint --fix "$work/fixed.cave"
expect_output 'many fixes keep the reach' 'equal reach' "$cavec" diff "$work/many.cave" "$work/fixed.cave"
expect 'and are made' "$(grep -c -e 10.0.0.1 -e 10.0.0.2 -e 10.9 -e mount "$work/fixed.cave")" = 0
expect 'what is needed stays' "$(grep -c -e 'stays' -e 'deny uname' "$work/fixed.cave")" = 2

# --- fixes that change the reach
cat >"$work/wide.cave" <<'END'
profile p {
    credentialEnv OPENAI_API_KEY
    network {
        deny 10.0.0.0/8
    }
    env { pass TERM, SSH_AUTH_SOCK, KUBECONFIG; set LD_PRELOAD "x"; set MODE "y" }
    files {
        read "/srv", "/srv/a", home/.ssh
        read "/etc", "/run"
        write workspace, "/opt/x"  # stays
        write "WORK"
    }
    childProcess { max-processes 2; execute "/var/lib/tool", "/bin/true" }
    syscalls {
        allow acct, personality
        deny mount
    }
    limits { time none; memory 64MiB } # cave: ignore CAVE110 because of a test
    # cave: ignore CAVE110
    profile in { env { pass SSH_AUTH_SOCK }; limits { memory 64MiB; time 1min }; syscalls { deny memfd_create } }
}
END
sed -i "s,WORK,$work," "$work/wide.cave"
sed -i 's,write workspace,write "/var/lib"\n        &,' "$work/wide.cave"
cp "$work/wide.cave" "$work/fixed.cave"
run "$cavec" lint --fix "$work/fixed.cave"
expect_output '--fix leaves the reach as it is' 'equal reach' "$cavec" diff "$work/wide.cave" "$work/fixed.cave"
expect '--fix leaves the rest' "$(ids "$work/fixed.cave")" = '121 130 131 141 150 151 152 160 170 190 '
cp "$work/wide.cave" "$work/fixed.cave"
run "$cavec" lint --unsafe-fix "$work/fixed.cave"
cp "$work/err" "$work/shown"
expect '--unsafe-fix leaves nothing that it can fix' "$(ids "$work/fixed.cave")" = ''
"$cavec" diff "$work/wide.cave" "$work/fixed.cave" >"$work/change"
expect 'it shows what changes, as diff does' \
	"$(sed -n '/^newly refused/,$p' "$work/shown" | sed 's/ *#.*//')" = "$(sed 's/ *#.*//' "$work/change")"
expect 'and that is less' "$(tail -n 1 "$work/change")" = 'nothing is newly granted'
for text in 'OPENAI_API_KEY' 'pass KUBECONFIG' 'read /etc/shadow' 'write /var/lib/tool' 'write workspace/.git/hooks' \
	'time none' 'read home/.ssh' 'acct'; do
	expect "it shows: $text" -n "$(grep -F -- "- $text" "$work/shown")"
done
expect 'it says what it does, and why' -n "$(grep -F 'fixed.cave:14: CAVE141: deny write "/var/lib/tool"' "$work/shown")"
expect 'comments stay' -n "$(grep -F '# stays' "$work/fixed.cave")"
cp "$work/fixed.cave" "$work/once.cave"
run "$cavec" lint --unsafe-fix "$work/fixed.cave"
expect 'a second time there is nothing to do' "$status$(cat "$work/err")$(cmp "$work/fixed.cave" "$work/once.cave")" = 0

# A fix is not made if the profile would not compile without what it takes away; nor where it would say less of a place.
printf 'profile p {\n env { pass SSH_AUTH_SOCK }\n expect { allow env SSH_AUTH_SOCK }\n}\n' >"$work/kept.cave"
cp "$work/kept.cave" "$work/fixed.cave"
run "$cavec" lint --unsafe-fix "$work/fixed.cave"
expect 'what is expected to be there stays' -z "$(cmp "$work/kept.cave" "$work/fixed.cave")$(cat "$work/err")"
printf 'profile p {\n network { allow tcp a.example.com port 80 within 169.254.169.254; allow udp 10.0.0.1 port 9 }\n}\n' \
	>"$work/fixed.cave"
run "$cavec" lint --unsafe-fix "$work/fixed.cave"
expect 'a place is not taken away without its name' "$(sed -n 2p "$work/fixed.cave")" = ' network { allow udp 10.0.0.1 port 9 }'
printf 'env { pass SSH_AUTH_SOCK }\n' >"$work/part.cave"
printf 'include "part.cave"\nprofile p { }\n' >"$work/whole.cave"
"$cavec" lint --unsafe-fix "$work/whole.cave" >"$work/out" 2>&1
expect 'an included file is not written' "$(cat "$work/part.cave")" = 'env { pass SSH_AUTH_SOCK }'
for file in "$top"/examples/*.cave; do
	name=$(basename "$file")
	cp "$file" "$work/$name"
	"$cavec" lint --unsafe-fix "$work/$name" >/dev/null 2>&1
	"$cavec" diff "$file" "$work/$name" >"$work/out" 2>&1 || not_ok "--unsafe-fix of examples/$name" "$(cat "$work/out")"
done
ok '--unsafe-fix of the examples grants nothing'

# --- every rule is documented, and has its profiles here
"$cavec" lint --format sarif "$work/clean.cave" >"$work/out"
"$python" -c 'import json, sys
for r in json.load(open(sys.argv[1]))["runs"][0]["tool"]["driver"]["rules"]: print("| %s `%s` |" % (r["id"], r["name"]))' \
	"$work/out" | sort >"$work/rules"
grep -o '^| CAVE[0-9]* `[^`]*` |' "$top/docs/review.md" | sort >"$work/documented"
expect 'the documented rules are those that there are' -z "$(diff "$work/rules" "$work/documented")"
expect 'and they are many' "$(wc -l <"$work/documented")" -ge 34
cut -d' ' -f2 "$work/documented" >"$work/numbers"
expect 'each has a profile that has it, one that nearly does, and one in which it is put aside' \
	-z "$(sort -u "$work/ruled" | diff - "$work/numbers")"
