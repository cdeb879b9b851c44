" SPDX-License-Identifier: MIT
" The language of sandbox profiles, cave(5).
if exists('b:current_syntax')
  finish
endif

" A word of the language: letters, digits, _ . / : * @ % ~ + [ ] - and bytes from 0x80.
syntax iskeyword @,48-57,95,46,47,58,42,@-@,37,126,43,91,93,45,128-255

" What the lexer knows (grammar/cave.l).
syntax keyword caveStatement allow base childProcess credentialEnv default deny env except execute expect
syntax keyword caveStatement files filter folder in include limits list listen logged network optional pass
syntax keyword caveStatement port profile read sandbox set shm syscalls unknown use with within write

" What has a meaning in some places.
syntax keyword caveValue any errno false home host kill localhost netlink none required resolver route
syntax keyword caveValue system tcp tmp true udp workspace
syntax keyword caveLimit cpu-time file-size max-processes memory open-files output tasks time

syntax match caveNumber /\k\@1<!\d\+\%(ms\|s\|min\|h\|B\|KiB\|MiB\|GiB\|TiB\)\=\k\@!/
syntax match caveNumber /\k\@1<!0x\x\+\k\@!/
syntax match caveGroup /\k\@1<!@[a-z][a-z0-9-]*\k\@!/
syntax match caveSet /<[a-z][a-z0-9-]*>/
syntax match caveOperator /&&\|||\|[=!<>]=\|[&|!]/

syntax match caveEscape /\\["\\]/ contained
syntax match cavePlace /\${[^}"]*}/ contained
syntax region caveString start=/"/ skip=/\\["\\]/ end=/"/ oneline contains=caveEscape,cavePlace

syntax match caveSuppression /cave: ignore CAVE\d\+/ contained
syntax match caveComment /#.*/ contains=caveSuppression,@Spell

highlight default link caveStatement Statement
highlight default link caveValue Constant
highlight default link caveLimit Identifier
highlight default link caveNumber Number
highlight default link caveGroup Identifier
highlight default link caveSet Special
highlight default link caveOperator Operator
highlight default link caveEscape SpecialChar
highlight default link cavePlace SpecialChar
highlight default link caveString String
highlight default link caveSuppression SpecialComment
highlight default link caveComment Comment

let b:current_syntax = 'cave'
