#!/bin/sh
# SPDX-License-Identifier: MIT
# What people wanted of policies that they wrote for other tools, as profiles; and what a review has to say of each.
. "$(dirname "$0")/../lib.sh"

# ids FILE: the numbers of the findings.
ids() { "$cavec" lint --format gcc "$1" 2>>"$work/err" | sed 's/.*\[CAVE\([0-9]*\)\]$/\1/' | sort -u | tr '\n' ' '; }

# found NAME NUMBERS: $work/NAME.cave compiles, expectations and proof included, and has these findings.
found() {
	: >"$work/err"
	if "$cavec" "$work/$1.cave" -o "$work/$1.bpf" 2>>"$work/err"; then expect "$1: findings" "$(ids "$work/$1.cave")" = "$2"
	else not_ok "$1 compiles" "$(cat "$work/err")"; fi
}

# refused NAME CODE: it does not compile.
refused() { expect_code "$1 is refused" 1 "$2" "$cavec" "$work/$1.cave" -o "$work/$1.bpf"; }

# --- an ordinary container: new namespaces, mounts and modules are not in it
cp "$top/examples/container-default.cave" "$work/container.cave"
found container '170 172 '
expect 'container: what is powerful in it, and no more' \
	"$("$cavec" lint --format gcc "$work/container.cave" | grep -c 'CAVE170')" = 3

# --- the same, and a nested sandbox starts in it: the difference is what was added
sed '/^filter/s/container-default/nested/; s/^[[:space:]]*deny clone3.*/&\
	allow clone, unshare, mount, umount2, pivot_root/; s/^[[:space:]]*allow socket(.*/	allow socket/; /^expect/,$d' \
	"$work/container.cave" >"$work/nested.cave"
found nested '170 172 '
for call in unshare mount umount2 pivot_root ptrace; do
	expect "nested: $call is found" -n "$("$cavec" lint --format gcc "$work/nested.cave" | grep "$call is powerful")"
done
expect 'nested: so are sockets of the ciphers' -n "$("$cavec" lint --format gcc "$work/nested.cave" | grep 'AF_ALG.*CAVE172')"
run "$cavec" diff --format json "$work/container.cave" "$work/nested.cave"
expect 'nested: more is granted' "$status" = 1
expect 'nested: and that is' "$("$python" -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(*sorted(e["call"] for e in d["granted"]), len(d["refused"]))' "$work/out")" = \
	'clone mount pivot_root socket umount2 unshare 0'

# --- git with the keys of ssh, to any host
printf 'profile git { network true; files { read home/.ssh } }\n' >"$work/git-any.cave"
refused git-any cave_sandbox_network_egress_unbounded
cat >"$work/git.cave" <<'END'
profile git {
    network { allow tcp <github> port { 22, 443 } }
    files { read home/.ssh, home/.gitconfig; write workspace }
    use <git>, <ssh>
}
END
found git '119 150 152 '

# --- curl, as tight as can be: the same line three times, and two that contradict each other
cat >"$work/curl.cave" <<'END'
profile curl {
    network {
        allow tcp 192.0.2.80 port 443
        allow udp { 9.9.9.9, 149.112.112.112 } port 53  # fixed resolvers
        allow tcp 192.0.2.80 port 443
        deny 192.0.2.81
        allow tcp 192.0.2.81 port 443
        allow tcp 192.0.2.80 port 443
    }
}
END
found curl '101 102 114 115 '
cp "$work/curl.cave" "$work/curl-fixed.cave"
"$cavec" lint --fix "$work/curl-fixed.cave" >/dev/null 2>&1
expect 'curl: what is said twice is said once' "$(grep -c 192.0.2 "$work/curl-fixed.cave")" = 1
expect_output 'curl: and means what it did' 'equal reach' "$cavec" diff "$work/curl.cave" "$work/curl-fixed.cave"

# --- a daemon without addresses, that sets the name of the host
cat >"$work/hostnamed.cave" <<'END'
profile hostnamed {
    files { write "/etc" }
    syscalls { allow sethostname }
    expect { deny connect tcp 127.0.0.1 port 80; allow syscall sethostname; allow write "/etc/hostname" }
}
END
found hostnamed '150 152 170 '

# --- an assistant: no host at all, a port of its own, files of the project
cat >"$work/assistant.cave" <<'END'
profile assistant {
    network { listen tcp 127.0.0.1 port 8080 }
    files { write workspace, tmp }
    expect { deny connect udp 127.0.0.1 port 53; deny connect tcp 127.0.0.1 port 8080; deny lookup example.org }
}
END
found assistant '150 '

