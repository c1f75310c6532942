# What rsyslog-tune does on a host.  It comes on the standard input of `sh -s`, followed by what it
# is about (settings, functions that print files) and by one call: of a stream that is cut off
# nothing runs.  Every step is in the journal before it is done, and can be done again.
#
# state: folder of our own    lives: the files to replace, a line each    main: the host's own rsyslog.conf
# folder: its drop-ins    unit or restart_with, pid_file: the service    sockets: tcp:PORT udp:PORT
# run: which change is meant, empty for any    absent: numbers of files that go    wait_s: for another of these    patience_s: for the service
# most_bytes: of a file that is shown
# shellcheck shell=sh disable=SC2154
set -eu
umask 077
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL
pending=$state/pending
units=/etc/systemd/system
boot_unit=rsyslog-tune-restore.service

say() { printf '%s\n' "$*"; }

fail() { # fail CODE WORDS: end with that code.
    code=$1
    shift
    say "$*" >&2
    exit "$code"
}

alone() { # One of these at a time.  The kernel lets go when we die; what we start must not hold it.
    exec 9>"$state/busy"
    flock -w "$wait_s" 9 || fail 75 "another apply, confirm or recover works on this host: try again when it has ended"
}

note() { # Say for good what comes next.
    say "$1" >>"$pending/journal"
    to_disk
}

to_disk() { # coreutils since 8.24 take names
    sync "$pending/journal" "$@" 2>/dev/null || sync
}

noted() { grep -qx "$1" "$pending/journal" 2>/dev/null; }

no_link() { # no_link PATH: neither it nor a folder on the way is a symbolic link.
    path=$1
    while [ "$path" != / ]; do
        [ ! -L "$path" ] || fail 5 "$path is a symbolic link: name the place it stands for"
        path=$(dirname "$path")
    done
}

each_file() { # each_file STEP: that with the number and the path of every file to replace.
    number=0
    for live in $lives; do
        number=$((number + 1))
        "$1" "$number" "$live"
    done
}

place() { # place NUMBER PATH: it is a file, in a folder that we may write into.
    no_link "$2"
    [ ! -e "$2" ] || [ -f "$2" ] || fail 5 "$2 is not a file"
    writable "$(dirname "$2")"
}

writable() {
    [ -w "$1" ] || fail 5 "cannot write to $1 as $(id -un): log in as root, or use ?sudo=true"
}

places() { # What we write into is ours to write, and nobody else's.
    each_file place
    no_link "$state"
    [ -d "$folder" ] || fail 5 "$folder is not there: name the folder of the drop-ins in paths"
    writable "$folder"
    if [ -e "$state" ] && { [ ! -O "$state" ] || [ -n "$(find "$state" -prune -perm /022)" ]; }; then
        fail 5 "$state is not $(id -un)'s alone: chown it to $(id -un), and chmod go-w"
    fi
}

pid_now() { # The process of the service; nothing when it is not there.
    if [ -n "$unit" ]; then
        found=$(systemctl show --property MainPID --value "$unit" 2>/dev/null || :)
    else
        found=$(cat "$pid_file" 2>/dev/null || :)
    fi
    [ -z "$found" ] || [ ! -r "/proc/$found/comm" ] || say "$found"
}

