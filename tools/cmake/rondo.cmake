# Common settings of all targets: the language level, the warnings, and the choice between the CUDA toolkit
# and the CPU executor (tools/simt).

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET default)
find_package(Threads REQUIRED)
include(${CMAKE_CURRENT_LIST_DIR}/architectures.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/packages.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/native.cmake)

# Includes have the same spelling in the source tree and installed: <rondo/kernels/gemm/gemm.h>. Each target
# has its own include folder below this one, so that it can include only headers of the targets that it links.
set(RONDO_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)

# rondo_headers(TARGET FOLDER...): makes the headers of these source folders available through TARGET.
function(rondo_headers target)
  set(root ${RONDO_INCLUDE_DIR}/${target})
  foreach(folder ${ARGN})
    cmake_path(GET folder PARENT_PATH parent)
    file(MAKE_DIRECTORY ${root}/rondo/${parent})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${root}/rondo/${folder} SYMBOLIC)
  endforeach()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${root}>)
  else()
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${root}>)
  endif()
endfunction()

set(RONDO_VERSION_DIR ${RONDO_INCLUDE_DIR}/rondo_options)
configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/version.h.in ${RONDO_VERSION_DIR}/rondo/version.h @ONLY)

add_library(rondo_options INTERFACE)
target_include_directories(rondo_options INTERFACE
  $<BUILD_INTERFACE:${RONDO_VERSION_DIR}> $<INSTALL_INTERFACE:include>)
target_compile_features(rondo_options INTERFACE cxx_std_20)
include(${CMAKE_CURRENT_LIST_DIR}/precompiled.cmake)

if(RONDO_CUDA)
  if(RONDO_SANITIZE)
    message(FATAL_ERROR "RONDO_SANITIZE=${RONDO_SANITIZE} needs the CPU executor: set RONDO_CUDA=OFF")
  endif()
  if(DEFINED CMAKE_CUDA_ARCHITECTURES OR DEFINED ENV{CUDAARCHS})
    set(architectures_given ON)
  endif()
  enable_language(CUDA)
  if(NOT architectures_given)
    rondo_default_architectures()
  endif()
  rondo_use_sm90a()
  # CMake 3.25 does not define nvcc's option for C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  find_package(CUDAToolkit 12.8 REQUIRED)
  include(${PROJECT_SOURCE_DIR}/tools/simt/model.cmake)
  if(RONDO_PTX)
    # Compiled with the headers of a build for GPUs, linked with another runtime.
    set(CMAKE_CUDA_RUNTIME_LIBRARY None)
    target_link_libraries(rondo_options INTERFACE $<LINK_ONLY:ptx_runtime> CUDA::toolkit Threads::Threads)
  else()
    target_link_libraries(rondo_options INTERFACE CUDA::cudart_static Threads::Threads)
  endif()
