#!/bin/sh
# SPDX-License-Identifier: MIT
# What cavec refuses: each profile with the places and codes of all its errors, as "line:column:code …".
# Every refusal exits 1 and leaves an existing output as it was.
. "$(dirname "$0")/../lib.sh"

# The errors on standard error, sorted, on one line, codes without their common beginnings.
errors() {
	sed -n 's/^[^:]*:\([0-9]*:[0-9]*\): error: .*\[\(cave_[a-z_]*\)\]$/\1:\2/p' "$work/err" | sort -V |
		tr '\n' ' ' | sed 's/ $//'
}

# judge NAME EXPECTED FILE
judge() {
	echo kept >"$work/x.bpf"
	run "$cavec" "$3" -o "$work/x.bpf"
	if [ "$status" != 1 ]; then
		not_ok "$1" "exit status $status; $(cat "$work/err")"
	elif [ "$(errors)" != "$2" ]; then
		not_ok "$1" "reported '$(errors)', expected '$2'"
	elif [ "$(cat "$work/x.bpf")" != kept ]; then
		not_ok "$1" "the existing output was changed"
	else
		ok "$1"
	fi
}

# refused NAME EXPECTED <profile
refused() {
	cat >"$work/p.cave"
	judge "$1" "$2" "$work/p.cave"
}

# in_network EXPECTED RULE: the rule as line 2 of a profile, from column 3.
in_network() {
	printf 'profile p { network {\n  %s\n} }\n' "$2" >"$work/p.cave"
	judge "network: $2" "$1" "$work/p.cave"
}

# among EXPECTED RULE: the same, but other errors may stand beside the expected one.
among() {
	printf 'profile p { network {\n  %s\n} }\n' "$2" >"$work/p.cave"
	echo kept >"$work/x.bpf"
	run "$cavec" "$work/p.cave" -o "$work/x.bpf"
	case " $(errors) " in
	*" $1 "*) expect "network: $2" "$status $(cat "$work/x.bpf")" = '1 kept' ;;
	*) not_ok "network: $2" "reported '$(errors)', expected '$1' among them" ;;
	esac
}

# in_profile EXPECTED STATEMENT: the statement as line 2, from column 3.
in_profile() {
	printf 'profile p {\n  %s\n}\n' "$2" >"$work/p.cave"
	judge "profile: $2" "$1" "$work/p.cave"
}

# accepted NAME <profile
accepted() {
	cat >"$work/p.cave"
	expect_status "accepted: $1" 0 "$cavec" "$work/p.cave" -o "$work/x.bpf"
}

children=cave_sandbox_child_process_containment_unavailable
unbounded=cave_sandbox_network_egress_unbounded
unlisted=cave_sandbox_credential_env_not_allowlisted
ambiguous=cave_sandbox_credential_capability_ambiguous
root=cave_sandbox_source_read_root_refused
escapes=cave_sandbox_source_read_grant_escapes_staging
syntax=cave_profile_syntax
unknown=cave_profile_unknown_name
value=cave_profile_value
contradiction=cave_profile_contradiction
metadata=cave_profile_metadata_address
later=cave_profile_unsupported
failed=cave_profile_expectation_failed

# --- the seed system's refusals
in_profile "2:16:$children" 'childProcess true'
in_profile "2:11:$unbounded" 'network true'
in_profile "2:17:$unlisted" 'credentialEnv FOO_API_KEY'
in_profile "2:17:$unlisted" 'credentialEnv AWS_SECRET_ACCESS_KEY'
in_profile "2:36:$unlisted" 'credentialEnv ANTHROPIC_API_KEY, STRIPE_KEY'
in_profile "2:36:$ambiguous" 'credentialEnv ANTHROPIC_API_KEY, OPENAI_API_KEY'
in_profile "2:14:$unlisted" 'env { pass GITHUB_TOKEN }'
in_profile "2:14:$unlisted" 'env { pass LD_PRELOAD }'
in_profile "2:14:$unlisted" 'env { pass NODE_OPTIONS }'
in_profile "2:14:$unlisted" 'env { pass CAVE_HOME }'
in_profile "2:14:$unlisted" 'env { pass DB_PASSWORD }'
in_profile "2:11:cave_host_sandbox_lock_ineligible" 'sandbox host'
in_profile "2:16:$root" 'files { read "/" }'
in_profile "2:16:$root" 'files { read / }'
in_profile "2:17:$root" 'files { write "/usr/.." }'
in_profile "2:16:$escapes" 'files { read "../secret" }'
in_profile "2:16:$escapes" 'files { read a/../../b }'
in_profile "2:17:$escapes" 'files { write workspace/../x }'
refused "a nested host profile under a required one" \
	"3:30:cave_host_sandbox_nested_under_required" <<'END'
