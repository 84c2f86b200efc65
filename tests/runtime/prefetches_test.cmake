# Launches again ask for what the driver is going to read before it does. g++ leaves out calls of a function that does
# nothing but that, without a word; so this looks at the code.
#
#   cmake -DOBJDUMP=objdump -DLIBRARY=libtritonc_runtime.a -P prefetches_test.cmake

set(launch _ZN7tritonc2v13abi6launchERKNS1_6kernelENS0_6streamEPKvPKiPKNS0_4gridE)
execute_process(COMMAND "${OBJDUMP}" "--disassemble=${launch}" --no-show-raw-insn "${LIBRARY}"
  OUTPUT_VARIABLE code COMMAND_ERROR_IS_FATAL ANY)
if(NOT code MATCHES "<${launch}>:")
  message(FATAL_ERROR "tritonc::abi::launch is not in ${LIBRARY}")
elseif(NOT code MATCHES "prefetch|prfm")
  message(FATAL_ERROR "tritonc::abi::launch prefetches nothing")
endif()
