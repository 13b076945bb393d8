#!/bin/sh
# A SLURM of one node on this machine, to try the workflow on: one_node.sh start FOLDER, then one_node.sh stop FOLDER.
# Needs munge and SLURM installed (Debian: munge slurm-wlm), and root. There is no accounting database. All state lies in FOLDER;
# while it runs /etc/slurm/slurm.conf is a link to there: steps of a job do not inherit SLURM_CONF from Snakemake's plugin.
set -eu
usage="usage: one_node.sh start|stop FOLDER"
action=${1:?$usage}
folder=${2:?$usage}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
SLURM_CONF="$folder/slurm.conf"
link=/etc/slurm/slurm.conf

start() {
    for needed in munged slurmctld slurmd sinfo; do
        command -v $needed >/dev/null || { echo "error: There is no $needed: install munge and SLURM." >&2; exit 2; }
    done
    [ ! -e $link ] || { echo "error: There is a $link already: this machine has a SLURM." >&2; exit 2; }
    host=$(hostname -s)
    mkdir -p "$folder/state" "$folder/spool" "$folder/munge"
    chmod 700 "$folder/munge"
    [ -e "$folder/munge/key" ] || (umask 077 && head -c 128 /dev/urandom >"$folder/munge/key")
    cat >"$SLURM_CONF" <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${SLURMCTLD_PORT:-16817}
SlurmdPort=${SLURMD_PORT:-16818}
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MinJobAge=300
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(awk '/MemTotal/ {print int($2 / 1024)}' /proc/meminfo) State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
    mkdir -p ${link%/*} && ln -s "$SLURM_CONF" $link
    munged --force --key-file "$folder/munge/key" --socket "$folder/munge/socket" --pid-file "$folder/munge/pid" \
        --log-file "$folder/munge/log" --seed-file "$folder/munge/seed"
    slurmctld
    slurmd
    for second in $(seq 30); do
        if sinfo --noheader --format=%t 2>/dev/null | grep -q -e idle -e mix -e alloc; then
            return
        fi
        sleep 1
    done
    echo "error: The node did not come up: see $folder/slurmctld.log and $folder/slurmd.log." >&2
    exit 1
}

stop() {
    for file in slurmd.pid slurmctld.pid munge/pid; do
        [ ! -e "$folder/$file" ] || kill "$(cat "$folder/$file")" || true
    done
    [ "$(readlink $link)" != "$SLURM_CONF" ] || rm $link
}

case $action in
    start) start ;;
    stop) stop ;;
    *) echo "$usage" >&2; exit 2 ;;
esac