inodes_of() { # inodes_of tcp:PORT: its sockets that take something; proc(5), 0A listens, 07 is UDP.
    protocol=${1%:*} takes=0A
    [ "$protocol" = tcp ] || takes=07
    awk -v at=":$(printf %04X "${1#*:}")\$" -v takes=$takes '$2 ~ at && $4 == takes { print $10 }' \
        "/proc/net/$protocol" "/proc/net/${protocol}6" 2>/dev/null
}

has_socket() { # has_socket PID tcp:PORT
    for inode in $(inodes_of "$2"); do
        if find "/proc/$1/fd" -lname "socket:\\[$inode\\]" 2>/dev/null | grep -q .; then
            return 0
        fi
    done
    return 1
}

show() { # show NUMBER PATH: what it holds, where it is there.
    [ ! -f "$2" ] || [ "$(stat -c %s "$2")" -le "$most_bytes" ] ||
        fail 5 "$2 is larger than $((most_bytes >> 20)) MiB: rsyslog-tune reads none so large"
    [ ! -f "$2" ] || say "live $2 $(base64 -w0 "$2")"
}

inspect() { # What this host has and runs, a fact a line.
    say "rsyslogd $(rsyslogd -v 2>/dev/null | sed -n '1s/^rsyslogd  *\([0-9.]*\).*/\1/p')"
    each_file show
    [ ! -d "$pending" ] || say "pending $(cat "$pending/holder" 2>/dev/null || say unknown)"
    pid=$(pid_now)
    say "pid ${pid:-0}"
    [ ! -f "$state/restart" ] || say "restart $(cat "$state/restart")"
    for socket in $sockets; do
        if [ -n "$pid" ] && has_socket "$pid" "$socket"; then
            say "open $socket"
        elif [ -n "$(inodes_of "$socket")" ]; then
            say "taken $socket"
        fi
    done
}

is_newer() { # is_newer NUMBER PATH: it changed after $started; the clock may have been set.
    [ ! -f "$2" ] || [ "$started" -ge "$(($(stat -c %Y "$2") - 5))" ] || say "stale $2"
}

started_at() { # When $pid began, in seconds since 1970.
    booted=$(sed -n 's/^btime //p' /proc/stat)
    # The name of a process may hold blanks: field 22 is the 20th behind it.
    ticks=$(sed 's/.*) //' "/proc/$pid/stat" | cut -d ' ' -f 20)
    say "$((booted + ticks / $(getconf CLK_TCK)))"
}

most_files() { # How many files $pid may have open.
    sed -n 's/^Max open files *\([0-9a-z]*\).*/\1/p' "/proc/$pid/limits"
}

counted() { # What the kernel counts of rsyslogd, and of sockets on the UDP ports $ports; reads only.
    pid=$(pid_now)
    say "now $(date +%s)"
    if [ -n "$pid" ]; then
        say "started $(started_at)"
        say "files $(most_files)"
    fi
    for port in $ports; do
        say "drops $port $(
            awk -v at=":$(printf %04X "$port")\$" '$2 ~ at { sum += $13 } END { print sum + 0 }' \
                /proc/net/udp /proc/net/udp6 2>/dev/null
        )"
    done
}

threads() { # The CPU of each thread of rsyslogd, proc(5); reads only.
    pid=$(pid_now)
    if [ -n "$pid" ]; then
        cat "/proc/$pid/task/"*/stat 2>/dev/null | sed 's/^/thread /'
    fi
}

examine() { # What verify asks beside: whether what runs is what is there, and what it needs.
    if rsyslogd -N1 -f "$main" >/dev/null 2>&1; then say "accepted yes"; fi
    if grep -qs "$folder/" "$main"; then say "includes yes"; fi
    if [ -n "$pid" ]; then
        started=$(started_at)
        each_file is_newer
        say "files $(most_files)"
        say "uid $(stat -c %u "/proc/$pid")"
    fi
    say "rmem $(cat /proc/sys/net/core/rmem_max 2>/dev/null || say 0)"
    while read -r kind path; do
        if [ -z "$path" ]; then
            continue
        elif [ ! -e "$path" ]; then
            say "missing $path"
        elif [ "$kind" = certificate ]; then
            openssl x509 -noout -checkend 2592000 -in "$path" >/dev/null 2>&1 || say "ends $path"
        elif [ "$kind" = secret ]; then
            say "mode $(stat -Lc %a "$path") $path"
        fi
    done <<END
$needed
END
}

run_service() { # Start or restart it; its words go to a file.
    if [ -n "$unit" ]; then
        # After several starts that failed systemd refuses the next one.
        systemctl reset-failed "$unit" >/dev/null 2>&1 9>&- || :
        systemctl restart "$unit" >"$pending/said" 2>&1 9>&-
    else
        sh -c "$restart_with" >"$pending/said" 2>&1 </dev/null 9>&-
    fi
}