# --- an organisation's maximum, and projects that are inside of it or not
cat >"$work/maximum.cave" <<'END'
profile maximum {
    network { allow tcp { *.corp.example, api.anthropic.com } port 443; allow tcp 10.0.0.0/16 port { 443, 5432 } }
    credentialEnv ANTHROPIC_API_KEY
    env { pass TERM; pass NO_COLOR }
    files { write workspace, tmp; read "/srv/shared" }
    limits { time 30min; memory 2GiB }
}
END
cat >"$work/inside.cave" <<'END'
profile inside {
    network { allow tcp { build.corp.example, api.anthropic.com } port 443; allow tcp 10.0.3.0/24 port 5432 }
    credentialEnv ANTHROPIC_API_KEY
    files { write workspace; read "/srv/shared/a" }
    limits { time 5min; memory 1GiB }
}
END
expect_status 'a project inside of the maximum' 0 "$cavec" diff --within "$work/maximum.cave" "$work/inside.cave"
# outside NAME FROM TO EXAMPLE
outside() {
	sed "s,$2,$3," "$work/inside.cave" >"$work/outside.cave"
	run "$cavec" diff --within "$work/maximum.cave" "$work/outside.cave"
	expect "outside of it: $1" "$status $(grep -F -- "$4" "$work/out" | sed 's/.*/shown/' | sort -u)" = '1 shown'
}
outside 'a host' build.corp.example build.corp2.example 'connect tcp build.corp2.example port 443'
outside 'a port' 'port 5432' 'port 5433' 'connect tcp 10.0.3.0 port 5433'
outside 'a range' 10.0.3.0/24 10.1.3.0/24 'connect tcp 10.1.3.0 port 5432'
outside 'a file' /srv/shared/a /srv/other '/srv/other'
outside 'a limit' 'memory 1GiB' 'memory none' 'memory none'
outside 'a credential' ANTHROPIC_API_KEY OPENAI_API_KEY 'env OPENAI_API_KEY'
outside 'a variable' 'limits {' 'env { pass KUBECONFIG }; limits {' 'pass KUBECONFIG'
outside 'a call' 'limits {' 'syscalls { allow personality }; limits {' 'personality'
outside 'an endpoint' 'network {' 'network { listen tcp 127.0.0.1 port 80;' 'listen tcp 127.0.0.1 port 80'
outside 'programs' 'limits {' 'childProcess { max-processes 2; execute "/bin/sh" }; limits {' 'max-processes 2'

# --- a development container: five services, the forge, name servers, ssh to anywhere
printf 'profile dev { network { allow udp any port 53 } }\n' >"$work/dev-names.cave"
refused dev-names cave_sandbox_network_egress_unbounded
printf 'profile dev { network { allow tcp 0.0.0.0/0 port 22 } }\n' >"$work/dev-ssh.cave"
refused dev-ssh cave_sandbox_network_egress_unbounded
cat >"$work/dev.cave" <<'END'
profile dev {
    network {
        allow tcp { api.anthropic.com, sentry.example.com } port 443
        allow tcp { <npm-registry>, <github> } port 443
        allow tcp 140.82.112.0/20 port 22  # the forge, as it publishes
        allow { tcp, udp } 192.168.7.0/24 port any  # the host's network
    }
    expect {
        deny  connect tcp example.com port 443
        allow connect tcp api.github.com port 443
    }
}
END
found dev '110 111 114 115 119 '
run "$cavec" explain "$work/dev.cave" connect tcp 2001:db8::1 port 22
expect 'dev: the other family is refused' "$status" = 1

# --- reading of a forge alone, and a second line that gives writing back
cat >"$work/forge.cave" <<'END'
profile forge {
    network {
        allow tcp api.forge.example port 443
        allow tcp forge.example port 443  # to clone
    }
    expect { allow lookup api.forge.example; deny connect tcp forge.example port 443 }
}
END
refused forge cave_profile_expectation_failed
expect 'forge: the expectation that does not hold is shown' -n "$(grep 'forge.cave:6:' "$work/err")"
sed '/to clone/d' "$work/forge.cave" >"$work/forge-read.cave"
found forge-read ''

# --- groups by purpose: one host is in two of them
cat >"$work/groups.cave" <<'END'
profile groups {
    network {
        allow tcp { api.model.example, registry.example } port 443  # the model
        allow tcp { forge.example, *.forge.example } port 443  # to clone
        allow tcp api.forge.example port 443  # the assistant
    }
}
END
found groups '102 '

# --- one name, and the cluster's name server
printf 'profile pod { network { allow tcp api.twitter.com port any; allow udp 10.96.0.10 port 53 } }\n' >"$work/pod.cave"
found pod '111 114 '
printf 'profile pod { network { allow tcp api.twitter.com port 443; allow resolver } }\n' >"$work/pod-any.cave"
refused pod-any cave_profile_contradiction

# --- a service that hears of events: variables by name, four programs, one folder to write to
cat >"$work/events.cave" <<'END'
profile events {
    network {
        listen tcp 0.0.0.0 port 9000
        allow tcp { forge.example, api.forge.example } port 443
    }
    env { pass FORGE_URL; pass LD_LIBRARY_PATH }
    files { read "./"; write folder state }
    childProcess { max-processes 8; execute "/usr/bin/git", "/usr/bin/ssh", "/usr/bin/gpg", "/usr/bin/deno" }
}
END
found events '130 140 '
run "$cavec" explain "$work/events.cave" env LD_LIBRARY_PATH
expect 'events: a line says who passes the variable' -n "$(grep 'events.cave:6: ' "$work/out")"
