# The standard headers, precompiled: reading them takes a third of the time of compiling a small file, or
# more. Files include what they use all the same: tests/structure compiles each header without this one, and
# so do builds with CMAKE_DISABLE_PRECOMPILE_HEADERS=ON.
#
# They are compiled once for all targets, and once for all tests, with GoogleTest's. The compilers refuse them
# for a file with other flags, except the level of -O; such a file needs SKIP_PRECOMPILE_HEADERS. They are
# compiled with the highest level, because g++ 12 crashes in a file with a higher one.
#
# Only with g++: clang also refuses another level of -O, which host code and kernels have.
#
# Not with ccache or another compiler launcher: unless it is configured for them, ccache does not cache files
# that use precompiled headers. Not with position-independent code: programs and libraries then have different
# flags.
get_filename_component(compiler ${CMAKE_CXX_COMPILER} REALPATH)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU OR CMAKE_CXX_COMPILER_LAUNCHER OR compiler MATCHES "ccache"
   OR CMAKE_POSITION_INDEPENDENT_CODE)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# rondo_precompile(NAME HEADER... [LIBS LIBRARY...]): precompiles the standard headers and these, for
# rondo_target(TARGET ... PRECOMPILED NAME).
function(rondo_precompile name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" LIBS)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/precompiled.cpp)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  if(NOT RONDO_CUDA)  # simt's flags without itself, because it is compiled with these headers, too
    target_compile_options(${name} PRIVATE $<TARGET_PROPERTY:simt,INTERFACE_COMPILE_OPTIONS>)
    target_link_libraries(${name} PRIVATE simt_kernel_options)
  endif()
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring>
    <deque> <filesystem> <functional> <iterator> <limits> <map> <memory> <mutex> <numeric> <optional>
    <ostream> <set> <span> <sstream> <stdexcept> <string> <string_view> <thread> <tuple> <type_traits>
    <unordered_map> <utility> <vector> ${arg_UNPARSED_ARGUMENTS})
endfunction()

rondo_precompile(rondo_precompiled)
