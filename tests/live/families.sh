#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples whose tools start other programs, each with a real job, as root and as an ordinary user.
. "$(dirname "$0")/../lib.sh"
need_root
. "$top/tests/kinds.sh"
# A tool that is there for all users, not somebody's wrapper in the caller's PATH.
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
server=
cleanup() {
	for pid in $server $holder; do kill -9 "$pid" 2>/dev/null; done
}

# job EXAMPLE PROGRAM…: in the workspace.  Who may not bound a network is put by one who may into an ordinary user's
# place (--user).
job() {
	example=$1
	shift
	[ -e "$work/$example.bpf" ] || "$cavec" "$top/examples/$example.cave" -o "$work/$example.bpf" 2>"$work/err" ||
		not_ok "$example compiles" "$(cat "$work/err")"
	set -- --workspace "$work/w" "$work/$example.bpf" -- "$@"
	case $kind-$example in
	user-clone-repository) timeout 200 "$caverun" --user nobody "$@" ;;
	*) as timeout 200 "$bin/caverun" "$@" ;;
	esac
}
# fresh: an empty workspace, the user's own: git trusts no other.
fresh() {
	rm -rf "$work/w" && mkdir "$work/w"
	[ "$kind" = root ] || chown "$nobody" "$work/w"
}
has() {
	command -v "$1" >/dev/null && return
	skip "$2" "there is no $1"
	return 1
}

serve() {
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	(
		cd "$work" && git init -q source && cd source && echo text >file && git add file && git commit -qm one &&
			git clone -q --bare . "$work/project.git" && git -C "$work/project.git" update-server-info
	) || not_ok "a repository to clone" ""
	(cd "$work" && exec "$python" -m http.server -b 127.0.0.1 8418 >/dev/null 2>&1) &
	server=$!
	for _ in $(seq 100); do
		"$python" -c 'import socket; socket.create_connection(("127.0.0.1", 8418))' 2>/dev/null && break
		sleep 0.05
	done
}
if command -v git >/dev/null; then serve; fi

for kind in root user; do
	fresh
	if has make build-c && has cc build-c; then
		printf 'all: check\ncheck: hello\n\t./hello > said\nhello: a.o b.o\n\t$(CC) -o $@ $^\n' >"$work/w/Makefile"
		printf '#include <stdio.h>\nint f(void);\nint main(void) { return printf("%%d\\n", f()) < 0; }\n' >"$work/w/a.c"
		echo 'int f(void) { return 7; }' >"$work/w/b.c"
		expect_status "$kind: make builds a C program in parallel, and runs it" 0 job build-c make -s -j3
		expect "$kind: and it says what it should" "$(cat "$work/w/said")" = 7
	fi
	if has go build-go; then
		fresh
		printf 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("go") }\n' >"$work/w/main.go"
		printf 'module x\n' >"$work/w/go.mod"
		expect_output "$kind: go builds a program, and runs it" go job build-go go run .
	fi
	if has git clone-repository; then
		run job clone-repository git clone -q http://127.0.0.1:8418/project.git
		expect "$kind: git clones over http, with its helpers" \
			"$status $(cat "$work/w/project/file" 2>/dev/null)" = '0 text'
		run job clone-repository git clone -q http://127.0.0.1:8419/project.git other
		expect "$kind: and from nowhere else" "$status" = 128
		run job clone-repository git -C project log --oneline
		expect "$kind: and tells what happened there" "$status $(wc -l <"$work/out")" = '0 1'
	fi
	cat >"$work/w/job.py" <<'END'
import multiprocessing, subprocess, sys

def square(x):
    return x * x

if __name__ == "__main__":
    with multiprocessing.Pool(3) as pool:
        print(pool.map(square, range(5)))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(square, range(3)))
    print(subprocess.run([sys.executable, "-c", "print(6)"], capture_output=True, text=True).stdout.strip())
END
	expect_output "$kind: python shares its work among processes" "[0, 1, 4, 9, 16]
[0, 1, 4]
6" job parallel-python "$python" job.py
done
printf '#!/bin/sh\nexec env LC_ALL=C date -u -d @0 +%%Y\n' >"$work/wrapper.sh"
chmod 755 "$work/wrapper.sh"
"$cavec" "$top/examples/wrapped-program.cave" -o "$work/wrapped.bpf" 2>/dev/null
expect_output "a wrapper is replaced by what it wraps" 1970 "$caverun" "$work/wrapped.bpf" -- "$work/wrapper.sh"
