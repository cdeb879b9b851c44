#!/bin/sh
# SPDX-License-Identifier: MIT
# Tools whose children talk to a server or run what others have just written: git over ssh and https, npm with a package
# that is compiled.  The servers are real and live in a network of this test's own.  As root and as an ordinary user.
if [ "$(id -u)" = 0 ] && [ -z "${PEERS_NETWORK:-}" ]; then exec unshare --net env PEERS_NETWORK=1 "$0" "$@"; fi
. "$(dirname "$0")/../lib.sh"
need_root
. "$top/tests/kinds.sh"
# Tools that are there for all users, not somebody's wrappers in the caller's PATH.
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
servers='' made=''
cleanup() {
	for pid in $servers $holder; do kill -9 "$pid" 2>/dev/null; done
	[ -z "$made" ] || rmdir "$made"
}
ip link set lo up
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

for example in install-npm clone-over-https push-over-ssh; do
	"$cavec" "$top/examples/$example.cave" -o "$work/$example.bpf" 2>"$work/err" ||
		not_ok "$example compiles" "$(cat "$work/err")"
done
# job EXAMPLE SLOT PROGRAM…: in the workspace $ws; the slot's folder has its name.  Who may not bound a network is put by
# one who may into an ordinary user's place (--user).
job() {
	example=$1 slot=$2
	shift 2
	set -- --folder "$slot=$work/$kind/$slot" --workspace "$ws" "$work/$example.bpf" -- "$@"
	case $kind-$example in
	user-install-npm) as timeout 100 "$bin/caverun" "$@" ;;
	user-*) timeout 100 "$caverun" --user nobody "$@" ;;
	*) timeout 100 "$caverun" "$@" ;;
	esac
}
# answers PORT: waits until somebody listens there.
answers() {
	for _ in $(seq 200); do
		"$python" -c 'import socket, sys; socket.create_connection(("127.0.0.1", sys.argv[1]))' "$1" 2>/dev/null && return
		sleep 0.05
	done
	not_ok "a server at port $1" "nobody listens"
}
# said TEXT: what a command has left on its standard error.
said() { grep -qF "$1" "$work/err" && echo said; }

# fresh: an empty workspace, the user's own: git trusts no other.
fresh() {
	rm -rf "$ws" && mkdir "$ws"
	[ "$kind" = root ] || chown "$nobody" "$ws"
}

(
	cd "$work" && git init -q -b main source && cd source && echo text >file && git add file && git commit -qm one &&
		git clone -q --bare . "$work/git/project.git" && git -C "$work/git/project.git" config http.receivepack true
) || not_ok "a repository to clone" ""
chmod -R a+rX "$work/git"
for kind in root user; do
	ws=$work/$kind/ws
	mkdir -p "$work/$kind/authority" "$work/$kind/packages" "$work/$kind/deploy"
	fresh
done