profile p {
  sandbox required
  profile inner { sandbox    host }
}
END

# --- grammar and names
in_profile "2:3:$unknown" 'networks { }'
in_profile "2:3:$unknown" 'filez { read "/etc" }'
in_profile "2:11:$unknown" 'files { reed "/etc/hosts" }'
in_profile "2:19:$unknown" 'syscalls { deny ptrac }'
in_profile "2:19:$unknown" 'syscalls { deny @keyrings }'
in_profile "2:16:$value" 'childProcess maybe'
in_profile "2:11:$value" 'network maybe'
refused "an unclosed brace" "2:1:$syntax" <<'END'
profile p {
END
refused "an empty file" "1:1:$syntax" </dev/null
refused "two faults, two reports" "2:16:$children 3:11:$unbounded" <<'END'
profile p {
  childProcess true
  network true
}
END
refused "faults in every block, all reported" \
	"2:11:$syntax 4:15:$value 7:9:$unknown 9:19:$unknown" <<'END'
profile p {
  sandbox = required
  network {
    allow tcp 10.1.2.3/8 port 443
  }
  files {
        reed "/etc/hosts"
  }
  syscalls { deny ptrac }
}
END
# A NUL byte ends nothing silently.
printf 'profile p { childProcess false\n# \0 \n  network true\n}\n' >"$work/p.cave"
run "$cavec" "$work/p.cave" -o "$work/x.bpf"
expect "a NUL byte is refused" "$status" = 1

# --- C03: an empty list is no grant, and never everything
accepted "an empty profile" <<'END'
profile p { }
END
accepted "an empty network block" <<'END'
profile p { network { } }
END

# --- C07 to C10: addresses and ports
in_network "2:13:$value" 'allow tcp 010.0.0.0/8 port 443'
in_network "2:13:$value" 'allow tcp 10.0.0.0/08 port 443'
in_network "2:13:$value" 'allow tcp 10.1.2.3/8 port 443'
in_network "2:13:$value" 'allow tcp 8/8 port 443'
in_network "2:13:$value" 'allow tcp 127 port 443'
in_network "2:13:$value" 'allow tcp 2130706433 port 443'
in_network "2:13:$value" 'allow tcp 0x7f.1 port 443'
in_network "2:13:$value" 'allow tcp 127.1 port 443'
in_network "2:13:$value" 'allow tcp fe80::1%eth0 port 443'
in_network "2:13:$value" 'allow tcp 10.0.0.0/33 port 443'
in_network "2:13:$value" 'allow tcp 2001:db8::/129 port 443'
in_network "2:13:$value" 'allow tcp 2001:db8::1/64 port 443'
in_network "2:13:$value" 'allow tcp 10.0.0.256 port 443'
in_network "2:13:$value" 'allow tcp [2001:db8::1]:443 port 443'
in_network "2:13:$value" 'allow tcp 10.0.0.1:443 port 443'
in_network "2:3:$unbounded 2:13:$value" 'allow tcp 224.0.0.0/4 port 443'
in_network "2:3:$unbounded 2:13:$value" 'allow tcp ff00::/8 port 443'
in_network "2:13:$metadata 2:13:$value" 'allow tcp fe80::/10 port 443'
in_network "2:27:$value" 'allow tcp 10.0.0.1 port 0'
in_network "2:27:$value" 'allow tcp 10.0.0.1 port 65536'
in_network "2:27:$value" 'allow tcp 10.0.0.1 port 443-80'
in_network "2:27:$value" 'allow tcp 10.0.0.1 port 080'
in_network "2:27:$value" 'allow tcp 10.0.0.1 port https'
in_network "2:3:$syntax" 'allow tcp 10.0.0.1'
in_network "2:9:$syntax" 'allow 10.0.0.1 port 443'
in_network "2:9:$unknown" 'allow sctp 10.0.0.1 port 443'
in_network "2:13:$metadata" 'allow tcp 100.100.100.0/24 port 80'
in_network "2:13:$metadata" 'allow tcp fd00:ec2::/32 port 80'
accepted "a metadata address named alone" <<'END'
profile p { network { allow tcp 169.254.169.254 port 80 } }
END
accepted "a mapped address" <<'END'
profile p { network { allow tcp ::ffff:192.0.2.1 port 80 } }
END

# --- C13 to C15: the whole world in pieces
in_network "2:13:$unbounded" 'allow tcp any port 443'
in_network "2:13:$unbounded" 'allow tcp 0.0.0.0/0 port 443'
in_network "2:13:$unbounded" 'allow tcp ::/0 port 443'
in_network "2:13:$unbounded" 'allow tcp 0.0.0.0/0 except 192.0.2.0/24 port 443'
among "2:3:$unbounded" 'allow udp { 0.0.0.0/1, 128.0.0.0/1 } port 443'
among "2:3:$unbounded" 'allow tcp 64:ff9b::/96 port 443'
among "2:3:$unbounded" 'allow tcp 2002::/16 port 443'
among "2:3:$unbounded" 'allow tcp 2000::/3 port 443'
in_network "2:13:$unbounded" 'allow tcp * port 443'
{
	echo 'profile p { network {'
	for a in $(seq 1 223); do
		case $a in 10 | 127 | 100 | 169 | 172 | 192) ;; *) echo "allow tcp $a.0.0.0/8 port 443" ;; esac
	done
	echo '} }'
} >"$work/p.cave"
run "$cavec" "$work/p.cave" -o "$work/x.bpf"
expect "the world in pieces of /8: status" "$status" = 1
expect "the world in pieces of /8: code" -n "$(grep -F "$unbounded" "$work/err")"
in_network "2:13:$value" 'allow tcp 64:ff9b:1::/48 port 443'
in_network "2:13:$value" 'allow tcp ::ffff:0:0:0/96 port 443'
in_network "2:13:$value" 'allow tcp ::ffff:0:169.254.169.254 port 80'
accepted "a private /8, however large" <<'END'
profile p { network { allow tcp 10.0.0.0/8 port 443 } }
END
accepted "a public /12: 2^20 addresses" <<'END'
profile p { network { allow tcp 20.0.0.0/12 port 443 } }
END
among "2:3:$unbounded" 'allow tcp { 20.0.0.0/12, 8.8.8.8 } port 443'

