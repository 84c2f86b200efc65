# triton_install_kernels(<target>...
#   EXPORT <set>
#       The export set, for install(EXPORT). A project that includes the installed file gets the
#       target.
#   [COMPONENT <name>]
#       Component of the install rules.
#   [BUNDLES_DIR <dir>]
#       Folder of the bundles (EMBED BUNDLE). Programs and shared libraries find a bundle in their
#       own folder. triton_place_bundles() of other projects copies a bundle from any folder.
#       Default: CMAKE_INSTALL_BINDIR.
# )
#
# Installs compiled kernels: the library, its headers, and its bundle if it has one. Projects that
# use them need only find_package(TritonCRuntime) and the exported target. They need neither this
# package nor LLVM, CUDA or the sources.

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

function(triton_install_kernels)
  set(call "triton_install_kernels()")
  set(table
    "rest"
    "one EXPORT my_kernels"
    "one COMPONENT kernels"
    "one BUNDLES_DIR bin")
  set(arguments "${ARGN}")
  set(other_words "")
  _tritonc_parse_arguments()
  if(NOT arg_EXPORT)
    message(FATAL_ERROR "${call}: EXPORT is missing; name a set for install(EXPORT)")
  endif()
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${call}: targets are missing; name at least one target of triton_add_kernels()")
  endif()
  include(GNUInstallDirs)
  set(without_bundle "")
  set(component "")
  if(arg_COMPONENT)
    set(component COMPONENT "${arg_COMPONENT}")
  endif()
  foreach(target IN LISTS arg_UNPARSED_ARGUMENTS)
    set(header "")
    if(TARGET "${target}")
      get_target_property(header ${target} TRITONC_HEADER)
    endif()
    if(NOT header)
      message(FATAL_ERROR "${call}: ${target} is not a target of triton_add_kernels()")
    endif()
    get_target_property(emulate ${target} TRITONC_EMULATE)
    if(emulate)
      message(FATAL_ERROR "${call}: cannot install ${target}: it contains emulator code for this machine; "
        "install a target without EMULATE")
    endif()
    get_target_property(include_dir ${target} TRITONC_INCLUDE_DIR)
    get_target_property(c_header ${target} TRITONC_C_HEADER)
    foreach(file IN LISTS header c_header)
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${include_dir}" OUTPUT_VARIABLE relative)
      cmake_path(GET relative PARENT_PATH folder)
      install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${folder}" ${component})
    endforeach()
    install(TARGETS ${target} EXPORT "${arg_EXPORT}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" ${component})
    get_target_property(bundle ${target} TRITONC_BUNDLE)
    if(bundle)
      if(NOT arg_BUNDLES_DIR)
        set(arg_BUNDLES_DIR "${CMAKE_INSTALL_BINDIR}")
      endif()
      install(FILES "${bundle}" DESTINATION "${arg_BUNDLES_DIR}" ${component})
      # For triton_place_bundles() in other projects.
      cmake_path(GET bundle FILENAME bundle_name)
      set(installed "/${arg_BUNDLES_DIR}/${bundle_name}")
      cmake_path(RELATIVE_PATH installed BASE_DIRECTORY "/${CMAKE_INSTALL_LIBDIR}")
      set_target_properties(${target} PROPERTIES TRITONC_BUNDLE_FROM_ARCHIVE "${installed}")
      set_property(TARGET ${target} APPEND PROPERTY EXPORT_PROPERTIES TRITONC_BUNDLE_FROM_ARCHIVE)
    elseif(arg_BUNDLES_DIR)
      list(APPEND without_bundle ${target})
    endif()
    get_target_property(scope ${target} TYPE)
    set(keyword PUBLIC)
    if(scope STREQUAL "INTERFACE_LIBRARY")
      set(keyword INTERFACE)
    endif()
    target_include_directories(${target} ${keyword} "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  endforeach()
  list(LENGTH arg_UNPARSED_ARGUMENTS count)
  list(LENGTH without_bundle without)
  if(arg_BUNDLES_DIR AND count EQUAL without)
    message(FATAL_ERROR "${call}: BUNDLES_DIR requires a target with a bundle; compile one with EMBED BUNDLE, or remove BUNDLES_DIR")
  endif()
endfunction()

cmake_policy(POP)
