" SPDX-License-Identifier: MIT
autocmd BufRead,BufNewFile *.cave setfiletype cave