# --- a rule that is left out is one error, and no false ones
refused "a faulty denial" "3:8:$value" <<'END'
profile p { network {
  allow tcp 100.64.0.0/10 port 443
  deny 100.100.100.200/33
} }
END
refused "a misspelt denial" "3:3:$unknown" <<'END'
profile p { network {
  allow tcp 100.64.0.0/10 port 443
  denny 100.100.100.200
} }
END
refused "a faulty grant that names an address alone" "3:41:$value" <<'END'
profile p { network {
  allow tcp 100.64.0.0/10 port 443
  allow tcp 100.100.100.200 port { 443, 0 }
} }
END

# --- what would undo a promise
in_profile "2:20:$contradiction" 'syscalls { allow io_uring_setup }'
in_profile "2:20:$contradiction" 'syscalls { allow unshare }'
in_profile "2:20:$contradiction" 'syscalls { allow fork }'
in_profile "2:20:$contradiction" 'syscalls { allow ptrace }'
refused "fork beside childProcess false" "3:20:$contradiction" <<'END'
profile p {
  childProcess false
  syscalls { allow vfork }
}
END
# a condition may add what does not undo the promise
in_profile "2:20:$contradiction" 'syscalls { allow clone(flags & 0x7e020000 == 0) }'
in_profile "2:20:$contradiction" 'syscalls { allow ioctl(request == TIOCSTI) }'
in_profile "2:20:$contradiction" 'syscalls { allow socket(domain == AF_UNIX) }'
in_profile "2:20:$contradiction" 'syscalls { allow fcntl(cmd != F_GETFD) }'
in_profile "2:27:$contradiction" 'syscalls { allow @file, @service }'
refused "an allow that is too wide beside one that is not" "3:40:$contradiction" <<'END'
profile p {
  syscalls { deny read
    allow prctl(option == PR_SET_TSC), prctl(option == PR_SET_DUMPABLE)
  }
}
END
accepted "conditions within the promises" <<'END'
profile p {
    network { allow tcp 10.0.0.1 port 443 }
    syscalls {
        allow personality(persona == 0), acct logged
        allow ioctl(request in { 1000-1063, TCGETS })
        allow clone(flags & CLONE_THREAD && flags & 0x7e020000 == 0)
        allow prctl(option == PR_SET_NAME || option == PR_SET_TSC), fcntl(cmd == F_SET_RW_HINT)
        allow socket(family == AF_INET && type == SOCK_STREAM && protocol == 0)
        deny clone3 with errno ENOSYS; deny ptrace with kill
        deny mmap(prot & (PROT_WRITE | PROT_EXEC) == PROT_WRITE | PROT_EXEC)
    }
}
END

