# Compiles kernels again with the options of the build and compares the outputs.
# triton_add_kernel_test() writes a script that includes this file. The script sets TOOL,
# COMMAND_OPTIONS, OUTPUTS (option, file, option, file, ...) and FOLDER.

set(again "")
set(pairs "")
set(option "")
foreach(word IN LISTS OUTPUTS)
  if(NOT option)
    set(option "${word}")
    continue()
  endif()
  cmake_path(GET word FILENAME name)
  list(APPEND again "${option}" "${FOLDER}/${name}")
  list(APPEND built "${word}")
  list(APPEND made "${FOLDER}/${name}")
  set(option "")
endforeach()

execute_process(COMMAND "${TOOL}" compile ${COMMAND_OPTIONS} --cache-dir off --quiet ${again} COMMAND_ERROR_IS_FATAL ANY)
foreach(old new IN ZIP_LISTS built made)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E compare_files "${old}" "${new}" RESULT_VARIABLE differs)
  if(differs)
    message(FATAL_ERROR "${old} differs from a new compilation of its sources, ${new}; build again; "
      "if the difference remains, report a bug: TritonC must be reproducible")
  endif()
endforeach()
