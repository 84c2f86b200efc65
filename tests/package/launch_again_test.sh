#!/bin/bash
# cmake/launch_again with launchers that lose what they are given.
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

run() { # <exit code> <argument>...: what it says is then in `said` and `told`
  local expected=$1 code=0
  shift
  "$again" "$@" >said 2>told || code=$?
  [ $code = "$expected" ] || fail "exit code $code instead of $expected: $*"
}

# Loses the command so many times as the file `losses` says, and then ends with the code there.
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

# What a command says and its exit code arrive as they are; the launcher's options, and what looks like one, too.
echo '0 0' >losses
run 0 ./loser --careless -- printf '%s|' 'a b' '*' '--' "q'\"q\$x" ''
[ "$(cat said)" = "a b|*|--|q'\"q\$x||" ] || fail "arguments change"
run 3 ./loser -- sh -c 'printf "two\nlines\n"; echo other >&2; exit 3'
printf 'two\nlines\n' | cmp - said || fail "the output changes"
[ "$(cat told)" = other ] || fail "it says something where nothing was lost"

# A command that fails has ended, and is not launched again.
run 1 ./loser -- sh -c 'echo once >>times; exit 1'
[ "$(wc -l <times)" = 1 ] || fail "a failure is launched again"

# Lost, with each kind of exit code, and then not.
for code in 0 1 143; do
  echo "2 $code" >losses
  run 7 ./loser -- sh -c 'exit 7'
  [ "$(grep -c "loser ended with $code, and not the command" told)" = 2 ] || fail "it does not say what was lost"
  [ "$(grep -c "a line of the launcher" said)" = 2 ] || fail "what the launcher says is lost"
done

# Lost for good.
echo '9 0' >losses
run 75 ./loser -- true
grep -q '3 of 3' told || fail "it does not say how often it tried"
[ "$(cat losses)" = '6 0' ] || fail "it does not try three times"

# Wrong calls.
run 127 ./none -- true
! grep -q "^launch_again:" told || fail "it launches what is not there again"
run 2 ./loser true
run 2 -- true
run 2

# Stopped while the launcher is busy: what is lost then is not launched again.
for signal in INT:130 TERM:143 HUP:129; do
  printf '#!/bin/sh\necho begun >>begun\nexec sleep 30\n' >sleeper
  chmod +x sleeper
  rm -f begun
  setsid python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "$again" ./sleeper -- true >said 2>told &
  child=$!
  for _ in $(seq 100); do [ -f begun ] && break; sleep 0.05; done
  kill -"${signal%:*}" -- -$child
  code=0
  wait $child || code=$?
  [ $code = "${signal#*:}" ] || fail "exit code $code after SIG$signal"
  [ "$(wc -l <begun)" = 1 ] || fail "it goes on after SIG$signal"
done
rm -rf "$work"