# --- conditions
in_profile "2:26:$value" 'syscalls { deny openat(pathname == 0) }'
in_profile "2:25:$unknown" 'syscalls { deny lseek(wence == 0) }'
in_profile "2:35:$unknown" 'syscalls { deny lseek(whence == SEEK_STE) }'
in_profile "2:33:$unknown" 'syscalls { deny mmap(flags == MAP_32BIT) }'
in_profile "2:36:$value" 'syscalls { deny ioctl(request == 0x100000000) }'
in_profile "2:24:$value" 'syscalls { deny kill(pid == 1 && pid == 2) }'
in_profile "2:26:$value" 'syscalls { deny getpid(pid == 1) }'
in_profile "2:25:$value" 'syscalls { deny @time(clockid == 1) }'
in_profile "2:19:$unknown" 'syscalls { deny 7 }'

# --- ways to refuse
in_profile "2:24:$syntax" 'syscalls { deny acct logged }'
in_profile "2:25:$syntax" 'syscalls { allow acct with kill }'
in_profile "2:24:$unknown" 'syscalls { deny acct with errno EPER }'
in_profile "2:24:$unknown" 'syscalls { deny acct with guard metadata }'
in_profile "2:19:$later" 'syscalls { deny execve with kill }'
in_profile "2:40:$contradiction" 'syscalls { deny acct with kill; deny acct }'

# --- expectations
in_profile "2:12:$failed" 'expect { deny syscall read }'
in_profile "2:12:$failed" 'expect { allow syscall fork }'
in_profile "2:12:$failed" 'expect { allow syscall prctl }'
in_profile "2:12:$failed" 'expect { deny syscall prctl }'
in_profile "2:12:$failed" 'expect { allow syscall kill }'
in_profile "2:12:$failed" 'expect { deny syscall clone(flags & CLONE_VM) }'
in_profile "2:12:$failed" 'expect { deny syscall read(fd == 1 && fd == 2) }'
in_profile "2:12:$failed" 'expect { allow connect tcp 10.0.0.1 port 443 }'
in_profile "2:26:$unknown" 'expect { allow syscall reed }'
in_profile "2:12:$unknown" 'expect { allo syscall read }'
in_profile "2:12:$syntax" 'expect { allow syscall }'
in_profile "2:12:$syntax" 'expect { allow syscall read write }'
in_profile "2:12:$syntax" 'expect { deny connect tcp 10.0.0.1 }'
in_profile "2:29:$value" 'expect { deny connect tcp 10.0.0.0/8 port 443 }'
in_profile "2:32:$value" 'expect { deny syscall openat(path == 0) }'
refused "an expectation that a mapped address breaks" "4:5:$failed" <<'END'
profile p {
  network { allow udp 10.0.0.1 port 53 }
  expect { allow connect udp 10.0.0.1 port 53
    deny connect udp ::ffff:10.0.0.1 port 53
  }
}
END
accepted "expectations that hold" <<'END'
profile p {
    network { allow tcp 10.0.0.0/8 port 443; deny 10.0.0.9 }
    syscalls { deny mmap(prot & PROT_EXEC && prot & PROT_WRITE) with kill }
    expect {
        deny syscall fork; deny syscall execve; allow syscall read; deny syscall io_uring_setup
        deny syscall mmap(prot & 6 == 6); allow syscall mmap(prot & 6 != 6)
        allow syscall prctl(option == PR_SET_NAME); deny syscall prctl(option == PR_SET_PDEATHSIG)
        deny syscall socket(family == AF_UNIX); deny syscall clone(flags & CLONE_NEWUSER)
        allow connect tcp 10.0.0.1 port 443; deny connect tcp 10.0.0.9 port 443; deny connect udp 10.0.0.1 port 443
        deny connect tcp 1.1.1.1 port 443; deny connect tcp 2001:db8::1 port 443
    }
}
END