# --- npm: a package with a script that compiles, one with a script that does what it should not
pack() { tar -C "$work/npm/$1" -czf "$work/$kind/packages/$1-1.0.0.tgz" package; }
npm() {
	mkdir -p "$work/npm/native/package" "$work/npm/evil/package"
	cat >"$work/npm/native/package/package.json" <<-'END'
		{ "name": "native", "version": "1.0.0", "bin": { "native-tool": "cli.js" },
		  "scripts": { "install": "make -s build/tool" } }
	END
	printf 'build/tool: tool.c\n\tmkdir -p build\n\t$(CC) -O -o $@ $<\n' >"$work/npm/native/package/Makefile"
	echo 'int puts(const char *); int main(void) { return puts("compiled") < 0; }' >"$work/npm/native/package/tool.c"
	cat >"$work/npm/native/package/index.js" <<-'END'
		module.exports = require("node:child_process").execFileSync(`${__dirname}/build/tool`).toString().trim();
	END
	printf '#!/usr/bin/env node\nconsole.log(require("./index.js"))\n' >"$work/npm/native/package/cli.js"
	cat >"$work/npm/evil/package/package.json" <<-END
		{ "name": "evil", "version": "1.0.0",
		  "scripts": { "install": "cat $work/secret > loot; touch $work/marked; $bin/script; echo done" } }
	END
	echo secret >"$work/secret"
	printf '#!/bin/sh\n' >"$bin/script"
	chmod 755 "$bin/script"
	for kind in root user; do
		ws=$work/$kind/ws
		pack native
		pack evil
		expect_status "$kind: install-npm: a package is compiled" 0 job install-npm packages \
			npm install --no-audit "$work/$kind/packages/native-1.0.0.tgz"
		expect_output "$kind: install-npm: it runs what it has compiled" compiled job install-npm packages \
			node -p 'require("native")'
		expect_output "$kind: install-npm: npx runs it" compiled job install-npm packages npx native-tool
		run job install-npm packages npm install --no-audit --foreground-scripts "$work/$kind/packages/evil-1.0.0.tgz"
		expect "$kind: install-npm: a script's theft comes to nothing" \
			"$status $(cat "$ws/node_modules/evil/loot" 2>/dev/null)" = '0 '
		expect "$kind: install-npm: and its mark beside" ! -e "$work/marked"
		expect "$kind: install-npm: and a program that is not named" \
			-n "$(cat "$work/out" "$work/err" | grep 'script: Perm')"
		fresh
	done
	expect_status "control: outside all of it gets through" 0 sh -c \
		"cat $work/secret >$work/loot && touch $work/marked && $bin/script"
}

