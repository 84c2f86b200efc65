#!/bin/bash
# Compiles kernels with Slurm: a controller and two nodes, which run on this machine as this user. Cases: a node dies, a build
# is interrupted, a kernel has an error. The outputs must have the same bytes as those of a local build.
#
#   slurm_test.sh <our build folder> <folder to work in> [<number of variants>]
#
# Prints [SKIP] and the reason if Slurm is missing or does not start. To install it:
# `apt-get install --no-install-recommends slurm-wlm`.
set -euo pipefail
export TRITONC_CACHE_DIR=off # with a cache, the second build would compile nothing

package=$1 work=$2 variants=${3:-24}
log="$work/log"
export SLURM_CONF="$work/slurm.conf"

skip() {
  echo "[SKIP] $1"
  exit 0
}

fail() {
  echo "FAILED: $1" >&2
  [ -f "$log" ] && cat "$log" >&2
  tail -n 20 "$work"/*.daemon >&2
  exit 1
}

for program in slurmctld slurmd srun squeue sinfo; do
  command -v $program >/dev/null || PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip "there is no $program"
done
PATH=$PATH:/usr/sbin

# ---- the cluster ----

declare -A daemon=()

# Kills the daemon of a node, its step daemons and its jobs. A job has the name of its node in its environment.
kill_node() {
  kill -KILL ${daemon[$1]} 2>/dev/null || true
  wait ${daemon[$1]} 2>/dev/null || true
  local environment task parent
  for environment in $(grep -slz "^SLURM_CONF=$SLURM_CONF\$" /proc/[0-9]*/environ); do
    grep -qsz "^SLURMD_NODENAME=$1\$" "$environment" || continue
    task=${environment#/proc/} task=${task%/environ}
    parent=$(sed -n 's/^PPid:\t//p' /proc/$task/status 2>/dev/null || true)
    [ "$(cat /proc/${parent:-x}/comm 2>/dev/null)" = slurmstepd ] && kill -KILL $parent
    kill -KILL $task 2>/dev/null || true
  done
}

start_node() {
  slurmd -D -N $1 >"$work/$1.daemon" 2>&1 &
  daemon[$1]=$!
}

stop_cluster() {
  local name
  for name in "${!daemon[@]}"; do
    [ $name = controller ] || kill_node $name
  done
  kill ${daemon[controller]} 2>/dev/null || true
  wait
}

wait_until() { # <seconds> <command>...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.2
  done
}

