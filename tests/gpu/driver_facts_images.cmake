# Creates the folder of images for driver_facts. Needs no GPU. The images:
#
#     - 24 images of matmul, in each compression mode of fatbinary
#     - the kernels of driver_facts itself
#     - PTX that the driver compiles
#
#   cmake -D TRITONC=<tritonc> -D KERNELS=<kernels/> -D OUT=<folder> -P driver_facts_images.cmake

cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

execute_process(COMMAND "${TRITONC}" doctor OUTPUT_VARIABLE doctor COMMAND_ERROR_IS_FATAL ANY)
foreach(tool IN ITEMS ptxas fatbinary)
  if(NOT doctor MATCHES "${tool} +([^ \n]+)")
    message(FATAL_ERROR "`tritonc doctor` found no ${tool}")
  endif()
  set(${tool} "${CMAKE_MATCH_1}")
endforeach()

file(REMOVE_RECURSE "${OUT}")
set(work "${OUT}.work")
foreach(gpu IN ITEMS 80 90a)
  file(REMOVE_RECURSE "${work}/${gpu}")
  file(MAKE_DIRECTORY "${work}/${gpu}")
  execute_process(
    COMMAND "${TRITONC}" compile "${KERNELS}/matmul.tc" --arch ${gpu} --quiet
      --variants "TYPE=half;A=N;B=N,T;TM=64;TN=64;TK=32"
      --object "${work}/matmul.o" --header "${work}/matmul.hpp" --keep cubin,ptx --keep-in "${work}/${gpu}"
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()

file(GLOB cubins LIST_DIRECTORIES FALSE "${work}/90a/*.cubin")
list(SORT cubins)
list(SUBLIST cubins 0 24 cubins)
foreach(mode IN ITEMS none speed balance size)
  file(MAKE_DIRECTORY "${OUT}/${mode}")
  set(number 100) # three digits, so that names sort as numbers
  foreach(cubin IN LISTS cubins)
    run("${fatbinary}" -64 --compress-all --compress-mode=${mode} "--create=${OUT}/${mode}/${number}"
      "--image3=kind=elf,sm=90a,file=${cubin}")
    math(EXPR number "${number} + 1")
  endforeach()
endforeach()

# The longest and the shortest PTX.
foreach(gpu IN ITEMS 80 90a)
  file(GLOB texts "${work}/${gpu}/*.ptx")
  set(longest 0)
  set(shortest 1000000000)
  foreach(text IN LISTS texts)
    file(SIZE "${text}" size)
    if(size GREATER longest)
      set(longest ${size})
      file(COPY_FILE "${text}" "${OUT}/long_${gpu}.ptx")
    endif()
    if(size LESS shortest)
      set(shortest ${size})
      file(COPY_FILE "${text}" "${OUT}/short_${gpu}.ptx")
    endif()
  endforeach()
endforeach()

file(COPY "${CMAKE_CURRENT_LIST_DIR}/driver_facts.ptx" DESTINATION "${OUT}")
foreach(name IN ITEMS driver_facts driver_facts_sm90)
  run("${ptxas}" -arch=sm_90 "${CMAKE_CURRENT_LIST_DIR}/${name}.ptx" -o "${work}/${name}.cubin")
  run("${fatbinary}" -64 --compress-all --compress-mode=balance "--create=${OUT}/${name}.fatbin"
    "--image3=kind=elf,sm=90,file=${work}/${name}.cubin")
endforeach()
file(REMOVE_RECURSE "${work}")
