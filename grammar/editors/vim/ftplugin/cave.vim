" SPDX-License-Identifier: MIT
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=#\ %s comments=:#
setlocal expandtab shiftwidth=4 softtabstop=4
setlocal include=^\\s*include
let &l:formatprg = 'cavec fmt'
let b:undo_ftplugin = 'setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< include< formatprg<'
