# The target archive_size: prints the sizes of the archives that users link, and fails if they exceed their
# budget. As a script it compares one build:
#   cmake -D BUDGET=BYTES -D "ARCHIVES=FILE;..." -P archive_size.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  set(total 0)
  foreach(archive ${ARCHIVES})
    file(SIZE ${archive} bytes)
    math(EXPR total "${total} + ${bytes}")
    cmake_path(GET archive FILENAME name)
    message(STATUS "${name}: ${bytes} bytes")
  endforeach()
  if(total GREATER BUDGET)
    message(FATAL_ERROR "the archives have ${total} bytes, their budget is ${BUDGET}")
  endif()
  message(STATUS "the archives have ${total} bytes, their budget is ${BUDGET}")
  return()
endif()

# Bytes of all archives: host code and symbols, and the kernels of each architecture, as binary or PTX.
set(host 18000000)
set(kernels 7000000)
if(RONDO_PTX)  # machine code is compressed little
  set(kernels 80000000)
elseif(RONDO_LINE_TABLES)
  set(kernels 16000000)
endif()
list(LENGTH CMAKE_CUDA_ARCHITECTURES architectures)
math(EXPR budget "${host} + ${kernels} * ${architectures}")
set(archives rondo_kernels rondo_collectives rondo_nn)
list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
add_custom_target(archive_size VERBATIM COMMAND ${CMAKE_COMMAND}
  -D BUDGET=${budget} -D "ARCHIVES=${files}" -P ${CMAKE_CURRENT_LIST_FILE})
add_dependencies(archive_size ${archives})