# --- bare filters
refused "a filter beside a profile" "2:8:$contradiction" <<'END'
profile p { }
filter f { allow read }
END
refused "a filter in a profile" "1:20:$syntax" <<'END'
profile p { filter f { allow read } }
END
refused "a filter and an include" "1:9:$syntax" <<'END'
include "a.cave"
filter f { allow read }
END
refused "two defaults" "1:33:$contradiction" <<'END'
filter f { default errno EPERM; default kill }
END
refused "what is unknown is not allowed" "1:12:$later" <<'END'
filter f { unknown allow }
END
refused "no answer" "1:12:$unknown" <<'END'
filter f { default errno EPER }
END
refused "no statement of a filter" "1:12:$unknown 1:23:$unknown" <<'END'
filter f { base none; network { } }
END
refused "an expectation of a filter" "2:10:$failed" <<'END'
filter f { allow read(fd > 2) }
expect { deny syscall read }
END
accepted "a filter" <<'END'
filter f { default errno EPERM; unknown errno ENOSYS; allow read; allow socket(family < 38), socket(family >= 41) }
expect { allow syscall read; deny syscall socket(family == AF_ALG); deny syscall fork }
END

refused "two values for one name" "3:13:$contradiction" <<'END'
profile p {
  env { set A "1" }
  env { set A "2" }
}
END

# --- listening
accepted "both protocols, and denials beside them" <<'END'
profile p { network { listen { tcp, udp } any port 8080; deny 10.0.0.1; deny tcp 10.0.0.0/8 port 22; allow resolver } }
END
in_network "2:10:$unknown" 'listen icmp 10.0.0.1 port 1'
in_network "2:14:$value" 'listen tcp 0.0.0.0/8 port 80'
in_network "2:14:$value" 'listen tcp 224.0.0.1 port 80'
in_network "2:14:$value" 'listen tcp ff02::1 port 80'
in_network "2:14:$value" 'listen tcp ::/96 port 80'
in_network "2:14:$value" 'listen tcp 10.0.0.1/8 port 80'
in_network "2:28:$value" 'listen tcp 10.0.0.1 port 0'
in_network "2:3:$syntax" 'listen tcp 10.0.0.1'
in_network "2:10:$syntax" 'listen 10.0.0.1 port 1'
in_network "2:23:$syntax" 'listen tcp 10.0.0.1 except 10.0.0.2 port 1'
in_network "2:10:$unknown" 'listen sctp 10.0.0.1 port 1'
refused "network false beside a listen" "2:11:$contradiction" <<'END'
profile p {
  network false; network { listen tcp 127.0.0.1 port 1 }
}
END

# --- the host's name servers
in_network "2:18:$syntax" 'allow resolver port 53'
in_network "2:18:$syntax" 'allow resolver 10.0.0.1'
refused "network false beside the resolver" "2:11:$contradiction" <<'END'
profile p {
  network false; network { allow resolver }
}
END
accepted "a denial of another port beside it" <<'END'
profile p { network { allow resolver; allow tcp 10.0.0.0/8 port 443; deny tcp 10.0.0.1 port 443 } }
END

