#!/usr/bin/python3
# SPDX-License-Identifier: MIT
# Speaks the protocol to `cavec lsp`: lsp.py CAVEC FOLDER.  Prints results as the other tests do.
import json
import os
import subprocess
import sys

cavec, folder = sys.argv[1], sys.argv[2]


def result(name, good, why=""):
    print(f"ok {name}" if good else f"not ok {name}: {str(why)[:300]!r}")


def frame(message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class Server:
    def __init__(self, *options):
        self.process = subprocess.Popen([cavec, "lsp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.id = 0

    def send(self, message):
        self.process.stdin.write(frame(message))
        self.process.stdin.flush()

    def receive(self):
        length = None
        while True:
            line = self.process.stdout.readline()
            assert line.endswith(b"\r\n"), line
            if line == b"\r\n":
                break
            name, value = line.split(b":")
            assert name == b"Content-Length"
            length = int(value)
        return json.loads(self.process.stdout.read(length))

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def ask(self, method, params=None):
        self.id += 1
        self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params or {}})
        answer = self.receive()
        assert answer["id"] == self.id and answer["jsonrpc"] == "2.0", answer
        return answer

    def open(self, uri, text, version=1):
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "cave", "version": version,
                                                              "text": text}})
        return self.diagnostics(uri, version)

    def diagnostics(self, uri, version):
        message = self.receive()
        assert message["method"] == "textDocument/publishDiagnostics", message
        assert message["params"]["uri"] == uri and message["params"]["version"] == version, message
        return message["params"]["diagnostics"]

    def at(self, method, uri, line, character):
        return self.ask("textDocument/" + method, {"textDocument": {"uri": uri},
                                                   "position": {"line": line, "character": character}})

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        error = self.process.stderr.read()
        assert b"Sanitizer" not in error and b"runtime error" not in error, error
        return self.process.wait(timeout=60)


def started():
    server = Server()
    server.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    server.notify("initialized")
    return server


def place(text, part):
    """The range of `part` in `text`, as the protocol counts."""
    begin = text.index(part)

    def position(offset):
        before = text[:offset].split("\n")
        return {"line": len(before) - 1, "character": len(before[-1].encode("utf-16-le")) // 2}
    return {"start": position(begin), "end": position(begin + len(part))}


def codes(diagnostics):
    return [d.get("code") for d in diagnostics]


# --- life
server = Server("--stdio")
result("a request before initialize is refused", server.ask("textDocument/hover")["error"]["code"] == -32002)
capabilities = server.ask("initialize")["result"]["capabilities"]
result("initialize says what there is", capabilities["hoverProvider"] and capabilities["definitionProvider"] and
       capabilities["documentFormattingProvider"] and capabilities["positionEncoding"] == "utf-16", capabilities)
result("initialize comes once", server.ask("initialize")["error"]["code"] == -32600)
result("an unknown method is refused", server.ask("textDocument/rename")["error"]["code"] == -32601)
result("a document that is not open is refused", server.at("hover", "file:///x", 0, 0)["error"]["code"] == -32602)
server.notify("$/unknown")
server.send(b'{"jsonrpc": "2.0", "id": ')
result("a message that is not JSON is refused", server.receive()["error"]["code"] == -32700)
server.send([1])
result("a message that is no object is refused", server.receive()["error"]["code"] == -32600)
result("shutdown", server.ask("shutdown")["result"] is None)
result("a request after shutdown is refused", server.ask("textDocument/hover")["error"]["code"] == -32600)
server.notify("exit")
result("exit after shutdown is 0", server.end() == 0)
server = started()
server.notify("exit")
result("exit without shutdown is 1", server.end() == 1)
result("an end of the input is 1", started().end() == 1)

# --- diagnostics
server = started()
uri = "file://" + folder + "/a%20b.cave"
text = 'profile p {\n    set "\U0001f600é"; netwrk { }\n    network { allow tcp 10.1.2.3/8 port 443 }\n}\n'
found = server.open(uri, text)
ranges = [d["range"] for d in found]
result("errors stand where they are, in UTF-16", place(text, "netwrk { }")["start"] in [r["start"] for r in ranges], found)
result("an error covers what it means", place(text, "10.1.2.3/8") in ranges, found)
result("an error has its code", "cave_profile_value" in codes(found) and found[0]["severity"] == 1, found)


def change(text, version):
    server.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version},
                                             "contentChanges": [{"text": text}]})
    return server.diagnostics(uri, version)


text = ('include "part.cave"\nprofile p {\n    network { allow tcp 169.254.169.254 port 80 }\n'
        '    limits { time 1s }\n    expect { deny connect tcp 1.1.1.1 port 443 }\n}\n')