no_socket() { # Datagrams to this host for which no socket was there, since it started.
    awk '$1 == "Udp:" && $3 ~ /^[0-9]/ { sum += $3 } $1 == "Udp6NoPorts" { sum += $2 } END { print sum + 0 }' \
        /proc/net/snmp /proc/net/snmp6 2>/dev/null
}

uptime_ms() { awk '{ print int($1 * 1000) }' /proc/uptime; }

begin_restart() { # What is away from now on, and what comes meanwhile, is what the restart costs.
    away_since=$(uptime_ms)
    missed_before=$(no_socket)
}

end_restart() { say "$(($(uptime_ms) - away_since)) $(($(no_socket) - missed_before))" >"$state/restart"; }

runs_anew() { # Another process than before, which has each socket of $1.
    pid=$(pid_now)
    [ -n "$pid" ] && [ "$pid" != "$(cat "$pending/pid")" ] || return 1
    for socket in $1; do
        has_socket "$pid" "$socket" || return 1
    done
}

await() { # await SOCKETS: it runs anew within $patience_s seconds.
    tries=$((patience_s * 5))
    until runs_anew "$1"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.2
    done
}

goes() { # goes NUMBER: that file is to be there no longer.
    case " $absent " in *" $1 "*) return 0 ;; esac
    return 1
}

lay() { # lay NUMBER PATH: the new file among the others of its kind.
    if goes "$1"; then
        [ "$2" != "$main" ] || fail 5 "$main was not there before, and rsyslogd needs it"
        rm -f "$stage/all/$(basename "$2")"
        has_drop_in=gone
    elif [ "$2" = "$main" ]; then
        whole=$stage/new-$1
    else
        cp "$stage/new-$1" "$stage/all/$(basename "$2")"
        has_drop_in=yes
    fi
}