# --- netlink
in_network "2:17:$unknown" 'allow netlink audit'
in_network "2:9:$unknown" 'allow netlink'
in_network "2:17:$unknown" 'deny  netlink port 1'
in_network "2:23:$syntax" 'allow netlink route port 443'
in_network "2:23:$syntax" 'allow netlink route 10.0.0.1'
refused "network false beside netlink" "2:11:$contradiction" <<'END'
profile p {
  network false; network { allow netlink route }
}
END

# --- limits and children
for value_of in 'time 5m' 'time 30' 'time 0s' 'time 1.5h' 'time 01s' 'time -1s' 'time 721h' 'time 99999999999999999999s' \
	'time 9223372036854775807h' 'time "30s"' 'time never' 'time 30S' 'time s' 'cpu-time 0ms' 'memory 512M' \
	'memory 512MB' 'memory 0B' 'memory 960KiB' 'memory 1048577B' 'memory 18446744073709551615TiB' 'memory 65TiB' \
	'tasks 0' 'tasks 4194305' 'tasks 5B' 'tasks +5' 'output 0KiB' 'output 1' 'output 1kB' 'open-files 7' \
	'open-files 1048577' 'file-size 1G' 'file-size 0x10B'; do
	name_of=${value_of%% *}
	in_profile "2:$((12 + ${#name_of} + 1)):$value" "limits { $value_of }"
done
for value_of in 'time 1ms' 'time 720h' 'time 90min' 'time none' 'cpu-time 500ms' 'memory 1MiB' 'memory 1088KiB' \
	'memory 2GiB' 'memory none' 'tasks 1' 'tasks 4194304' 'output 1B' 'output 64TiB' 'open-files 8' 'file-size 1B'; do
	accepted "limits { $value_of }" <<END