# --- https
# authority NAME: one that nobody knows, in NAME.pem.
authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
		-keyout "$work/tls/$1.key" -out "$work/tls/$1.pem" 2>"$work/err"
}
# certificate: of the server, signed by the authority.
certificate() {
	cd "$work/tls" || return
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=server -keyout key.pem -out request \
		2>"$work/err" || return
	echo subjectAltName=IP:127.0.0.1 >extensions
	openssl x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.pem \
		2>"$work/err"
}
https() {
	mkdir "$work/tls"
	{ authority ca && authority other && (certificate); } || not_ok "certificates" "$(cat "$work/err")"
	mkdir -p "$work/www/cgi-bin"
	printf '#!/bin/sh\nexec git http-backend\n' >"$work/www/cgi-bin/git"
	chmod 755 "$work/www/cgi-bin/git"
	cat >"$work/https.py" <<-'END'
		import http.server, os, ssl, sys
		os.environ.update(GIT_PROJECT_ROOT=sys.argv[1] + "/git", GIT_HTTP_EXPORT_ALL="1", GIT_CONFIG_COUNT="1",
		                  GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*")
		os.chdir(sys.argv[1] + "/www")
		http.server.CGIHTTPRequestHandler.have_fork = False  # else it becomes nobody
		class Server(http.server.ThreadingHTTPServer):
		    def shutdown_request(self, request):  # the end of what has no length is said by TLS
		        try:
		            request.unwrap()
		        except OSError:
		            pass
		        super().shutdown_request(request)
		server = Server(("127.0.0.1", int(sys.argv[2])), http.server.CGIHTTPRequestHandler)
		context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
		context.load_cert_chain(sys.argv[1] + "/tls/server.pem", sys.argv[1] + "/tls/key.pem")
		server.socket = context.wrap_socket(server.socket, server_side=True)
		server.serve_forever()
	END
	for port in 8443 8444; do
		"$python" "$work/https.py" "$work" $port >"$work/https.$port" 2>&1 &
		servers="$servers $!"
	done
	answers 8443
	answers 8444
	for kind in root user; do
		ws=$work/$kind/ws
		cp "$work/tls/ca.pem" "$work/$kind/authority/ca.pem"
		run job clone-over-https authority git clone -q https://127.0.0.1:8443/cgi-bin/git/project.git
		expect "$kind: clone-over-https: it clones" "$status $(cat "$ws/project/file")" = '0 text'
		run job clone-over-https authority git clone -q https://127.0.0.1:8444/cgi-bin/git/project.git other
		expect "$kind: clone-over-https: and from no other server" "$status" = 128
		# Another authority: the server is there and reached, and not believed.
		cp "$work/tls/other.pem" "$work/$kind/authority/ca.pem"
		run job clone-over-https authority git clone -q https://127.0.0.1:8443/cgi-bin/git/project.git other
		expect "$kind: clone-over-https: nor one that the authority has not signed" \
			"$status $(said 'certificate verification failed')" = '128 said'
		fresh
	done
	expect_status "control: the other server works" 0 env GIT_SSL_CAINFO="$work/tls/ca.pem" \
		git clone -q https://127.0.0.1:8444/cgi-bin/git/project.git "$work/control"
}

# --- ssh
ssh_server() {
	mkdir -p "$work/ssh"
	if [ ! -d /run/sshd ]; then
		made=/run/sshd
		mkdir $made
	fi
	for name in host client; do ssh-keygen -q -t ed25519 -N '' -f "$work/ssh/$name"; done
	cp "$work/ssh/client.pub" "$work/ssh/authorized"
	cat >"$work/ssh/config" <<-END
		ListenAddress 127.0.0.1:8422
		ListenAddress 127.0.0.1:8423
		HostKey $work/ssh/host
		AuthorizedKeysFile $work/ssh/authorized
		PermitRootLogin prohibit-password
		StrictModes no
		UsePAM no
		PidFile none
	END
	/usr/sbin/sshd -D -e -f "$work/ssh/config" 2>"$work/ssh/log" &
	servers="$servers $!"
	answers 8422
	for port in 8422 8423; do
		printf '[127.0.0.1]:%s %s\n' $port "$(cat "$work/ssh/host.pub")" >>"$work/ssh/known_hosts"
	done
}
over_ssh() {
	ssh_server
	from=root@127.0.0.1:8422$work/git/project.git
	for kind in root user; do
		ws=$work/$kind/ws
		cp "$work/ssh/known_hosts" "$work/$kind/deploy/known_hosts"
		cp "$work/ssh/client" "$work/$kind/deploy/key"
		[ "$kind" = root ] || chown "$nobody" "$work/$kind/deploy/key"
		expect_status "$kind: push-over-ssh: it clones" 0 job push-over-ssh deploy git clone -q "ssh://$from" .
		echo "$kind" >"$ws/new-$kind"
		[ "$kind" = root ] || chown "$nobody" "$ws/new-$kind"
		for words in "add new-$kind" "-c user.name=a -c user.email=a@b commit -qm $kind" 'push -q origin HEAD:main'; do
			# shellcheck disable=SC2086
			expect_status "$kind: push-over-ssh: git $words" 0 job push-over-ssh deploy git $words
		done
		expect "$kind: push-over-ssh: the server has it" \
			"$(git -C "$work/git/project.git" show "main:new-$kind")" = "$kind"
		run job push-over-ssh deploy git ls-remote "ssh://root@127.0.0.1:8423$work/git/project.git"
		expect "$kind: push-over-ssh: another port is out of reach" "$status $(said 'not permitted')" = '128 said'
		sed "s| AAAA.*| $(cut -d' ' -f 2 "$work/ssh/client.pub")|" "$work/ssh/known_hosts" \
			>"$work/$kind/deploy/known_hosts"
		run job push-over-ssh deploy git ls-remote "ssh://$from"
		expect "$kind: push-over-ssh: nor is a host trusted that has another key" \
			"$status $(said 'Host key verification failed')" = '128 said'
	done
	expect_status "control: the other port works" 0 env \
		GIT_SSH_COMMAND="ssh -F none -i $work/ssh/client -o UserKnownHostsFile=$work/ssh/known_hosts" \
		git ls-remote "ssh://root@127.0.0.1:8423$work/git/project.git"
}

# have NAME FILE…: whether all are there, or it is skipped.
have() {
	for file; do
		if [ "$file" = "$1" ] || [ -e "$file" ]; then continue; fi
		skip "$1" "there is no $file"
		return 1
	done
}
if have npm /usr/bin/npm /usr/bin/node /usr/bin/make /usr/bin/gcc; then npm; fi
if have https /usr/bin/git /usr/lib/git-core/git-http-backend /usr/bin/openssl; then https; fi
if have ssh /usr/bin/git /usr/bin/ssh /usr/sbin/sshd; then over_ssh; fi