check() { # rsyslogd reads the whole configuration as it would be.  $stage is where AppArmor lets it.
    whole=$main has_drop_in=
    mkdir "$stage/all"
    for drop_in in "$folder"/*.conf; do
        [ ! -f "$drop_in" ] || cp "$drop_in" "$stage/all/"
    done
    each_file lay
    if [ -n "$has_drop_in" ]; then
        sed "s#$folder/#$stage/all/#g" "$whole" >"$stage/main"
        whole=$stage/main
        grep -q "$stage/all/" "$whole" || [ "$has_drop_in" = gone ] ||
            fail 5 "$main includes nothing of $folder: a fragment there has no effect"
    fi
    code=0
    rsyslogd -N1 -f "$whole" >"$pending/said" 2>&1 || code=$?
    [ "$code" -eq 0 ] || {
        grep -v -e 'version 8\.' -e 'End of config' "$pending/said" >&2 || :
        [ "$code" -lt 128 ] || say "rsyslogd died by signal $((code - 128))" >&2
        return 1
    }
}

restore_at_boot() { # The unit that restores when this host starts anew, which ends every timer.
    cat <<END
[Unit]
Description=Puts back what rsyslog-tune changed and nobody confirmed
ConditionPathExists=$pending/undo-$run
After=${unit:-rsyslog.service}
[Service]
Type=oneshot
ExecStart=/bin/sh $pending/undo-$run
[Install]
WantedBy=multi-user.target
END
}

arm_boot() {
    [ -d /run/systemd/system ] || return 0
    mkdir -p "$units/multi-user.target.wants"
    restore_at_boot >"$units/$boot_unit"
    ln -sf "$units/$boot_unit" "$units/multi-user.target.wants/$boot_unit"
    to_disk "$units/$boot_unit"
}

reserves() { # Where the way back writes: our state, and beside the files.
    say "$pending/reserve"
    say "$(dirname "$main")/.rsyslog-tune-reserve"
}

reserve() { # Room for the way back, should the disks fill up meanwhile.
    # shellcheck disable=SC2086
    needed=$((65536 + $(cat /dev/null $(ls -d $lives 2>/dev/null) | wc -c)))
    for file in $(reserves); do
        head -c "$needed" /dev/zero >"$file"
    done
}

arm() { # The restore comes by itself after $confirm_within_s seconds, whatever becomes of us.
    reserve
    arm_boot
    if systemd-run --collect --unit "rsyslog-tune-restore-$run" --on-active "$confirm_within_s" \
        --timer-property AccuracySec=1s sh "$pending/undo-$run" >/dev/null 2>&1 9>&-; then
        return
    fi
    # No systemd runs here.
    # shellcheck disable=SC2016
    setsid sh -c 'sleep "$1"; exec sh "$2"' sh "$confirm_within_s" "$pending/undo-$run" \
        >/dev/null 2>&1 </dev/null 9>&- &
    say $! >"$pending/timer"
}

disarm() {
    noted arm || return 0
    # shellcheck disable=SC2046
    rm -f $(reserves)
    rm -f "$units/multi-user.target.wants/$boot_unit" "$units/$boot_unit"
    timer=$(cat "$pending/timer" 2>/dev/null || :)
    if [ -z "$timer" ]; then
        systemctl stop "rsyslog-tune-restore-$(cat "$pending/run").timer" >/dev/null 2>&1 || :
    # Another process may have that number by now; or we are the timer's.
    elif [ "$timer" != $$ ] && grep -qs "$pending/undo-" "/proc/$timer/cmdline"; then
        kill -- "-$timer" 2>/dev/null || :
    fi
}

tidy() { # The journal goes last, and at once.
    disarm
    rm -rf "$stage"
    rm -rf "$state/gone"
    mv "$pending" "$state/gone"
    rm -rf "$state/gone"
}

back_up() { # back_up NUMBER PATH: keep what is there, and make ready what comes.
    [ ! -f "$2" ] || cp -a "$2" "$pending/backup-$1"
    if goes "$1"; then
        : >"$pending/put-$1"
        return
    elif [ -f "$2" ]; then
        # Its owner, mode and labels with our content.
        cp -a "$2" "$stage/put-$1"
    else
        : >"$stage/put-$1"
        chmod "$mode" "$stage/put-$1"
    fi
    cat "$stage/new-$1" >"$stage/put-$1"
    sha256sum <"$stage/new-$1" >"$pending/put-$1"
}

replace() { # replace NUMBER PATH: at once.
    if goes "$1"; then rm -f "$2"; else mv "$stage/put-$1" "$2"; fi
}

stage_file() { # stage_file NUMBER PATH: the new file, where it may be read.
    goes "$1" || "candidate_$1" >"$stage/new-$1"
}

apply() { # Validate, back up, arm, replace, restart, look.
    places
    mkdir -p "$state"
    alone
    mkdir "$pending" 2>/dev/null ||
        fail 75 "has an unfinished change by $(cat "$pending/holder" 2>/dev/null)"
    say "$run" >"$pending/run"
    say "$holder" >"$pending/holder"
    say "$lives" >"$pending/files"
    undo >"$pending/undo-$run"
    pid_now >"$pending/pid"
    [ -s "$pending/pid" ] || note down
    note stage
    rm -rf "$stage"
    mkdir "$stage"
    each_file stage_file
    check || fail 1 "its rsyslogd rejects the configuration"
    note backup
    each_file back_up
    if [ "$confirm_within_s" -gt 0 ]; then
        note arm
        arm
    fi
    note replace
    to_disk "$stage"/put-* "$pending"/*
    each_file replace
    rm -rf "$stage"
    note restart
    begin_restart
    run_service || fail 1 "the service did not restart: $(tail -n 3 "$pending/said")"
    await "$sockets" || fail 1 "rsyslogd does not run, or does not listen on $sockets" \
        "$patience_s s after the restart: $(tail -n 3 "$pending/said")"
    end_restart
    note applied
}

is_others() { # is_others NUMBER PATH: it holds neither what was put nor what was there before.
    [ -f "$2" ] || return 1
    there=$(sha256sum <"$2")
    [ "$there" != "$(cat "$pending/put-$1")" ] || return 1
    [ ! -f "$pending/backup-$1" ] || [ "$there" != "$(sha256sum <"$pending/backup-$1")" ]
}

put_back() { # put_back NUMBER PATH: what was there, or nothing; what others put there is kept.
    if is_others "$1" "$2"; then
        copy=$state/changed-meanwhile-$(cat "$pending/run")-$1-$(basename "$2")
        cp -a "$2" "$copy"
        to_disk "$copy"
        say "somebody else changed $2 meanwhile: what it held is kept as $copy" >>"$pending/others"
    fi
    if [ -f "$pending/backup-$1" ]; then
        cp -a "$pending/backup-$1" "$stage/old-$1"
        to_disk "$stage/old-$1"
        mv "$stage/old-$1" "$2"
    else
        rm -f "$2"
    fi
}

kept_last() { # The run of the change that was kept last.
    cat "$state/previous/run" 2>/dev/null || :
}

restore() { # As it was before, and which configuration the host has then; nothing to do is fine.
    if [ ! -d "$state" ]; then
        say before
        return
    fi
    alone
    if noted kept; then
        finish
    fi
    if [ -n "$run" ] && [ "$run" = "$(kept_last)" ]; then
        say kept
        return
    elif [ ! -d "$pending" ]; then
        say before
        return
    elif [ -n "$run" ] && [ -f "$pending/run" ] && [ "$run" != "$(cat "$pending/run")" ]; then
        say others
        return
    fi
    # shellcheck disable=SC2046
    rm -f $(reserves)
    # Once it is done, whoever mends what keeps the service from starting may change them again.
    if noted replace && ! noted back; then
        # Which files they were is the host's to say: who restores may know of others.
        lives=$(cat "$pending/files")
        mkdir -p "$stage"
        each_file put_back
        note back
    fi
    if noted restart; then
        pid_now >"$pending/pid"
        begin_restart
        if run_service && await ""; then
            end_restart
        else
            noted down || {
                tail -n 3 "$pending/said" >&2
                fail 1 "the files are restored, but the service does not start"
            }
            say "rsyslogd does not start, as before the change"
        fi
    fi
    cat "$pending/others" 2>/dev/null || :
    tidy
    say restored
}

keep() { # The change stays; what was there before is kept beside.
    [ ! -d "$state" ] || alone
    if noted kept; then
        finish
    fi
    # It may be asked again, where the answer was lost.
    [ "$(kept_last)" != "$run" ] || return 0
    { [ "$(cat "$pending/run" 2>/dev/null)" = "$run" ] && ! noted back; } ||
        fail 1 "nothing waits to be confirmed: it was restored already; rsyslog-tune recover ends it"
    note kept
    finish
}

remember() { # remember NUMBER PATH: what was there before, and what it gave way to.
    for kind in backup put; do
        [ ! -f "$pending/$kind-$1" ] || cp -a "$pending/$kind-$1" "$state/coming/"
    done
}

finish() { # What was there before the change that was kept last is remembered, and which that is.
    lives=$(cat "$pending/files")
    rm -rf "$state/coming"
    mkdir "$state/coming"
    each_file remember
    cp "$pending/files" "$pending/run" "$state/coming/"
    rm -rf "$state/previous"
    mv "$state/coming" "$state/previous"
    tidy
}

was() { # was NUMBER PATH: what the change put there, its digest, and what was there before.
    put=$(cut -d ' ' -f 1 "$state/previous/put-$1")
    if [ -f "$state/previous/backup-$1" ]; then
        say "was $2 ${put:-nothing} $(base64 -w0 "$state/previous/backup-$1")="
    else
        say "was $2 ${put:-nothing}"
    fi
}

previous() { # The run of the change that was kept last, and each file of it.
    [ -d "$state/previous" ] || return 0
    say "run $(kept_last)"
    lives=$(cat "$state/previous/files")
    each_file was
}

event() { # event ADDRESS PORT tcp|udp MARK: one event by the way that others take.
    logger --server "$1" --port "$2" "--$3" --tag "$4" "$4"
}