else()
  add_subdirectory(${PROJECT_SOURCE_DIR}/tools/simt)
  target_precompile_headers(simt REUSE_FROM rondo_precompiled)
  # For tools/rondo.
  set(simt_options_of_observed_kernels ${simt_options_of_observed_kernels} CACHE INTERNAL "")
  set(executors simt)
  if(TARGET simt_observed)
    list(APPEND executors simt_observed)
  endif()
  set_target_properties(${executors} PROPERTIES UNITY_BUILD ${RONDO_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  add_library(simt_model ALIAS simt)
  target_link_libraries(rondo_options INTERFACE simt)
endif()

# rondo::kernel_options: the compiler options of Rondo's own kernels, for programs with kernels of their own
# (elementwise.cuh). Without the executor's, g++ makes few vectors of them.
add_library(rondo_kernel_options INTERFACE)
add_library(rondo::kernel_options ALIAS rondo_kernel_options)
if(RONDO_CUDA)
  target_compile_options(rondo_kernel_options INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda --diag-suppress=1407,2810>)
else()
  get_target_property(options simt_kernel_options INTERFACE_COMPILE_OPTIONS)
  target_compile_options(rondo_kernel_options INTERFACE "${options}")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/warnings.cmake)
if(RONDO_PTX)
  add_subdirectory(${PROJECT_SOURCE_DIR}/tools/ptx)
endif()

# rondo_together(TARGET NAME FILE...): adds .cu files that are compiled together, as NAME_together.cu: reading
# the headers takes nvcc half of the time of a small one. With RONDO_UNITY_KERNELS=OFF each is compiled alone,
# so that an object file has the kernels of one source file (tools/sass-report).
function(rondo_together target name)
  if(NOT RONDO_UNITY OR NOT RONDO_UNITY_KERNELS)
    target_sources(${target} PRIVATE ${ARGN})
    return()
  endif()
  set(text "")
  foreach(file ${ARGN})
    string(APPEND text "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${file}\"\n")
  endforeach()
  set(together ${CMAKE_CURRENT_BINARY_DIR}/${name}_together.cu)
  file(CONFIGURE OUTPUT ${together} CONTENT "${text}" @ONLY)
  target_sources(${target} PRIVATE ${together})
  # nvcc does not report unused functions of a file that another one includes: its front end reads each alone.
  if(RONDO_CUDA)
    set(alone ${target}_${name}_alone)
    add_library(${alone} OBJECT EXCLUDE_FROM_ALL ${ARGN})
    target_include_directories(${alone} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_compile_features(${alone} PRIVATE cxx_std_20)
    target_compile_options(${alone} PRIVATE -fdevice-syntax-only)
    rondo_target(${alone})
    set_target_properties(${alone} PROPERTIES CUDA_PTX_COMPILATION ON CUDA_ARCHITECTURES 90a-virtual)
  endif()
endfunction()

# rondo_target(NAME [COMPILE_FAST [EXCEPT FILE...]] [FAST_KERNELS] [PRECOMPILED HEADERS]): sets the options of
# a target. Compiles its .cu files with nvcc, or as C++ for the CPU executor. COMPILE_FAST: compiles its .cpp
# files with -O1 in Release builds, for code that takes longer to compile than to run. EXCEPT: files with
# loops that take time, which keep -O3. FAST_KERNELS: compiles its .cu files so, too, for the executor, except
# where kernels are observed: the optimiser decides what they read. PRECOMPILED: headers of
# rondo_precompile(), instead of the standard ones.
function(rondo_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPILE_FAST;FAST_KERNELS" PRECOMPILED EXCEPT)
  if(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED rondo_precompiled)
  endif()
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:rondo_options>)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${rondo_warnings}>)
  get_target_property(sources ${name} SOURCES)
  set(kernel_files ${sources})
  list(FILTER kernel_files INCLUDE REGEX "\\.cu$")
  target_precompile_headers(${name} REUSE_FROM ${arg_PRECOMPILED})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${RONDO_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(kernel_files)
    set_source_files_properties(${kernel_files} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(arg_COMPILE_FAST)  # an option of the target: a file with options of its own is compiled alone
    target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
    if(arg_EXCEPT)
      set_source_files_properties(${arg_EXCEPT} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
    endif()
  endif()
  if(kernel_files)
    set_property(GLOBAL APPEND PROPERTY rondo_kernel_targets ${name})
  endif()
  if(RONDO_CUDA)
    # `size` takes a quarter of nvcc's time. What the preset ptx builds is not installed.
    set(compress_mode size)
    if(RONDO_PTX)
      set(compress_mode balance)
    endif()
    # Register spills are performance bugs here: ptxas warns about them, and rondo_werror_nvcc turns them into
    # errors. Kernels are hidden: of two shared libraries with Rondo inside, each must launch its own. From
    # CUDA 13.0 on that is nvcc's default. Diagnostic 1407: launch() is hidden, and some of its instances are
    # local to a file, which are not visible anyway.
    target_compile_options(${name} PRIVATE
      $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${rondo_host_warnings} -Xptxas=-warn-spills
        $<$<BOOL:${RONDO_LINE_TABLES}>:-lineinfo> --compress-mode=${compress_mode} --extended-lambda
        --device-entity-has-hidden-visibility=true --static-global-template-stub=true
        --diag-suppress=1407>)
    if(rondo_werror_nvcc)
      target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-Werror>)
    endif()
    if(rondo_werror_nvcc AND rondo_werror_host)  # the flag also applies to the host compiler
      target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings>)
    endif()
  else()
    target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:simt_kernel_options>)
    set(kernel_options ${simt_observe_options})
    set(level -O3)
    if(NOT arg_FAST_KERNELS)
      list(APPEND kernel_options ${rondo_kernel_tuning})
    elseif(NOT simt_observe_options)
      set(level -O1)
    endif()
    set_source_files_properties(${kernel_files} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS
      "-x;c++;-Wno-unknown-pragmas;$<$<CONFIG:Release>:${level}>;${kernel_options}")
    if(kernel_options)  # other options than those of the precompiled headers
      set_source_files_properties(${kernel_files} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endif()
endfunction()
