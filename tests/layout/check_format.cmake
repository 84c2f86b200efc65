# Fails if clang-format-22 would change one of our files, and prints the command that formats them.
if(NOT CLANG_FORMAT)
  message("skipped: clang-format-22 is not installed")
  return()
endif()

set(files "")
foreach(folder IN ITEMS generator runtime samples tests)
  file(GLOB_RECURSE found "${ROOT}/${folder}/*.cpp" "${ROOT}/${folder}/*.h" "${ROOT}/${folder}/*.hpp")
  list(APPEND files ${found})
endforeach()
# Output of the tool is not formatted.
list(FILTER files EXCLUDE REGEX "/tests/golden/|/build/")

execute_process(COMMAND "${CLANG_FORMAT}" --dry-run --Werror ${files} RESULT_VARIABLE result ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  string(REGEX MATCHALL "[^\n]*error: code should be clang-formatted" lines "${output}")
  set(wrong "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ":[0-9]+:[0-9]+:.*" "" file "${line}")
    list(APPEND wrong "${file}")
  endforeach()
  list(REMOVE_DUPLICATES wrong)
  list(JOIN wrong " " wrong)
  message("clang-format-22 -i ${wrong}") # separate, because CMake wraps the text of an error
  message(FATAL_ERROR "some files are not formatted; the command above formats them")
endif()
