#!/bin/bash
# Tests cmake/launch_again with launchers that lose commands.
#
#   launch_again_test.sh <our source folder> <folder to work in>
set -euo pipefail

again=$1/cmake/launch_again
work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work"

fail() {
  echo "FAILED: $1" >&2
  cat said told >&2
  exit 1
}

run() { # <exit code> <argument>...; writes stdout to `said`, stderr to `told`
  local expected=$1 code=0
  shift
  "$again" "$@" >said 2>told || code=$?
  [ $code = "$expected" ] || fail "exit code $code instead of $expected: $*"
}

# A launcher that loses the command as often as the file `losses` says, and then exits with that file's code.
cat >loser <<'END'
#!/bin/sh
read -r left code <losses
[ "$1" = --careless ] && shift
if [ "$left" -gt 0 ]; then
  echo "$((left - 1)) $code" >losses
  echo "a line of the launcher"
  exit "$code"
fi
exec "$@"
END
chmod +x loser

# Output, exit code and arguments of the command stay unchanged, also arguments that look like options.
echo '0 0' >losses
run 0 ./loser --careless -- printf '%s|' 'a b' '*' '--' "q'\"q\$x" ''
[ "$(cat said)" = "a b|*|--|q'\"q\$x||" ] || fail "arguments change"
run 3 ./loser -- sh -c 'printf "two\nlines\n"; echo other >&2; exit 3'
printf 'two\nlines\n' | cmp - said || fail "the output changes"
[ "$(cat told)" = other ] || fail "it prints a message although no command was lost"

# A command that fails was not lost, so it is not launched again.
run 1 ./loser -- sh -c 'echo once >>times; exit 1'
[ "$(wc -l <times)" = 1 ] || fail "a failed command is launched again"

# Lost twice, with each kind of exit code. The third launch succeeds.
for code in 0 1 143; do
  echo "2 $code" >losses
  run 7 ./loser -- sh -c 'exit 7'
  [ "$(grep -c "loser ended with $code, and not the command" told)" = 2 ] || fail "it does not report the lost command"
  [ "$(grep -c "a line of the launcher" said)" = 2 ] || fail "the output of the launcher is lost"
done

# Lost three times.
echo '9 0' >losses
run 75 ./loser -- true
grep -q '3 of 3' told || fail "it does not report the number of attempts"
[ "$(cat losses)" = '6 0' ] || fail "it does not try three times"

# Invalid calls.
run 127 ./none -- true
! grep -q "^launch_again:" told || fail "it launches a missing launcher again"
run 2 ./loser true
run 2 -- true
run 2

# A signal while the launcher runs: the lost command is not launched again.
for signal in INT:130 TERM:143 HUP:129; do
  printf '#!/bin/sh\necho begun >>begun\nexec sleep 30\n' >sleeper
  chmod +x sleeper
  rm -f begun
  setsid python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$again" ./sleeper -- true >said 2>told &
  child=$!
  for _ in $(seq 1200); do [ -s begun ] && break; sleep 0.05; done
  kill -"${signal%:*}" -- -$child
  code=0
  wait $child || code=$?
  [ $code = "${signal#*:}" ] || fail "exit code $code after SIG$signal"
  [ "$(wc -l <begun)" = 1 ] || fail "it continues after SIG$signal"
done
rm -rf "$work"
