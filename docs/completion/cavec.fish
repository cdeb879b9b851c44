# SPDX-License-Identifier: MIT
# Completion of cavec for fish.
set -l subcommands dump list diff explain lint fmt lsp
set -l compile "not __fish_seen_subcommand_from $subcommands"
set -l lists (string join '' -- '(' 'cavec list 2>/dev/null | string replace -r " .*" ""; echo base' ')')

complete -c cavec -f
complete -c cavec -n __fish_use_subcommand -a dump -d 'Show an artefact'
complete -c cavec -n __fish_use_subcommand -a list -d 'Groups of system calls, and built-in sets'
complete -c cavec -n __fish_use_subcommand -a diff -d 'What one policy grants and another does not'
complete -c cavec -n __fish_use_subcommand -a explain -d 'Why something is allowed or refused'
complete -c cavec -n __fish_use_subcommand -a lint -d 'What compiles and is unwise'
complete -c cavec -n __fish_use_subcommand -a fmt -d 'Lay profiles out'
complete -c cavec -n __fish_use_subcommand -a lsp -d 'A language server, for editors'
complete -c cavec -n '__fish_seen_subcommand_from list' -a "$lists"
complete -c cavec -n 'not __fish_seen_subcommand_from list lsp' -k -a '(__fish_complete_suffix .cave)'
complete -c cavec -n '__fish_seen_subcommand_from dump diff explain lint' -k -a '(__fish_complete_suffix .bpf)'

complete -c cavec -n "$compile" -s o -l output -r -F -d 'The artefact to write'
complete -c cavec -n "$compile" -l emit -x -a 'bpf c oci' -d 'Form of what is written'
complete -c cavec -n "$compile" -l arch -x -a 'x86_64 aarch64 riscv64' -d 'Architecture of a bare filter'
complete -c cavec -n "$compile" -l version -d 'Print the versions'

set -l ruled "$compile; or __fish_seen_subcommand_from diff explain lint lsp"
complete -c cavec -n "$ruled" -l root -x -a '(__fish_complete_directories)' -d 'What profiles must lie in'
complete -c cavec -n "$ruled" -l config -r -F -d 'An operator\'s rules'
complete -c cavec -n "$ruled" -l capabilities -r -F -d 'Of such a file, the credentials only'
complete -c cavec -n "$ruled; or __fish_seen_subcommand_from dump list fmt" -s h -l help -d 'Print a summary'

complete -c cavec -n '__fish_seen_subcommand_from diff' -l within -r -F -d 'Is the file inside of this maximum?'
complete -c cavec -n '__fish_seen_subcommand_from diff' -l format -x -a 'text json markdown' -d 'Form of the report'
complete -c cavec -n '__fish_seen_subcommand_from diff' -l color -x -a 'auto always never' -d 'When to colour'
complete -c cavec -n '__fish_seen_subcommand_from explain' -l profile -x -d 'Of a nested profile'
complete -c cavec -n '__fish_seen_subcommand_from explain' -l format -x -a 'text json' -d 'Form of the answer'
complete -c cavec -n '__fish_seen_subcommand_from explain' -a 'connect listen syscall read write execute env lookup'
complete -c cavec -n '__fish_seen_subcommand_from lint' -l fail-on -x -a 'error warning info' -d 'From which level on'
complete -c cavec -n '__fish_seen_subcommand_from lint' -l format -x -a 'text gcc json sarif github' -d 'Form of the report'
complete -c cavec -n '__fish_seen_subcommand_from lint' -l fix -d 'Write fixes that leave the reach as it is'
complete -c cavec -n '__fish_seen_subcommand_from lint' -l unsafe-fix -d 'Make all fixes, and show what they change'
complete -c cavec -n '__fish_seen_subcommand_from lsp' -l stdio -d 'By standard input and output'
complete -c cavec -n '__fish_seen_subcommand_from fmt' -s w -l write -d 'Write the files'
complete -c cavec -n '__fish_seen_subcommand_from fmt' -l check -d 'Name files that are laid out otherwise'