with open(folder + "/part.cave", "w") as f:
    f.write("files { write workspace }\nenv { pass TERM }\n")
found = change(text, 2)
result("findings of lint come when it compiles", "CAVE112" in codes(found) and
       [d["range"] for d in found if d["code"] == "CAVE112"][0] == place(text, "169.254.169.254"), found)
found = change(text.replace("deny connect", "allow connect"), 3)
result("an expectation is checked", codes(found) == ["cave_profile_expectation_failed"], found)
with open(folder + "/part.cave", "w") as f:
    f.write("files { wriite workspace }\n")
found = change(text, 4)
result("an error in an included file stands at the include", found[0]["range"]["start"]["line"] == 0 and
       "part.cave:1:9:" in found[0]["message"], found)
found = change("credentialEnv CORP_S3CRET_NAME\nprofile p { }\n", 5)
result("the name of a refused credential is not echoed", len(found) == 1 and "S3CRET" not in json.dumps(found), found)
result("bare statements are looked at for syntax", change("files { read }", 6) and change("files { read /etc }", 7) == [])
result("a JSON profile is one", set(codes(change('{"schema_version":2}', 8))) == {"cave_live_eval_sandbox_profile_invalid"})
result("a new text has no old faults", change("profile p { limits { time 1s } }\n", 9) == [])

# --- hover
with open(folder + "/part.cave", "w") as f:
    f.write("files { write workspace }\n")
text = ('include "part.cave"\nprofile p {\n    network { /**/ }\n}\n').replace(" /**/ ", """
        allow tcp 192.0.2.0/24 port 443
        deny 192.0.2.66
        allow tcp list "hosts.txt" port 22
    """) .replace("}\n}\n", """}
    syscalls { deny getcwd }
    expect { deny connect tcp 192.0.2.1 port 80; deny syscall socket(family == AF_UNIX && type == SOCK_STREAM) }
    profile inner { syscalls { deny getcwd }; network { allow tcp 192.0.2.1 port 443 } }
}
""")
with open(folder + "/hosts.txt", "w") as f:
    f.write("198.51.100.1\n")
assert not [d for d in change(text, 10) if d["severity"] == 1]


def hover(part):
    where = place(text, part)["start"]
    answer = server.at("hover", uri, where["line"], where["character"] + 1)["result"]
    return answer and answer["contents"]["value"]


answer = server.at("hover", uri, 3, 10)["result"]
result("hover on a grant says what it grants", "port 443, 255 addresses" in answer["contents"]["value"] and
       "port 22" not in answer["contents"]["value"], answer)
result("and covers the statement", answer["range"] == place(text, "allow tcp 192.0.2.0/24 port 443"), answer)
result("hover on a denial", "denial wins" in hover("deny 192.0.2.66"), hover("deny 192.0.2.66"))
result("hover on a denied call", "denial wins" in hover("deny getcwd"), hover("deny getcwd"))
result("hover on an expectation asks the question", "refused: connect tcp 192.0.2.1 port 80" in hover("deny connect")
       and "by the egress program" in hover("deny connect"), hover("deny connect"))
result("and of a call", "socket" in hover("deny syscall socket"), hover("deny syscall socket"))
result("hover on a profile sums it up", "p is a sandbox profile" in hover("profile p"), hover("profile p"))
result("hover within a nested one is about it", "reach tcp 192.0.2.1 port 443" in hover("allow tcp 192.0.2.1 "),
       hover("allow tcp 192.0.2.1 "))
result("hover nowhere is nothing", server.at("hover", uri, 999, 999)["result"] is None)

# --- definition
result("definition of an include", server.at("definition", uri, 0, 12)["result"]["uri"] == "file://" + folder + "/part.cave")
where = place(text, '"hosts.txt"')["start"]
result("definition of a list", server.at("definition", uri, where["line"], where["character"] + 2)["result"]["uri"] ==
       "file://" + folder + "/hosts.txt")
result("definition of anything else", server.at("definition", uri, 3, 10)["result"] is None)


# --- formatting
def formatting():
    return server.ask("textDocument/formatting", {"textDocument": {"uri": uri}, "options": {"tabSize": 8}})


