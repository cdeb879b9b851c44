#!/bin/sh
# SPDX-License-Identifier: MIT
# Rules that come from a file of prefixes: the same as written out, and errors at the file's own lines.
. "$(dirname "$0")/../lib.sh"

mkdir -p "$work/root/sub" "$work/outside"

# identity_of PROFILE: compiles the profile on standard input and shows its identity.
identity_of() {
	cat >"$work/root/$1.cave"
	run "$cavec" "$work/root/$1.cave" -o "$work/root/$1.bpf"
	[ "$status" = 0 ] && "$cavec" dump "$work/root/$1.bpf" | sed -n 's/^identity //p'
}

# errors: the places and codes on standard error.
errors() {
	sed -n 's/^.*\/\([^/]*:[0-9]*:[0-9]*\): error: .*\[\(cave_[a-z_]*\)\]$/\1:\2/p' "$work/err" | tr '\n' ' '
}

# refused NAME EXPECTED: the profile on standard input.
refused() {
	cat >"$work/root/p.cave"
	run "$cavec" "$work/root/p.cave" -o "$work/root/p.bpf"
	expect "refused: $1" "$status $(errors)" = "1 $2 "
}

cat >"$work/root/sub/ranges.txt" <<'END'
# the office
192.0.2.0/24
	198.51.100.7   # one address
2001:db8::/48

203.0.113.1-203.0.113.9
END
printf '10.0.0.1\r\n10.0.0.2' >"$work/root/crlf.txt"
printf '192.0.2.9\n' >"$work/root/except.txt"

a=$(identity_of p <<'END'
profile p { network {
  allow tcp list "sub/ranges.txt" except list "except.txt" port 443
  allow udp list "crlf.txt" port 53
  deny list "sub/../crlf.txt" port 54
} }
END
)
b=$(identity_of p <<'END'
profile p { network {
  allow tcp { 192.0.2.0/24, 198.51.100.7, 2001:db8::/48, 203.0.113.1-203.0.113.9 } except 192.0.2.9 port 443
  allow udp { 10.0.0.1, 10.0.0.2 } port 53
} }
END
)
expect "a list means what it holds" -n "$a" -a "$a" = "$b"
a=$(identity_of p <<'END'
profile p { network { allow tcp list "sub/ranges.txt" port 443; deny list "except.txt" } }
END
)
b=$(identity_of p <<'END'
profile p { network { allow tcp list "sub/ranges.txt" except 192.0.2.9 port 443 } }
END
)
expect "a list can be denied" -n "$a" -a "$a" = "$b"

a=$(identity_of p <<'END'
profile p { network { allow tcp list "crlf.txt" port 1; allow udp list "crlf.txt" port 2 } }
END
)
b=$(identity_of p <<'END'
profile p { network { allow tcp { 10.0.0.1, 10.0.0.2 } port 1; allow udp { 10.0.0.1, 10.0.0.2 } port 2 } }
END
)
expect "a list means the same to every rule that names it" -n "$a" -a "$a" = "$b"

# A list in an include is relative to the file that includes it.
echo 'network { allow tcp list "ranges.txt" port 443 }' >"$work/root/sub/team.cave"
a=$(identity_of p <<'END'
profile p {
  include "sub/team.cave"
}
END
)
b=$(identity_of p <<'END'
profile p { network { allow tcp list "sub/ranges.txt" port 443 } }
END
)
expect "a list in an include is relative to it" -n "$a" -a "$a" = "$b"

printf '# bad\n10.0.0.1/8\n  10.0.0.1 10.0.0.2\n10.0.0.1, \nhost.example.com\n010.0.0.1\n10.0.0.3\000\n' >"$work/root/bad.txt"
value=cave_profile_value syntax=cave_profile_syntax
refused "what is no address" "bad.txt:2:1:$value bad.txt:3:3:$syntax bad.txt:4:1:$syntax \
bad.txt:6:1:$value bad.txt:7:1:$syntax bad.txt:7:9:$syntax" <<'END'
profile p { network { allow tcp list "bad.txt" port 443 } }
END
expect "the error names the line that reads the list" -n "$(grep 'p.cave:1:38: note: included here' "$work/err")"

printf '# nothing\n\n' >"$work/root/empty.txt"
refused "a list without entries" "p.cave:1:33:$value" <<'END'
profile p { network { allow tcp list "empty.txt" port 443 } }
END
refused "an except without entries" "p.cave:1:51:$value" <<'END'
profile p { network { allow tcp 10.0.0.0/8 except list "empty.txt" port 443 } }
END
refused "a list that is not there" "p.cave:1:38:cave_live_eval_sandbox_profile_missing" <<'END'
profile p { network { allow tcp list "absent.txt" port 443 } }
END
refused "a list that is a folder" "p.cave:1:38:cave_live_eval_sandbox_profile_missing" <<'END'
profile p { network { allow tcp list "sub" port 443 } }
END
mkfifo "$work/root/fifo"
refused "a list that is a pipe" "p.cave:1:38:cave_live_eval_sandbox_profile_missing" <<'END'
profile p { network { allow tcp list "fifo" port 443 } }
END

echo 10.0.0.1 >"$work/outside/ranges.txt"
ln -s "$work/outside/ranges.txt" "$work/root/link.txt"
escapes=cave_live_eval_sandbox_profile_escapes_root
refused "a list outside the root" "p.cave:1:38:$escapes" <<'END'
profile p { network { allow tcp list "../outside/ranges.txt" port 443 } }
END
refused "a link that leads outside the root" "p.cave:1:38:$escapes" <<'END'
profile p { network { allow tcp list "link.txt" port 443 } }
END
run "$cavec" "$work/root/p.cave" -o "$work/root/p.bpf" --root "$work"
expect "a wider root takes it in" "$status" = 0

echo 20.0.0.0/8 >"$work/root/wide.txt"
refused "a list that is unbounded" "p.cave:1:23:cave_sandbox_network_egress_unbounded" <<'END'
profile p { network { allow tcp list "wide.txt" port 443 } }
END
printf '10.0.0.1\n169.254.169.0/24\n' >"$work/root/metadata.txt"
refused "a list that holds a metadata address" "metadata.txt:2:1:cave_profile_metadata_address metadata.txt:2:1:$value" <<'END'
profile p { network { allow tcp list "metadata.txt" port 443 } }
END
