# Writes the kernels of the table test and compiles them. The output is table_kernels.o,
# table_kernels.hpp, table_list.h, and for the emulator table_kernels.a.
#
#   cmake -D TABLE_BUILD=<table_build> -D TRITONC=<tritonc> -D EVERY=<n> -D ARCHITECTURE=<arch>
#     -D EMULATE=<bool> -D OUT=<folder> -P compile_table.cmake

cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${OUT}")
file(MAKE_DIRECTORY "${OUT}")
execute_process(COMMAND "${TABLE_BUILD}" "${OUT}" ${EVERY} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB sources LIST_DIRECTORIES FALSE "${OUT}/table_*.tc")
set(host_code "")
if(EMULATE)
  set(host_code --emulate ${ARCHITECTURE} --host-code "${OUT}/table_kernels.a")
endif()
# --quiet: the register spills of some kernels do not matter here.
execute_process(
  COMMAND "${TRITONC}" compile ${sources} --arch ${ARCHITECTURE} --name table_kernels ${host_code}
    --header "${OUT}/table_kernels.hpp" --object "${OUT}/table_kernels.o" --quiet
  ERROR_VARIABLE messages RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${messages}")
endif()