both_idle() { [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | sort | tr '\n' ' ')" = "a b " ]; }
no_jobs() { [ -z "$(squeue -h 2>/dev/null)" ]; }

rm -rf "$work"
mkdir -p "$work/state" "$work/project"
port=$((20000 + $$ % 10000 * 3))
host=$(hostname -s)
cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
SlurmdTimeout=5
KillWait=1
ReturnToService=2
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
SlurmctldPidFile=$work/controller.pid
SlurmdPidFile=$work/%n.pid
NodeName=a NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=4
NodeName=b NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=4
PartitionName=all Nodes=ALL Default=YES State=UP
END
trap stop_cluster EXIT
slurmctld -D >"$work/controller.daemon" 2>&1 &
daemon[controller]=$!
start_node a
start_node b
if ! wait_until 30 both_idle; then
  tail -n 5 "$work"/*.daemon
  skip "Slurm does not start here as user $(id -un)"
fi

# ---- what is compiled ----

cat >"$work/project/one.tc" <<'END'
#pragma tritonc grid(n / SIZE)
__global__ void one(float *x, int n) {
  float *p[SIZE] = x + get_program_id(0) * SIZE + 0 ... SIZE;
  *p = *p * FACTOR;
}
END
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(cluster LANGUAGES CXX)
find_package(TritonC REQUIRED)
triton_add_kernels(one SOURCES one.tc ARCHITECTURES 90a
  VARIANTS SIZE=128,256 FACTOR=$(seq -s, 3 $((variants / 2 + 2))) \${OPTIONS})
END

# A build with parts; ptxas takes its time, so that there is some in which things can happen.
tool=$("$package/bin/tritonc" doctor | sed -n 's/^ptxas *\([^ ]*\) (.*/\1/p')
printf '#!/bin/sh\ncase $* in *--version*) ;; *) sleep 0.5;; esac\nexec "%s" "$@"\n' "$tool" >"$work/slow_ptxas"
chmod +x "$work/slow_ptxas"
launch="$package/launch_again;srun;-n1;-c1;--quiet;--input=none;--quit-on-interrupt;--"
configure() { # <build> <option>...
  rm -rf "$work/$1"
  cmake -S "$work/project" -B "$work/$1" -G Ninja "-DTritonC_DIR=$package" "${@:2}" >"$log" 2>&1 || fail "cannot configure"
}
configure_cluster() { # <build>
  configure $1 "-DOPTIONS=SHARDS;8" "-DTritonC_LAUNCHER=$launch" "-DTritonC_PTXAS=$work/slow_ptxas"
}
builds() { cmake --build "$work/$1" -j 8 >"$log" 2>&1; }
compare() { # <build> <with which>
  local file
  for file in one.o one.manifest.json include/one.hpp; do
    cmp "$work/$1/one.kernels/$file" "$work/$2/one.kernels/$file" || fail "$file of $1 is another than that of $2"
  done
}
jobs_on() { grep -c "allocate_resources.*NodeList=$1" "$work/controller.daemon"; }

configure local "-DTritonC_PTXAS=$tool"
builds local || fail "the build without a cluster fails"

# Both nodes compile shards. (The objects depend on the version of ptxas, not on its name.)
configure_cluster whole
builds whole || fail "the build on the cluster fails"
compare whole local
[ "$(jobs_on a)" -gt 0 ] && [ "$(jobs_on b)" -gt 0 ] || fail "a node has compiled nothing"
builds whole && grep -q "no work to do" "$log" || fail "a second build has something to do"

# An error in a kernel fails the build, and the command is not launched again.
jobs=$(($(jobs_on a) + $(jobs_on b)))
sed 's/n)/m)/' -i.right "$work/project/one.tc"
configure_cluster wrong
cmake --build "$work/wrong" -j 1 >"$log" 2>&1 && fail "a kernel with an error compiles"
grep -q "error: .*\`n\`" "$log" && ! grep -q "^launch_again:" "$log" || fail "the build does not report the error, or launches it again"
[ $(($(jobs_on a) + $(jobs_on b))) = $((jobs + 1)) ] || fail "a kernel with an error is compiled again"
mv "$work/project/one.tc.right" "$work/project/one.tc"

# An interrupted build leaves no job, and the next build continues. (A background process of a script ignores SIGINT, so
# Python restores the default handler.)
for signal in INT TERM; do
  configure_cluster interrupted
  setsid python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' cmake --build "$work/interrupted" -j 8 >"$log" 2>&1 &
  child=$!
  has_jobs() { [ -n "$(squeue -h -t running)" ]; }
  wait_until 10 has_jobs || fail "no job runs"
  kill -$signal -- -$child
  wait $child && fail "the build succeeds after SIG$signal"
  wait_until 5 no_jobs || fail "jobs continue after SIG$signal: $(squeue -h)"
  builds interrupted || fail "the build after SIG$signal fails"
  compare interrupted local
done

# An interrupted tritonc tune leaves no tuner process and no file.
cat >"$work/runner" <<END
#!/bin/sh
if [ "\$1" = describe ]; then
  printf 'kernel\tadd\t\ti32 n\nvariant\tSIZE=1\n'
  exit
fi
echo \$\$ >>"$work/measuring"
exec sleep 100
END
chmod +x "$work/runner"
for signal in INT TERM; do
  : >"$work/measuring"
  "$package/bin/tritonc" tune "$work/runner" --problems "n=1,2" --parts 2 --launcher "srun -n1 -c1 --quiet" \
    -o "$work/tune.json" >"$log" 2>&1 &
  child=$!
  both_measure() { [ "$(wc -l <"$work/measuring")" = 2 ]; }
  wait_until 20 both_measure || fail "less than two tuners have started"
  kill -$signal $child
  wait $child && fail "tritonc tune succeeds after SIG$signal"
  wait_until 5 no_jobs || fail "tuners continue after SIG$signal: $(squeue -h)"
  for task in $(cat "$work/measuring"); do
    [ ! -d /proc/$task ] || fail "a tuner still runs after SIG$signal"
  done
  [ ! -e "$work/tune.json" ] || fail "tritonc tune wrote a file after SIG$signal"
done

# A node dies. The other node compiles its shards.
configure_cluster dying
builds dying &
child=$!
has_job_on_b() { [ -n "$(squeue -h -t running -w b)" ]; }
wait_until 10 has_job_on_b || fail "node b has nothing to do"
kill_node b
wait $child || fail "the build fails when a node dies"
grep -q "launch_again: srun ended with [0-9]*, and not the command (1 of 3)" "$log" || fail "no command was launched again"
compare dying local
echo "$variants variants; $(grep -c '^launch_again:' "$log") of 8 shards were launched again"
trap - EXIT
stop_cluster
rm -rf "$work"
