#!/bin/sh
# SPDX-License-Identifier: MIT
# --trace: what is said of refusals, and that nothing is answered otherwise than without it.
. "$(dirname "$0")/../lib.sh"
need_root

nobody=65534
bin=$work/bin
mkdir "$bin" "$work/home"
chmod 777 "$work/home"
HOME=$work/home
export HOME
cp "$caverun" "$build/cave-load" "$build/cave-check" "$build"/conformance*.bpf "$probe" "$build/tests/tools/nouserns" "$bin"
chmod -R go+rX "$bin"
echo secret >"$work/secret"
chmod 666 "$work/secret"
compile p "$work/p.bpf" <<'END'
profile p {
    files { write workspace }
    syscalls {
        deny getcwd
        deny uname with errno ENOSYS
    }
}
END
compile tools "$work/tools.bpf" <<'END'
profile tools { files { write workspace; read optional "/usr/lib/python3", "/usr/lib/python3.11" } }
END
compile none "$work/none.bpf" <<'END'
profile none { syscalls { base none; allow exit_group } }
END
chmod 644 "$work"/*.bpf

as_nobody() { setpriv --reuid=$nobody --regid=$nobody --clear-groups "$@"; }
bare() { "$bin/nouserns" $nobody "$@"; }
traced() { run timeout 60 "$bin/caverun" --trace "$work/p.bpf" -- "$bin/cave-probe" "$@"; }
# says NAME SENTENCE
says() { expect "$1" -n "$(grep -xF "caverun: refused by policy: $2" "$work/err")"; }

traced read "$work/secret"
expect "a file is refused" "$(cat "$work/out")" = "read $work/secret: refused EACCES"
says "and said to be, with what to write" "read $work/secret (no rule); try files { read \"$work/secret\" }"
traced write "$work/secret"
says "writing" "write $work/secret (no rule); try files { write \"$work/secret\" }"
traced create /root/.npm-none
says "a file that would be made in a home" "write /root/.npm-none (no rule); try env { set HOME tmp }"
traced mkdir "$work/home/new"
says "a folder" "write $work/home/new (no rule); try files { write \"$work/home/new\" }"
traced rename "$work/secret" "$work/other"
says "a name" "write $work/secret (no rule); try files { write \"$work/secret\" }"
traced fork , vfork
says "a call" "fork (no rule); childProcess false starts no other process"
says "another one" "vfork (no rule); childProcess false starts no other process"
traced call 79
says "with the line of the profile" "getcwd (p.cave:4: deny getcwd)"
traced call 63
says "an errno of the profile's" "uname (p.cave:5: deny uname with errno ENOSYS)"
expect "and it is that" "$(cat "$work/out")" = "call 63: refused ENOSYS"
traced socket 16 3 0
says "a netlink socket" "socket (no rule); grant: allow netlink route"
traced exec /bin/true
says "a second program" \
	'execve /bin/true (no rule); childProcess false starts one program only: run that, or '\
'childProcess { max-processes 0; execute "/bin/true" }'
traced exec "$(printf '%s/\033[2Jx' "$work")"
expect "its name made printable" "$(grep -c 'execve .*/?\[2Jx (no rule)' "$work/err")" = 1
compile chain "$work/chain.bpf" <<END
profile chain { childProcess { max-processes 0; execute "/bin/sh" } }
END
chmod 644 "$work/chain.bpf"
chained() { run timeout 60 "$bin/caverun" --trace "$work/chain.bpf" -- /bin/sh -c "exec $1 -c 'echo done'"; }
chained /bin/ls
says "what may not replace the tool" 'execute /bin/ls (no rule); try childProcess { execute "/bin/ls" }'
chained /bin/sh
expect "what may is no news" "$(cat "$work/out") $(grep -c 'refused by' "$work/err")" = "done 0"
traced call 79 , call 79 , call 79
expect "each sentence once" "$(grep -c getcwd "$work/err")" = 1
traced read /etc/hosts , create ./new , read ./new , thread , read /nonexistent , read /proc/self/maps , clone3 0
expect "what is granted, or absent, or does not exist here, is no news" -z "$(grep 'refused by' "$work/err")"
traced read "$(printf '%s/\033[2Jx' "$work")"
printf 'x' >"$(printf '%s/\033[2Jx' "$work")"
traced read "$(printf '%s/\033[2Jx' "$work")"
expect "names are made printable" "$(grep -c 'read .*/?\[2Jx (no rule)' "$work/err")" = 1
run "$bin/caverun" --trace --status-fd 3 "$work/p.bpf" -- "$bin/cave-probe" fork , fork , read "$work/secret" 3>"$work/record"
expect "they are counted" -n "$(grep -F '"refusals":{"syscalls":2,"files":1}' "$work/record")"
run "$bin/caverun" --status-fd 3 "$work/p.bpf" -- /bin/true 3>"$work/record"
expect "without it nothing is" -n "$(grep -F '"refusals":null' "$work/record")"

# The same answers, whoever asks.
cat >"$work/caverun-traced" <<END
#!/bin/sh
exec "$bin/caverun" --trace "\$@"
END
chmod 755 "$work/caverun-traced"
same() {
	kind=$1
	shift
	set -- "$@" "$bin/cave-check" conformance
	"$@" "$bin/caverun" 2>/dev/null >"$work/plain"
	plain=$?
	"$@" "$work/caverun-traced" 2>/dev/null >"$work/traced"
	expect "$kind: the battery is passed under it as well" "$plain $?" = "0 0"
	for f in plain traced; do sed 's/cave-check-[A-Za-z0-9]*//' "$work/$f" >"$work/$f.same"; done
	expect "$kind: with the same answers" "$(wc -l <"$work/traced") $(cmp "$work/plain.same" "$work/traced.same" 2>&1)" = \
		"$(wc -l <"$work/plain") "
}
same root env
same user as_nobody
same bare bare

# Starts that do not come to run, and programs that work.
expect_status "a program that is not there" 127 timeout 20 "$bin/caverun" --trace "$work/p.bpf" -- "$bin/nothing"
expect_status "a file that is no program" 126 timeout 20 "$bin/caverun" --trace "$work/p.bpf" -- "$work/p.cave"
run timeout 20 "$bin/caverun" --trace "$work/none.bpf" -- /bin/true
expect "a tool that may do next to nothing comes to its end" "$status" -gt 124
expect "not by the clock" "$status" != 137
expect_output "node" whole \
	timeout 60 "$bin/caverun" --trace "$work/tools.bpf" -- node -e 'setTimeout(() => console.log("whole"), 50)'
expect_output "python with threads" '[0, 1, 4]' \
	timeout 60 "$bin/caverun" --trace "$work/tools.bpf" -- /usr/bin/python3 -c \
	'from concurrent.futures import ThreadPoolExecutor as T; print(list(T(3).map(lambda x: x * x, range(3))))'
expect_status "another user" 0 timeout 20 "$bin/caverun" --trace --user nobody "$work/p.bpf" -- "$bin/cave-probe" thread

# With processes of its own the filter's one listener counts them.
for n in 0 2; do
	compile "family$n" "$work/family$n.bpf" <<END
profile family { childProcess { max-processes $n; execute "/bin/sh", "/bin/true" } }
END
done
expect_code "a tool that may have processes is refused" 125 "trace it with childProcess false" \
	timeout 20 "$bin/caverun" --trace "$work/family2.bpf" -- /bin/sh -c 'exec true'
expect_status "control: not without --trace" 0 timeout 20 "$bin/caverun" "$work/family2.bpf" -- /bin/sh -c 'exec true'
expect_status "one that may be replaced only is traced" 0 \
	timeout 20 "$bin/caverun" --trace "$work/family0.bpf" -- /bin/sh -c 'exec true'
run timeout 20 "$bin/caverun" --trace "$work/family0.bpf" -- /bin/sh -c 'cat; true'
expect "and that it starts no other is said" -n "$(grep 'refused by policy: vfork' "$work/err")"

# Nothing of it outlives the one who answers.
"$bin/caverun" --trace "$work/p.bpf" -- "$bin/cave-probe" wait 600000 >"$work/out" 2>&1 &
pid=$!
until child=$(pgrep -P $pid) && [ "$(cat "/proc/$child/comm" 2>/dev/null)" = cave-probe ]; do sleep 0.05; done
kill -9 $pid
wait $pid 2>/dev/null
n=0
while [ -d "/proc/$child" ] && [ $n -lt 100 ]; do sleep 0.05; n=$((n + 1)); done
expect "the tool ends with the runtime" ! -d "/proc/$child"
