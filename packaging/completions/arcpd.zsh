#compdef arcpd
# zsh completion for arcpd
_arguments \
  '--config[read this configuration file; options override it]:FILE:_files' \
  '--check-config[check this file and the other options, and exit]:FILE:_files' \
  '--check-store[verify the checksums of the whole store, and exit]' \
  '*--listen[accept sessions at this URL]:URL:' \
  '--store[keep state in sqlite\:PATH or memory\:]:URL:' \
  '*--token[accept TOKEN as PRINCIPAL]:TOKEN=PRINCIPAL:' \
  '--token-file[read TOKEN=PRINCIPAL lines from this file]:FILE:_files' \
  '--no-auth[disable authentication (loopback listeners only)]' \
  '*--agent[run COMMAND for jobs submitted to NAME]:NAME=COMMAND:' \
  '--stdio[serve one session over standard input and output]' \
  '--enforce[run agents in sandboxes made from their leases]:WHETHER:(on off)' \
  '--enforce-min[how exactly each line of a lease must be enforced]:VERDICT:(exact under advisory)' \
  '--workers-local[which process runs the programs of jobs]:WHICH:(none spawn external)' \
  '--log-level[least level of the log]:LEVEL:(debug info warn error)' \
  '--record[write a trace for arcp replay to this file]:FILE:_files' \
  '--record-bytes[largest size of the trace in bytes]:N:' \
  '(-V --version)'{-V,--version}'[print the version and exit]' \
  '(-h --help)'{-h,--help}'[print a summary of the options and exit]'
