# netns.bash: machines that are network namespaces: each has an address, a host name and a link of a limited rate to one
# switch, which is also a namespace, so that this machine's own network is untouched. As root, on Linux with
# veth, bridge and tc's tbf. Sourced; the names have the script's process id, so that runs do not collide.
#   net_up COUNT RATE     machines 1..COUNT: 10.77.0.1, .2, ...; RATE as tc has it (1gbit), each way, or "none"
#   net_run I COMMAND...  on machine I, whose host name is machine-I
#   net_cut I, net_mend I cuts and restores its link
#   net_rsh FILE          makes FILE, which mpirun calls instead of ssh: FILE ADDRESS COMMAND...
#   net_down              ends them all, with every process in them
net_prefix=wl$$
net_count=0
net_possible() { [ "$(id -u)" = 0 ] && ip netns add "$net_prefix-try" 2>/dev/null && ip netns del "$net_prefix-try"; }
net_up() {
    local i count=$1 rate=$2 switch=$net_prefix-s
    net_count=$count
    ip netns add "$switch" && ip -n "$switch" link add br0 type bridge && ip -n "$switch" link set br0 up || return 1
    for i in $(seq "$count"); do
        ip netns add "$net_prefix-$i" &&
            ip -n "$net_prefix-$i" link add eth0 type veth peer name "port$i" netns "$switch" &&
            ip -n "$switch" link set "port$i" master br0 up &&
            ip -n "$net_prefix-$i" addr add "10.77.0.$i/24" dev eth0 &&
            ip -n "$net_prefix-$i" link set lo up && ip -n "$net_prefix-$i" link set eth0 up || return 1
        [ "$rate" = none ] || {
            # A burst of a few large packets, as network cards send them; a queue of 50 ms, as in a switch.
            tc -n "$net_prefix-$i" qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 50ms &&
                tc -n "$switch" qdisc add dev "port$i" root tbf rate "$rate" burst 256kb latency 50ms || return 1
        }
    done
}
net_run() {
    local i=$1
    shift
    # shellcheck disable=SC2016 # the inner shell expands it
    nsenter --net="/run/netns/$net_prefix-$i" unshare --uts -- \
        sh -c 'hostname "$0" && exec "$@"' "machine-$i" "$@"
}
net_cut() { ip -n "$net_prefix-s" link set "port$1" down; }
net_mend() { ip -n "$net_prefix-s" link set "port$1" up; }
net_rsh() {
    {
        echo '#!/bin/bash'
        echo "net_prefix=$net_prefix"
        declare -f net_run
        echo 'machine=${1##*.}; shift; net_run "$machine" sh -c "$*" </dev/null'
    } >"$1"
    chmod +x "$1"
}
net_down() {
    local i pid
    for i in $(seq "$net_count") s; do
        for pid in $(ip netns pids "$net_prefix-$i" 2>/dev/null); do kill -9 "$pid" 2>/dev/null; done
        ip netns del "$net_prefix-$i" 2>/dev/null
    done
    return 0
}
