# Compiles every file of kernels/ in one variant, in all schedules, for a GPU of every generation.
#
#   cmake -D TRITONC=<tool> -D KERNELS=<folder> -D OUT=<folder> -P kernels_test.cmake

set(gpus 75 80 86 89 90 90a 100 120)
file(MAKE_DIRECTORY "${OUT}")
file(GLOB files "${KERNELS}/*.tc")
list(JOIN gpus "," architectures)
foreach(file IN LISTS files)
  cmake_path(GET file STEM name)
  execute_process(COMMAND "${TRITONC}" plan "${file}" --arch 80 --json OUTPUT_VARIABLE plan COMMAND_ERROR_IS_FATAL ANY)
  string(JSON values GET "${plan}" sources 0 variants 0 values)
  string(JSON count LENGTH "${values}")
  set(variant "")
  if(count GREATER 0)
    math(EXPR last "${count} - 1")
    foreach(i RANGE ${last})
      string(JSON axis MEMBER "${values}" ${i})
      string(JSON value GET "${values}" "${axis}")
      list(APPEND variant "${axis}=${value}")
    endforeach()
  endif()
  execute_process(COMMAND "${TRITONC}" compile "${file}" --arch ${architectures} --variants "${variant}" --quiet
    --header "${OUT}/${name}.hpp" --object "${OUT}/${name}.o" --report "${OUT}/${name}.txt"
    COMMAND_ERROR_IS_FATAL ANY)
  foreach(gpu IN LISTS gpus)
    file(STRINGS "${OUT}/${name}.txt" rows REGEX " sm_${gpu} ")
    if(NOT rows)
      message(FATAL_ERROR "${name} has no code for sm_${gpu}")
    endif()
  endforeach()
endforeach()
list(LENGTH files count)
message("${count} kernels for ${architectures}")
