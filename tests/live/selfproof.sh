#!/bin/sh
# SPDX-License-Identifier: MIT
# --doctor and --conformance: what they find on this host, and on hosts and runtimes that lack something.
. "$(dirname "$0")/../lib.sh"
need_root

nobody=65534
bin=$work/bin
mkdir "$bin" "$work/home"
chmod 777 "$work/home"
cp "$caverun" "$build/cave-load" "$build/cave-report" "$build/cave-resolve" "$build/cave-resolve.bpf" "$probe" \
	"$build/cave-check" "$build"/conformance*.bpf "$build/tests/tools/nouserns" "$bin"
chmod -R go+rX "$bin"
HOME=$work/home
export HOME

compile net "$work/net.bpf" <<'END'
profile net { network { allow tcp 127.0.0.1 port 47801 } }
END
compile mounts "$work/mounts.bpf" <<'END'
profile mounts { syscalls { allow chmod } }
END
compile wide "$work/wide.bpf" <<'END'
profile wide {
    network { allow { tcp, udp } localhost port any; listen tcp 127.0.0.1 port any; allow netlink route }
    files { write workspace }
    credentialEnv OPENAI_API_KEY
}
END
compile names "$work/names.bpf" <<'END'
profile names { network { allow tcp "api.example.com" port 443 } }
END
compile children "$work/children.bpf" <<'END'
profile children { childProcess { max-processes 4; execute "/bin/sh" } }
END
compile covers "$work/covers.bpf" <<'END'
profile covers { files { shm } }
END
chmod 644 "$work"/*.bpf

as_nobody() { setpriv --reuid=$nobody --regid=$nobody --clear-groups "$@"; }
bare() { "$bin/nouserns" $nobody "$@"; }

# json EXPRESSION: what a report in $work/out says; j is the report.
json() { "$python" -c "import json; j = json.load(open('$work/out')); print($1)"; }
mechanism() { json "[(m['works'], m['needed']) for m in j['mechanisms'] if m['name'] == '$1'][0]"; }
field() { json "j['$1']"; }

# --- doctor
expect_status "doctor: this host has what every policy needs" 0 "$bin/caverun" --doctor
expect "doctor: a line for each mechanism" "$(grep -c '^ok ' "$work/out")" -gt 20
run "$bin/caverun" --doctor "$work/net.bpf" --format json
expect "doctor: and what network grants need" "$status $(field ready) $(mechanism egress_connect6)" = "0 True (True, True)"
run "$bin/caverun" --doctor --format json
expect "doctor: which other policies do not need" "$(mechanism egress_connect6)" = "(True, False)"
expect_status "doctor: an ordinary user has what every policy needs" 0 as_nobody "$bin/caverun" --doctor
expect_code "doctor: and cannot bound a network" 125 cave_sandbox_os_network_isolation_unavailable \
	as_nobody "$bin/caverun" --doctor "$work/net.bpf"
expect "doctor: what could not be tried for want of another is no fault of its own" \
	-n "$(grep -A 2 '^MISSING  cgroup_record.*not tried' "$work/out" | grep 'remedy: that of cgroup_v2')"
expect "doctor: it names what is missing, and the remedy" \
	-n "$(grep -A 2 '^MISSING  cgroup_v2' "$work/out" | grep 'remedy: .*delegate')"
expect_status "doctor: without user namespaces there are no mount namespaces" 0 bare "$bin/caverun" --doctor --format json
expect "doctor: which is said" "$(mechanism user_namespace) $(mechanism read_only_mounts)" = "(False, False) (False, False)"
expect "doctor: with the setting that is in the way" \
	-n "$(json "[m['remedy'] for m in j['mechanisms'] if m['name'] == 'user_namespace'][0]")"
expect_status "doctor: a policy that needs them" 125 bare "$bin/caverun" --doctor "$work/mounts.bpf"
expect "doctor: is the one that they are missing for" -n "$(grep '^MISSING  read_only_mounts' "$work/out")"
expect_code "doctor: no control groups" 125 cave_sandbox_os_network_isolation_unavailable \
	unshare -m sh -c 'for at in $(awk "/ - cgroup2 /{print \$5}" /proc/self/mountinfo); do umount -l $at; done; exec "$@"' \
	sh "$bin/caverun" --doctor "$work/net.bpf"
needed() { json "[m['name'] for m in j['mechanisms'] if m['needed'] and m['name'] in '$1'.split()]"; }
run "$bin/caverun" --doctor "$work/names.bpf" --format json
expect "doctor: what host names need" "$status $(needed 'names_recvmsg4 cave_load cave_resolve private_proc')" = \
	"0 ['names_recvmsg4', 'cave_load', 'cave_resolve']"
run "$bin/caverun" --doctor "$work/children.bpf" --format json
expect "doctor: what other processes need" "$status $(needed 'pid_namespace private_proc private_files cave_load')" = \
	"0 ['pid_namespace', 'private_proc']"
run "$bin/caverun" --doctor "$work/covers.bpf" --format json
expect "doctor: what private files need" "$status $(needed 'private_proc private_files cave_load')" = "0 ['private_files']"
run unshare -m sh -c 'mount -t tmpfs none /proc/fs; exec "$@"' sh setpriv --reuid=$nobody --regid=$nobody --clear-groups \
	"$bin/caverun" --doctor "$work/children.bpf"
expect "doctor: a /proc that something is mounted in gives no other one" \
	"$status $(grep -A 2 '^MISSING  private_proc' "$work/out" | grep -c 'remedy: .*procMount')" = "125 1"
mv "$bin/cave-load" "$bin/cave-load.away"
expect_code "doctor: a helper that is not there" 125 cave_sandbox_os_network_isolation_unavailable \
	"$bin/caverun" --doctor "$work/net.bpf"
expect "doctor: is the one" -n "$(grep '^MISSING  cave_load' "$work/out")"
mv "$bin/cave-load.away" "$bin/cave-load"
expect_code "doctor: a damaged policy" 125 cave_sandbox_policy_invalid "$bin/caverun" --doctor "$work/net.cave"
expect_code "doctor: no program is started" 125 cave_sandbox_failed "$bin/caverun" --doctor "$work/net.bpf" -- /bin/true
expect "doctor: leaves nothing behind" -z "$(ls -A "$work/home"; ls -d /tmp/.cave-check-* 2>/dev/null)"
group=$(awk '/ - cgroup2 /{print $5; exit}' /proc/self/mountinfo)$(sed -n 's/^0:://p' /proc/self/cgroup)
expect "doctor: nor control groups" -z "$(find "$group" -maxdepth 1 -name 'cave-[0-9a-f]*' -empty -mmin +1)"

# --- conformance
seed='home_read_denied child_process_denied network_denied dns_denied udp_denied'
conforms() {
	name=$1
	shift
	expect_status "conformance: $name" 0 "$@" "$bin/caverun" --conformance
	for f in $seed; do expect "conformance: $name: $f" "$(field "$f")" = True; done
	expect "conformance: $name: nothing else failed" "$(json "[k for k in j if j[k] is False]")" = '[]'
}
conforms root env
expect "conformance: what reading at home is refused with" "$(field home_read_code)" = EACCES
expect "conformance: its own policy and control group, and threads" \
	"$(field own_policy_write_denied) $(field own_group_write_denied) $(field threads_allowed)" = "True True True"
expect "conformance: IPv6" "$(json "{a['verdict'] for a in j['attempts'] if '::1' in a['attempt']}")" = "{'pass'}"
expect "conformance: also beneath the programs of a network" \
	"$(field egress_network_denied) $(field egress_udp_denied)" = "True True"
conforms "an ordinary user" as_nobody
conforms "without user namespaces" bare
expect_status "conformance: a policy with a network" 0 "$bin/caverun" --conformance "$work/net.bpf"
expect "conformance: what it does not grant is refused" "$(field network_denied) $(field udp_denied)" = "True True"
expect_status "conformance: a policy that grants what is tried" 0 "$bin/caverun" --conformance "$work/wide.bpf"
expect "conformance: that is no failure, and no proof" "$(field network_denied) $(field netlink_denied)" = "None None"
expect "conformance: the rest is refused" "$(field home_read_denied) $(field unix_socket_denied)" = "True True"
expect_status "conformance: as text" 0 "$bin/caverun" --conformance --format text
expect "conformance: a line for each attempt" "$(grep -c '^pass ' "$work/out")" -gt 60
expect "conformance: leaves nothing behind" -z "$(ls -A "$work/home")"

# Each can fail: under a runtime that does nothing, one that takes another policy, and one that starts nothing.
weak() {
	cat >"$work/weak"
	chmod 755 "$work/weak"
	run "$bin/cave-check" conformance "$work/weak" --json
}
weak <<'END'
#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
END
expect "conformance: no sandbox at all is noticed" "$status $(grep -c cave_sandbox_conformance_failed "$work/err")" = "125 1"
expect "conformance: and nothing is said to be refused" "$(field home_read_code)" = None
expect "conformance: by every test of a refusal" "$(json "[k for k in j if j[k] is not False and k.endswith('_denied')]")" = '[]'
sed "s#WIDE#$work/wide.bpf#; s#CAVERUN#$bin/caverun#" >"$work/weak" <<'END'
#!/bin/sh
while [ "$1" != -- ]; do shift; done
exec CAVERUN --chdir / WIDE "$@"
END
run env OPENAI_API_KEY=x "$bin/cave-check" conformance "$work/weak" --json "$work/net.bpf"
expect "conformance: another network is noticed" "$status $(field network_denied) $(field udp_denied)" = "125 False False"
expect "conformance: and nothing else" "$(field home_read_denied) $(field child_process_denied)" = "True True"
weak <<'END'
#!/bin/sh
exit 3
END
expect "conformance: a probe that is not started proves nothing" \
	"$status $(grep -c cave_sandbox_conformance_failed "$work/err")" = "125 1"
expect_code "conformance: a policy that cannot be started" 125 cave_sandbox_conformance_failed \
	as_nobody "$bin/caverun" --conformance "$work/net.bpf"
printf 'trust listed\n' >"$work/operator.conf"
expect_code "conformance: under the operator's rules" 125 cave_sandbox_policy_untrusted \
	"$bin/caverun" --conformance --config "$work/operator.conf"