crooked = "profile p{limits{time 1s}} # \U0001f600"
change(crooked, 11)
answer = formatting()["result"]
laid = subprocess.run([cavec, "fmt"], input=crooked.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()
result("formatting is that of fmt", [e["newText"] for e in answer] == [laid], answer)
result("it replaces the document", answer[0]["range"] == place(crooked, crooked), answer)
change(laid, 12)
result("what is laid out stays", formatting()["result"] == [])
change("profile p { network {", 13)
result("a file with an error is left alone", formatting()["error"]["code"] == -32803)
change("profile p {\n" + "    network { allow tcp ) }\n" * 100 + "}\n", 14)
result("nobody has to read the standard error", all("error" in formatting() for i in range(60)))
server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
result("a closed document has no diagnostics", server.diagnostics(uri, 14) == [])
found = server.open("untitled:Untitled-1", 'include "part.cave"\nprofile p { network { allow tcp 10.0.0.1/8 port 1 } }')
result("a document that is no file is compiled", "cave_profile_value" in codes(found), found)
result("and includes nothing", len(found) >= 2, found)
found = server.open("untitled:Untitled-2", 'profile p { network { allow tcp <pypi> port 443 }; limts { } }')
result("but has the built-in sets of hosts", codes(found) == ["cave_profile_unknown_name"], found)

# --- hostile texts and messages: an answer, or an orderly end
server.ask("shutdown")
server.notify("exit")
result("the server is still in order", server.end() == 0)
server = started()
version = 0
for hostile in ("", "\r", "{" * 5000, "profile p " + "{ network " * 3000, "\ufeffprofile p { x }", "(" * 9999, '"\\',
                "# \u202e",
                'include "../../../etc/passwd"\nprofile p { }', 'include "' + "a/" * 9000 + '"\nprofile p { }', "[" * 100000,
                "profile p { network { allow tcp { " + "10.0.0.1, " * 5000 + "} port 1 } }", "\U0010ffff" * 1000):
    version += 1
    server.open(f"file://{folder}/h{version}.cave", hostile)
    for line, character in ((0, 0), (0, 5), (10**15, 10**15), (-1, -1)):
        for method in ("hover", "definition"):
            server.at(method, f"file://{folder}/h{version}.cave", line, character)
    server.ask("textDocument/formatting", {"textDocument": {"uri": f"file://{folder}/h{version}.cave"}})
for params in (None, [], 1, "x", {"textDocument": 1}, {"textDocument": {"uri": 1}}, {"textDocument": {"uri": "file:///h"}}):
    for method in ("hover", "definition", "formatting"):
        server.id += 1
        server.send({"jsonrpc": "2.0", "id": server.id, "method": "textDocument/" + method, "params": params})
        assert server.receive()["error"]["code"] == -32602
    for method in ("didOpen", "didChange", "didClose"):
        server.send({"jsonrpc": "2.0", "method": "textDocument/" + method, "params": params})
    server.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///h"}})
result("a position that is none is refused", "error" in server.at("hover", f"file://{folder}/h1.cave", "x", 0))
result("hostile texts are answered", server.ask("nothing")["error"]["code"] == -32601)
server.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///long", "version": 1, "text": "#" * (5 << 20)}})
result("a text that is too long is refused", server.receive()["method"] == "window/showMessage")
result("a text with a NUL is refused", not server.send(b'{"id":1,"method":"x","params":"\\u0000"}') and
       server.receive()["error"]["code"] == -32700)
result("deep nesting is refused", not server.send(b"[" * 100000) and server.receive()["error"]["code"] == -32700)
for i in range(300):
    server.notify("textDocument/didOpen", {"textDocument": {"uri": f"untitled:{i}", "version": 1, "text": "#"}})
methods = [server.receive()["method"] for i in range(300)]
result("the number of documents is bounded", "window/showMessage" in methods and methods[0] != "window/showMessage")
result("and the server still answers", server.ask("nothing")["error"]["code"] == -32601)
server.process.kill()
server.process.wait()
for name, data in (("no header", b"{}\r\n\r\n"), ("no length", b"X: 1\r\n\r\n"),
                   ("a negative length", b"Content-Length: -1\r\n\r\n"),
                   ("a length that is none", b"Content-Length: 1x\r\n\r\nx"),
                   ("a huge length", b"Content-Length: 99999999999\r\n\r\n"),
                   ("a length beyond all", b"Content-Length: 99999999999999999999999\r\n\r\n"), ("a long line", b"x" * 100000),
                   ("many lines", b"X: y\r\n" * 1000), ("a message cut short", b"Content-Length: 10\r\n\r\n{}"),
                   ("a header cut short", b"Content-Length: 10\r\n")):
    done = subprocess.run([cavec, "lsp"], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                          check=False)
    result(f"{name} ends the server", done.returncode == 2 and b"not the protocol" in done.stderr,
           (done.returncode, done.stderr))
