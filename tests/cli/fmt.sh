#!/bin/sh
# SPDX-License-Identifier: MIT
# cavec fmt: one layout, comments kept, the meaning unchanged, and a second time nothing to do.
. "$(dirname "$0")/../lib.sh"

lays_out() {
	printf '%s' "$2" >"$work/in.cave"
	printf '%s' "$3" >"$work/want"
	run "$cavec" fmt "$work/in.cave"
	if [ "$status" = 0 ] && cmp -s "$work/out" "$work/want"; then ok "$1"
	else not_ok "$1" "status $status; $(cat "$work/out" "$work/err")"; fi
}
lays_out 'blanks' 'profile   p{network{allow tcp   10.0.0.1 port 1}}' 'profile p {
    network { allow tcp 10.0.0.1 port 1 }
}
'
lays_out 'a line for each statement' 'profile p { env { set A "1"; set B "2" }; childProcess false }' 'profile p {
    env {
        set A "1"
        set B "2"
    }
    childProcess false
}
'
lays_out 'comments' '# first
profile p { # second

   #third


   childProcess false#fourth
}
# last' '# first
profile p {  # second
    #third

    childProcess false  #fourth
}
# last
'
lays_out 'an empty block' 'profile p{}' 'profile p { }
'
lays_out 'conditions' 'filter f { allow ioctl( request in {1,2} &&!(fd==3) ||fd&0x1 ) ,read }' \
	'filter f { allow ioctl(request in { 1, 2 } && !(fd == 3) || fd & 0x1), read }
'
lays_out 'strings and sets as they are' \
	'profile p { env { set A "x  \"y\" # z" }; files { read "/a  b" ,optional   "/c" } }' 'profile p {
    env { set A "x  \"y\" # z" }
    files { read "/a  b", optional "/c" }
}
'
lays_out 'a trailing comma where lines are broken' 'profile k { network {
allow tcp { a2.example.com, b.example.net, another.example.org, some.else.example.com, } except bad.a2.example.com port 443
} }' 'profile k {
    network {
        allow tcp {
            a2.example.com, b.example.net, another.example.org, some.else.example.com
        } except bad.a2.example.com port 443
    }
}
'
lays_out 'a trailing comma' 'profile p { network { allow tcp { 10.0.0.1, 10.0.0.2, } port { 1,2 ,} } }' 'profile p {
    network { allow tcp { 10.0.0.1, 10.0.0.2 } port { 1, 2 } }
}
'
lays_out 'comments in a list' 'profile p { network { allow tcp {
10.0.0.1, # one
# alone
10.0.0.2 # two
} port 1 } }' 'profile p {
    network {
        allow tcp {
            10.0.0.1,  # one
            # alone
            10.0.0.2  # two
        } port 1
    }
}
'
lays_out 'a suppression stays with every statement of its line' 'profile p { network {
allow tcp 10.0.0.1 port 1; allow tcp 10.0.0.2 port 1 # cave: ignore CAVE110 because of a test
} }' 'profile p {
    network {
        allow tcp 10.0.0.1 port 1  # cave: ignore CAVE110 because of a test
        allow tcp 10.0.0.2 port 1  # cave: ignore CAVE110 because of a test
    }
}
'
list=$(seq 1 90 | sed 's/.*/10.0.0.&/' | tr '\n' ',')
printf 'profile p { network { allow tcp { %s } port 1 } }' "$list" | "$cavec" fmt >"$work/long"
expect 'long lists fill lines' "$(awk 'length > 100 { wide = 1 } END { print (NR > 10 && !wide) }' "$work/long")" = 1
"$cavec" fmt <"$work/long" >"$work/again"
expect 'from standard input, and again' "$(cmp "$work/again" "$work/long" && echo same)" = same

printf 'profile p { }\n' >"$work/good.cave"
printf 'profile p {}\n' >"$work/bad.cave"
expect_output '--check of what is laid out' '' "$cavec" fmt --check "$work/good.cave"
expect_status '--check of what is not' 1 "$cavec" fmt --check "$work/good.cave" "$work/bad.cave"
expect '--check names it' "$(cat "$work/out")" = "$work/bad.cave"
expect_status '-w writes' 0 "$cavec" fmt -w "$work/bad.cave"
expect 'what was written' "$(cmp "$work/bad.cave" "$work/good.cave" && echo same)" = same
printf 'profile p { network { allow tcp 10.0.0.1 port } }\n' >"$work/wrong.cave"
cp "$work/wrong.cave" "$work/kept.cave"
expect_status 'an error in the syntax' 1 "$cavec" fmt -w "$work/wrong.cave"
expect 'what has one stays as it is' "$(cmp "$work/wrong.cave" "$work/kept.cave" && echo same)" = same
expect_status 'no such file' 2 "$cavec" fmt "$work/none.cave"
printf '{}' >"$work/seed.json"
expect_status 'a JSON profile' 2 "$cavec" fmt "$work/seed.json"
expect_status '-w without a file' 2 "$cavec" fmt -w

# --- the examples themselves
run "$cavec" fmt --check "$top"/examples/*.cave
expect "the examples are as it lays them out" "$status" = 0

# --- every example, laid out badly, comes out as the example does; with comments strewn in it keeps them
wrong=
for file in "$top"/examples/*.cave; do
	"$cavec" fmt "$file" >"$work/once" 2>"$work/err" || wrong="$wrong $file"
	"$cavec" fmt "$work/once" | cmp -s - "$work/once" || wrong="$wrong twice:$file"
	for seed in 1 2 3 4 5 6; do
		"$python" "$top/tests/tools/mangle.py" $seed <"$file" >"$work/mangled"
		"$cavec" fmt "$work/mangled" 2>>"$work/err" | cmp -s - "$work/once" || wrong="$wrong $file:$seed"
		"$python" "$top/tests/tools/mangle.py" $seed comments <"$file" >"$work/mangled"
		"$cavec" fmt "$work/mangled" >"$work/strewn" 2>>"$work/err" || wrong="$wrong strewn:$file:$seed"
		"$cavec" fmt "$work/strewn" | cmp -s - "$work/strewn" || wrong="$wrong strewn, twice:$file:$seed"
		[ "$(grep -o 'comment [0-9]*' "$work/mangled")" = "$(grep -o 'comment [0-9]*' "$work/strewn")" ] ||
			wrong="$wrong comments:$file:$seed"
	done
done
if [ -z "$wrong" ]; then
	ok 'the examples, laid out badly'
else
	not_ok 'the examples, laid out badly' "$wrong $(cat "$work/err")"
fi
