# Prints the names on pages that do not exist: "<page>:<line>: unknown <kind> <name>". `known` is a file with lines
# "<kind> <name>" or "<kind> <command or function> <name>". See names_test.sh.

function check(kind, what, name) {
  if (!((kind " " name) in names)) print FILENAME ":" FNR ": unknown " what " " name
}

# Each word of the text that matches the pattern, unless it is a part of a longer word or a path.
function check_words(text, pattern, kind, what,    word, before, after) {
  for (before = ""; match(text, pattern); before = "_") {
    word = substr(text, RSTART, RLENGTH)
    if (RSTART > 1) before = substr(text, RSTART - 1, 1)
    text = substr(text, RSTART + RLENGTH)
    if (kind == "warning") sub(/^-W(no-|error=)?/, "", word)
    if (before ~ /[A-Za-z0-9_\/.-]/ || text ~ /^([A-Za-z0-9_\/*<,]|\.[a-z])/) continue
    check(kind, what, word)
  }
}

# The options of a command of tritonc. Without a command: the long options of any command.
function check_options(command, words, from, count,    i, word) {
  for (i = from; i <= count; i++) {
    word = words[i]
    sub(/[=.,:].*/, "", word)
    if (word ~ /^-[A-Za-z]/ && command != "") check("option", "option", command substr(word, 1, 2))
    if (word ~ /^--[a-z]/) check("option", "option", command word)
  }
}

# Shell code: the commands that call tritonc.
function check_shell(code,    parts, count, i, words, n, at) {
  gsub(/"[^"]*"|'[^']*'/, "_", code)
  sub(/ #.*/, "", code)
  count = split(code, parts, /[;|&]+/)
  for (i = 1; i <= count; i++) {
    n = split(parts[i], words, " ")
    for (at = 1; words[at] ~ /^[A-Z_]+=/;) at++
    if (words[at] !~ /^([^ ]*\/)?tritonc$/ || words[at + 1] !~ /^[a-z]/) continue
    check("command", "command tritonc", words[at + 1])
    if (("command " words[at + 1]) in names) check_options(words[at + 1] " ", words, at + 2, n)
  }
}

# CMake code: the keywords in calls of our functions. `call` is the function whose call the code continues.
function check_cmake(code,    words, n, i, word) {
  gsub(/"[^"]*"|#.*/, "", code)
  gsub(/[()]/, " & ", code)
  n = split(code, words, " ")
  for (i = 1; i <= n; i++) {
    word = words[i]
    if (words[i + 1] == "(") call = word ~ /^triton_/ ? word : ""
    if (word == ")") call = ""
    sub(/\[.*/, "", word)
    if (call != "" && word ~ /^[A-Z][A-Z_]+$/ && word !~ /^(ON|OFF|AUTO|NONE|OBJECT|HEADER|BUNDLE)$/)
      check("keyword", "keyword", call " " word)
  }
}

function check_inline(code,    words, n, name) {
  check_shell(code)
  n = split(code, words, " ")
  name = words[1]
  sub(/\[.*/, "", name)
  if (code ~ /^-/) check_options("", words, 1, n)
  else if (code ~ /triton_[a-z_]+\(/) { check_cmake(code); call = "" }
  else if (name ~ /^[A-Z][A-Z_]+$/ && code ~ /^[^ ]+ [A-Za-z0-9"$]/) check("keyword", "keyword", name)
  else if (code ~ /^[A-Z][A-Z0-9_]+(\[.*\])?$/) check("word", "name", name)
  else if (code !~ /^tritonc?_/ && match(code, /^[a-z][a-z0-9_]*\(/)) check("word", "function", substr(code, 1, RLENGTH - 1))
}

BEGIN {
  while ((getline line < known) > 0) {
    names[line]
    if (split(line, part, " ") == 3) names[part[1] " " part[3]]
    if (part[1] == "option") names["command " part[2]]
  }
}
FNR == 1 { in_fence = 0; begun = call = "" }
/^ *```/ { in_fence = !in_fence; language = $0; gsub(/[ `]|title=.*/, "", language); begun = call = ""; next }
{
  check_words($0, "TRITONC_[A-Z0-9_]+", "variable", "variable")
  check_words($0, "TritonC_[A-Za-z_]+", "variable", "variable")
  check_words($0, "triton_[a-z_]+", "function", "function")
  check_words($0, "tritonc_[a-z0-9_]+", "api", "function")
  check_words($0, "tritonc::[a-z_]+", "api", "name")
  check_words($0, "-W(no-|error=)?[a-z][a-z-]+[a-z]", "warning", "warning")
}
in_fence && language ~ /^(sh|bash|console)$/ { check_shell($0) }
in_fence && language == "cmake" { check_cmake($0) }
!in_fence {
  if ($0 == "") begun = ""
  text = begun $0
  gsub(/``([^`]|`[^`])+``/, "", text) # messages
  while (match(text, /`[^`]+`/)) {
    code = substr(text, RSTART + 1, RLENGTH - 2)
    text = substr(text, RSTART + RLENGTH)
    check_inline(code)
  }
  begun = match(text, /`/) ? substr(text, RSTART) " " : "" # words in backticks may end on the next line
}
