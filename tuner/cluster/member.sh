# What rsyslog-tune does on a machine of a cluster; it comes on the standard input of `sh -s`.
#
# folder: of the member, its own    command: what it runs, quoted    wait_s: for it to begin or end
# certificate, key: print what they are called
# shellcheck shell=sh disable=SC2154
set -u
umask 077

say() { echo "$*" >&2; }

# A process for good: its id, and when the kernel says that it started; nothing of one that ended and
# that nobody has waited for, as in a container without an init.
started() { grep -v ') Z ' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 22; }

alive() {
    read -r pid since 2>/dev/null <"$folder/pid" && [ -n "$since" ] && [ "$(started "$pid")" = "$since" ]
}

# Whatever the member has started, and they in turn.
below() {
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        echo "$child $(started "$child")"
        below "$child"
    done
}

any_left() {
    echo "$1" | while read -r one since; do
        [ -n "$one" ] && [ "$(started "$one")" = "$since" ] && echo "$one"
    done
}

# Says where it answers.
start() {
    if alive; then
        say "it is a member already"
        exit 1
    fi
    rm -rf "$folder"
    mkdir -p "$folder" || exit 1
    certificate >"$folder/certificate.pem"
    key >"$folder/key.pem"
    eval "exec setsid $command" </dev/null >"$folder/log" 2>&1 &
    echo "$! $(started $!)" >"$folder/pid"
    turns=$((wait_s * 10))
    while [ ! -s "$folder/ready" ]; do
        turns=$((turns - 1))
        if ! alive || [ $turns -le 0 ]; then
            say "$(tail -n 1 "$folder/log")"
            stop
            exit 1
        fi
        sleep 0.1
    done
    cat "$folder/ready"
}

# Ends it, and what it started, and removes what it kept.
stop() {
    if alive; then
        all="$(echo "$pid $since"; below "$pid")"
        kill -TERM "$pid"
        turns=$((wait_s * 10))
        while [ -n "$(any_left "$all")" ] && [ $turns -gt 0 ]; do
            turns=$((turns - 1))
            sleep 0.1
        done
        for one in $(any_left "$all"); do
            kill -KILL "$one" 2>/dev/null
        done
    fi
    rm -rf "$folder"
    rmdir "${folder%/*}" 2>/dev/null
    return 0
}

look() { if alive; then echo alive; else echo gone; fi; }