profile p {
  limits { $value_of }
}
END
done
in_profile "2:12:$unknown" 'limits { tiem 30s }'
in_profile "2:12:$unknown" 'limits { opne-files 30 }'
in_profile "2:22:$syntax" 'limits { tasks 30, 40 }'
in_profile "2:31:$contradiction" 'limits { time 60s;     time 2min }'
accepted "one value, spelled twice" <<'END'
profile p {
  limits { time 60s; time 1min }
  limits { time 60000ms }
}
END
in_profile "2:32:$value" 'childProcess { max-processes 4097; execute "/bin/sh" }'
in_profile "2:32:$value" 'childProcess { max-processes -1; execute "/bin/sh" }'
in_profile "2:32:$value" 'childProcess { max-processes any; execute "/bin/sh" }'
in_profile "2:35:$syntax" 'childProcess { max-processes 1, 2; execute "/bin/sh" }'
in_profile "2:3:$syntax" 'childProcess { execute "/bin/sh" }'
in_profile "2:3:$contradiction" 'childProcess { max-processes 1 }'
in_profile "2:18:$unknown" 'childProcess { max-proceses 1; max-processes 1; execute "/bin/sh" }'
in_profile "2:28:$root" 'childProcess { execute   "/"; max-processes 1 }'
refused "the host's /proc beside children" "3:16:$contradiction" <<'END'
profile p {
  childProcess { max-processes 1; execute "/bin/sh" }
  files { read "/proc/meminfo", "/proc/self/maps", optional "/proc/stat" }
}
END
refused "children, and none" "3:3:$contradiction" <<'END'
profile p {
  childProcess false
  childProcess { max-processes 1; execute "/bin/sh" }
}
END
refused "children, and no program" "3:19:$contradiction" <<'END'
profile p {
  childProcess { max-processes 1; execute "/bin/sh" }
  syscalls { deny execve }
}
END
refused "a program, and no children" "3:20:$contradiction" <<'END'
profile p {
  childProcess { max-processes 0; execute "/bin/sh" }
  syscalls { allow clone }
}
END
refused "a child call that is logged" "3:20:$later" <<'END'
profile p {
  childProcess { max-processes 1; execute "/bin/sh" }
  syscalls { allow clone logged }
}
END
refused "memory that could be executed" "4:12:$failed" <<'END'
profile p {
  childProcess { max-processes 0; execute "/bin/sh" }
  syscalls { base none; allow memfd_create }
  expect { allow syscall memfd_create(flags == 0) }
}
END
refused "huge pages where memory is limited" "4:12:$failed" <<'END'
profile p {
  limits { memory 64MiB }
  syscalls { base none; allow mmap, memfd_create }
  expect { allow syscall mmap(flags == MAP_HUGETLB) }
}
END
accepted "memory that is counted" <<'END'
profile p {
  limits { memory 64MiB }
  childProcess { max-processes 4; execute "/bin/sh" }
  syscalls { allow mmap, memfd_create }
  expect {
    allow syscall mmap(flags & MAP_HUGETLB == 0)
    deny  syscall mmap(flags & MAP_HUGETLB)
    allow syscall memfd_create(flags & 15 == 8)
    deny  syscall memfd_create(flags & MFD_HUGETLB)
    deny  syscall memfd_create(flags & 8 == 0)
  }
}
END
accepted "huge pages where it is not" <<'END'
profile p { expect { allow syscall mmap; allow syscall memfd_create } }
END
refused "a namespace beside children" "4:12:$failed" <<'END'
profile p {
  childProcess { max-processes 8; execute "/bin/sh" }
  syscalls { allow clone }
  expect { allow syscall clone(flags == CLONE_NEWPID) }
}
END
accepted "what children may and may not" <<'END'
profile p {
  childProcess { max-processes 4; execute "/bin/sh", "/usr/lib/git-core/" }
  expect {
    allow syscall clone(flags == 0x11)
    allow syscall clone(flags == 0x4111)
    allow syscall execve
    deny  syscall clone(flags & CLONE_NEWUSER)
    deny  syscall clone(flags & CLONE_PARENT && flags & CLONE_THREAD == 0)
    deny  syscall clone(flags & CLONE_PTRACE && flags & CLONE_THREAD == 0)
    deny  syscall clone3
    deny  syscall execveat
    deny  syscall unshare
    deny  syscall setns
    deny  syscall memfd_create(flags & 8 == 0)
  }
}
END
accepted "one program after the other, and no other process" <<'END'
profile p {
  childProcess { max-processes 0; execute "/bin/sh" }
  expect {
    allow syscall execve
    deny  syscall clone(flags == 0x11)
  }
}
END

# --- what a nested profile grants more is refused
widens=cave_sandbox_profile_widens_parent
# widens NAME BODY: the body of a nested profile, from column 19 of line 2, grants more than the empty one around it.
in_nested() { printf 'profile p {\n  profile inner { %s }\n}\n' "$2" | refused "nested: $2" "$1"; }
in_nested "2:29:$widens" 'network { allow tcp 10.0.0.1 port 1 }'
in_nested "2:29:$widens" 'network { listen tcp 10.0.0.1 port 1 }'
in_nested "2:11:$widens" 'credentialEnv OPENAI_API_KEY'
in_nested "2:30:$widens" 'env { pass TERM }'
in_nested "2:32:$widens" 'files { read "/srv" }'
in_nested "2:30:$widens" 'syscalls { allow acct }'
in_nested "2:30:$widens" 'syscalls { allow quotactl_fd(cmd & O_DIRECT) }'
expect "a call whose values differ between architectures is named once" \
	"$("$cavec" "$work/p.cave" -o "$work/p.bpf" 2>&1 | grep -c "$widens")" = 1
# expects POSITION:CODE LINE, on line 1 from column 22
expects() { printf 'profile p { expect { %s } }\n' "$2" | refused "expect: $2" "$1"; }
expects 1:27:cave_profile_unknown_name 'deny conect tcp 10.0.0.1 port 1'
expect 'and what was meant' -n "$("$cavec" "$work/p.cave" -o "$work/p.bpf" 2>&1 | grep 'did you mean: deny connect')"
expects 1:27:cave_profile_unknown_name 'deny credential X'
expects 1:27:cave_profile_unsupported 'deny listen tcp 127.0.0.1 port 1'
expects 1:22:cave_profile_syntax 'deny connect 10.0.0.1 port 443'
expect 'and the protocol that it lacks' -n \
	"$("$cavec" "$work/p.cave" -o "$work/p.bpf" 2>&1 | grep 'write: deny connect tcp ADDRESS port N')"
