# Compiler warnings. RONDO_WERROR=KNOWN turns them into errors only for the compilers that Rondo is developed
# with, because newer compilers may have new warnings, which must not break the build for users.
set(RONDO_WERROR OFF CACHE STRING "Turn compiler warnings into errors: ON, OFF, or KNOWN (g++ 12, nvcc 13.0)")
set_property(CACHE RONDO_WERROR PROPERTY STRINGS ON OFF KNOWN)

set(rondo_warnings -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees accesses out of bounds in std::string where there are none (GCC bugs 105329, 105651).
  list(APPEND rondo_warnings -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
endif()

set(known_host_compiler OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  set(known_host_compiler ON)
endif()
set(known_nvcc OFF)
if(RONDO_CUDA AND CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA"
   AND CMAKE_CUDA_COMPILER_VERSION MATCHES "^13\\.0\\.")
  set(known_nvcc ON)
endif()
if(RONDO_CUDA AND known_host_compiler)
  # By default nvcc uses the g++ of PATH as host compiler, which may differ from the C++ compiler.
  set(nvcc_host g++)
  if(CMAKE_CUDA_HOST_COMPILER)
    set(nvcc_host ${CMAKE_CUDA_HOST_COMPILER})
  endif()
  execute_process(COMMAND ${nvcc_host} -dumpfullversion
    OUTPUT_VARIABLE nvcc_host_version ERROR_QUIET RESULT_VARIABLE result)
  if(result OR NOT nvcc_host_version MATCHES "^12\\.")
    set(known_host_compiler OFF)
  endif()
endif()

# Separate flags for C++ and nvcc's host code, and for nvcc's own and ptxas' warnings, which include register
# spills.
set(rondo_werror_host OFF)
set(rondo_werror_nvcc OFF)
if(RONDO_WERROR STREQUAL "KNOWN")
  set(rondo_werror_host ${known_host_compiler})
  set(rondo_werror_nvcc ${known_nvcc})
elseif(RONDO_WERROR)
  set(rondo_werror_host ON)
  set(rondo_werror_nvcc ON)
endif()
if(rondo_werror_host)
  list(APPEND rondo_warnings -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # These depend on what was inlined, and so on the processor of -march=native and on precompiled headers: a
    # build elsewhere would fail. They are shown.
    foreach(name maybe-uninitialized dangling-pointer free-nonheap-object use-after-free stringop-overread)
      list(APPEND rondo_warnings -Wno-error=${name})
    endforeach()
  endif()
endif()
list(JOIN rondo_warnings "," rondo_host_warnings)
