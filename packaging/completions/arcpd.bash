# bash completion for arcpd
_arcpd()
{
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
    if [ "$current" = = ]; then
        current=""
    elif [ "$previous" = = ] && ((COMP_CWORD > 1)); then
        previous="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    case "$previous" in
        --config | --check-config | --token-file | --record)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            ;;
        --enforce) mapfile -t COMPREPLY < <(compgen -W "on off" -- "$current") ;;
        --enforce-min) mapfile -t COMPREPLY < <(compgen -W "exact under advisory" -- "$current") ;;
        --workers-local) mapfile -t COMPREPLY < <(compgen -W "none spawn external" -- "$current") ;;
        --log-level) mapfile -t COMPREPLY < <(compgen -W "debug info warn error" -- "$current") ;;
        --listen | --store | --token | --agent | --record-bytes) COMPREPLY=() ;;
        *) mapfile -t COMPREPLY < <(compgen -W "--config --check-config --check-store --listen --store --token --token-file --no-auth
            --agent --stdio --enforce --enforce-min --workers-local --log-level --record --record-bytes --version --help" -- "$current") ;;
    esac
}
complete -F _arcpd arcpd