# within OUTER INNER: a profile of the body INNER is not refused in one of the body OUTER.
within() {
	printf 'profile p {\n  %s\n  profile inner { %s }\n}\n' "$1" "$2" >"$work/p.cave"
	run "$cavec" "$work/p.cave" -o "$work/p.bpf"
	expect "nested: $2 within $1" "$status$(cat "$work/err")" = 0
}
children='childProcess { max-processes 2; execute "/bin/sh" }'
within "$children" 'files { base none }'
within "network { allow tcp a.example.com port 443; allow udp 10.0.0.0/8 port 1 }; $children" 'childProcess false'
within 'network { allow { tcp, udp } 10.0.0.0/8 port 1 }' 'network { allow tcp 10.0.0.1 port 1 }'
printf 'profile p {\n  %s\n  profile inner { %s }\n}\n' 'network { allow udp 10.0.0.0/24 port 9 }' \
	'network { allow udp 10.0.0.255 port 9 }' |
	refused "a nested profile that may broadcast where the outer may not" "3:11:$widens"
printf 'profile p {\n  %s; syscalls { deny memfd_create }\n  profile inner { %s }\n}\n' "$children" 'files { base none }' |
	refused "a nested profile that makes memory files where a line denies them" "3:11:$widens"
refused "a nested profile that leaves out what the one around it leaves out" "3:11:$widens" <<'END'
profile p {
  files { base none }
  profile inner { }
}
END
refused "two profiles of one name" "3:11:cave_profile_contradiction" <<'END'
profile p {
  profile inner { }
  profile inner { }
}
END
refused "a nested profile that is called like the one around it" "2:11:cave_profile_contradiction" <<'END'
profile p {
  profile p { }
}
END
{
	echo 'profile p {'
	seq 17 | sed 's/.*/  profile n& { }/'
	echo '}'
} | refused "more nested profiles than an artefact holds" "1:9:$later"
refused "a profile in a nested one that grants more than that" "4:35:$widens" <<'END'
profile p {
  network { allow tcp 10.0.0.0/24 port 1 }
  profile inner {
    profile innermost { network { allow tcp 10.0.0.1 port 1 } }
  }
}
END

# --- what an unbounded profile is told ----------------------------------------------------------------------
# notes: what stands behind "note: ", but for the bounds themselves, with the line it is about.
notes() {
	sed -n 's/^ *\([^ ]*p.cave:\([0-9]*\):[0-9]*: \)\{0,1\}note: /\2 /p' "$work/err" | sed '1d; s/^ //'
}
refused "one line too much" "2:3:$unbounded" <<'END'
profile p { network {
  allow tcp 20.0.0.0/12 except 20.0.1.0/24 port 443
  allow tcp 30.0.0.0/13 port { 80, 443 }
  allow udp 10.0.0.0/8 port any
} }
END
expect "it is told which" "$(notes)" = "ports that are reached: 2 of tcp, 65,535 of udp
2 this line reaches 1,048,320 public IPv4 addresses; bounded without it: 524,288 public IPv4 addresses
3 this line reaches 524,288 public IPv4 addresses"
refused "two lines too much" "3:3:$unbounded" <<'END'
profile p { network {
  allow tcp 20.0.0.0/11 port 443
  allow udp { 2a00::/20, 2c00::/28 } port 53
  allow tcp 30.0.0.0/22 port 443
} }
END
without='bounded without the 2 lines marked so: 1,024 public IPv4 addresses'
expect "it is told both" "$(notes)" = "ports that are reached: 1 of tcp, 1 of udp
2 this line reaches 2,097,152 public IPv4 addresses; $without
3 this line reaches 269,484,032 public IPv6 /48 networks; $without
4 this line reaches 1,024 public IPv4 addresses"
sed '2,3d' "$work/p.cave" >"$work/bounded.cave"
expect_status "and without both it compiles" 0 "$cavec" "$work/bounded.cave" -o "$work/x.bpf"
