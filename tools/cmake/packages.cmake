# The packages that Rondo is built with. Each may be installed, anywhere that find_package() looks
# (CMAKE_PREFIX_PATH, <Package>_ROOT), or be there as sources. Nothing is downloaded.
# rondo_package(NAME) makes the package's targets.
#
# GoogleTest and Google Benchmark are built from their sources where FETCHCONTENT_SOURCE_DIR_GOOGLETEST or
# FETCHCONTENT_SOURCE_DIR_BENCHMARK names them (a CMake variable, or one of the environment), or where they are
# found below <Package>_ROOT, a folder of CMAKE_PREFIX_PATH, or /usr/src. Of CLI11 and nlohmann-json, which are
# headers, an include folder below a prefix is enough.
include(FetchContent)

set(rondo_GTest_target GTest::gtest_main)
set(rondo_benchmark_target benchmark::benchmark)
set(rondo_CLI11_target CLI11::CLI11)
set(rondo_nlohmann_json_target nlohmann_json::nlohmann_json)
set(rondo_ZLIB_target ZLIB::ZLIB)

# The sources: the name of their folder, a file by which they are known, and options of their build.
set(rondo_GTest_sources googletest)
set(rondo_GTest_known_by googletest/include/gtest/gtest.h)
set(rondo_GTest_options BUILD_GMOCK INSTALL_GTEST)
set(rondo_benchmark_sources benchmark)
set(rondo_benchmark_known_by include/benchmark/benchmark.h)
set(rondo_benchmark_options BENCHMARK_ENABLE_TESTING BENCHMARK_ENABLE_INSTALL BENCHMARK_ENABLE_WERROR)

set(rondo_CLI11_header CLI/CLI.hpp)
set(rondo_nlohmann_json_header nlohmann/json.hpp)

# rondo_folders(OUTPUT VARIABLE...): the folders that variables hold, CMake's or the environment's.
function(rondo_folders output)
  set(folders "")
  foreach(variable ${ARGN})
    string(REPLACE ":" ";" of_environment "$ENV{${variable}}")
    list(APPEND folders ${${variable}} ${of_environment})
  endforeach()
  set(${output} ${folders} PARENT_SCOPE)
endfunction()

# rondo_find_sources(NAME): sets `sources` to the package's source folder, or to nothing, and `named` where the
# user named that folder: then an installed package is not looked for.
function(rondo_find_sources name)
  set(sources "" PARENT_SCOPE)
  set(named OFF PARENT_SCOPE)
  set(known ${rondo_${name}_sources})
  if(NOT known)
    return()
  endif()
  string(TOUPPER FETCHCONTENT_SOURCE_DIR_${known} variable)
  rondo_folders(override ${variable})
  if(override)
    if(NOT EXISTS ${override}/${rondo_${name}_known_by})
      message(FATAL_ERROR "${variable} is '${override}', must be the sources of ${known}: "
        "there is no ${rondo_${name}_known_by} in it")
    endif()
    set(sources ${override} PARENT_SCOPE)
    set(named ON PARENT_SCOPE)
    return()
  endif()
  rondo_folders(roots ${name}_ROOT)
  rondo_folders(prefixes CMAKE_PREFIX_PATH)
  foreach(prefix ${roots} ${prefixes} /usr)
    foreach(folder ${prefix} ${prefix}/${known} ${prefix}/src/${known})
      if(EXISTS ${folder}/CMakeLists.txt AND EXISTS ${folder}/${rondo_${name}_known_by})
        set(sources ${folder} PARENT_SCOPE)
        if(prefix IN_LIST roots)
          set(named ON PARENT_SCOPE)
        endif()
        return()
      endif()
    endforeach()
  endforeach()
endfunction()

function(rondo_package name)
  set(target ${rondo_${name}_target})
  if(TARGET ${target})
    return()
  endif()
  rondo_find_sources(${name})
  if(NOT named)
    find_package(${name} QUIET GLOBAL)
  endif()
  if(TARGET ${target})
    return()
  endif()
  if(sources AND NOT RONDO_COLLECT_MISSING)
    rondo_build_package(${name} ${sources})
  elseif(rondo_${name}_header)
    rondo_folders(prefixes ${name}_ROOT CMAKE_PREFIX_PATH)
    find_path(RONDO_${name}_INCLUDE_DIR ${rondo_${name}_header} HINTS ${prefixes} PATH_SUFFIXES include)
    mark_as_advanced(RONDO_${name}_INCLUDE_DIR)
    if(RONDO_${name}_INCLUDE_DIR)
      add_library(${target} INTERFACE IMPORTED GLOBAL)
      target_include_directories(${target} INTERFACE ${RONDO_${name}_INCLUDE_DIR})
    endif()
  endif()
  if(TARGET ${target})
    return()
  endif()
  if(NOT RONDO_COLLECT_MISSING)
    message(FATAL_ERROR "${name} was not found. tools/setup installs it on Debian and Ubuntu; "
      "CMAKE_PREFIX_PATH and ${name}_ROOT say where else it is (README.md, Building)")
  elseif(NOT sources)  # tools/cmake/needs asks for every package
    set_property(GLOBAL APPEND PROPERTY rondo_missing ${name})
  endif()
endfunction()

# As a part of this build, without its tests and with nothing to install.
function(rondo_build_package name sources)
  message(STATUS "${name}: from the sources in ${sources}")
  foreach(option ${rondo_${name}_options})
    set(${option} OFF CACHE BOOL "An option of ${name}" FORCE)
  endforeach()
  set(known ${rondo_${name}_sources})
  string(TOUPPER FETCHCONTENT_SOURCE_DIR_${known} variable)
  set(${variable} ${sources})
  FetchContent_Declare(${known} SOURCE_DIR ${sources} SYSTEM)
  FetchContent_MakeAvailable(${known})
endfunction()
