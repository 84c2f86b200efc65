# Bundles, the files with compiled kernels of triton_add_kernels(... EMBED BUNDLE), beside the programs that need them.
#
# A program or shared library finds its bundles in its own folder. Which ones link a library of kernels is known when all of the
# project is configured; then each gets a target that puts them there, before it is built itself. Projects that use installed
# kernels say what they want: install the bundle beside the program, or name its folder in TRITONC_BUNDLE_PATH.

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

# Has the bundle of <target> put beside whatever links it.
function(_tritonc_add_bundle target)
  get_property(bundles GLOBAL PROPERTY TRITONC_BUNDLES)
  if(NOT bundles)
    cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _tritonc_place_bundles)
  endif()
  set_property(GLOBAL APPEND PROPERTY TRITONC_BUNDLES ${target})
endfunction()

function(_tritonc_place_bundles)
  _tritonc_place_bundles_of("${CMAKE_SOURCE_DIR}")
endfunction()

function(_tritonc_place_bundles_of folder)
  get_property(bundles GLOBAL PROPERTY TRITONC_BUNDLES)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
      continue()
    endif()
    set(linked "")
    _tritonc_collect_linked(${target} linked)
    foreach(kernels IN LISTS bundles)
      if(kernels IN_LIST linked)
        _tritonc_place_bundle(${kernels} ${target})
      endif()
    endforeach()
  endforeach()
  get_property(inner DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(one IN LISTS inner)
    _tritonc_place_bundles_of("${one}")
  endforeach()
endfunction()

# Adds to the list <out> all targets that <target> links, itself or through libraries that become a part of it. Of generator
# expressions every word is looked at: a bundle too many does no harm.
function(_tritonc_collect_linked target out)
  set(all "${${out}}")
  set(libraries "")
  foreach(property IN ITEMS LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(list ${target} ${property})
    if(list)
      string(REGEX MATCHALL "[A-Za-z0-9_.+-]+(::[A-Za-z0-9_.+-]+)*" words "${list}")
      list(APPEND libraries ${words})
    endif()
  endforeach()
  foreach(library IN LISTS libraries)
    if(NOT TARGET "${library}")
      continue()
    endif()
    get_target_property(aliased ${library} ALIASED_TARGET)
    if(aliased)
      set(library "${aliased}")
    endif()
    get_target_property(type ${library} TYPE)
    if(library IN_LIST all OR type MATCHES "^(SHARED|MODULE)_LIBRARY$")
      continue()
    endif()
    list(APPEND all "${library}")
    _tritonc_collect_linked(${library} all)
  endforeach()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

function(_tritonc_place_bundle kernels target)
  get_target_property(bundle ${kernels} TRITONC_BUNDLE)
  cmake_path(GET bundle FILENAME name)
  cmake_path(GET bundle PARENT_PATH folder)
  get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  set(config "")
  if(is_multi_config)
    set(config ".$<CONFIG>")
  endif()
  set(stamp "${folder}/${name}.for_${target}${config}.stamp")
  add_custom_command(
    OUTPUT "${stamp}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "$<TARGET_FILE_DIR:${target}>"
    COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${bundle}" "$<TARGET_FILE_DIR:${target}>/${name}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS "${bundle}"
    COMMENT "Putting ${name} beside ${target}"
    VERBATIM)
  add_custom_target(${target}_${kernels}_bundle DEPENDS "${stamp}")
  add_dependencies(${target}_${kernels}_bundle ${kernels})
  add_dependencies(${target} ${target}_${kernels}_bundle)
endfunction()

cmake_policy(POP)
