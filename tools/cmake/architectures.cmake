# The default of CMAKE_CUDA_ARCHITECTURES: every architecture below that this nvcc supports. The newest one,
# and those of RONDO_PTX_ARCHITECTURES, are also there as PTX, which the driver compiles for GPUs without a
# binary: later ones, and those of integrated systems (8.7; 11.0 with an nvcc that does not have it), on which
# CUDA does not run the binaries of another GPU. The PTX takes no time to compile, because nvcc makes it on
# the way to the binary.
# -DCMAKE_CUDA_ARCHITECTURES=native builds only for the GPU of this machine, in a fraction of the time;
# tools/train and tools/test do the same.
set(RONDO_ARCHITECTURES 75 80 86 89 90 100 110 120)
set(RONDO_PTX_ARCHITECTURES 80 100)

# Call after enable_language(CUDA), which determines the nvcc.
macro(rondo_default_architectures)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE offered ERROR_QUIET)
  set(architectures "")
  foreach(architecture ${RONDO_ARCHITECTURES})
    if(offered MATCHES "compute_${architecture}(\n|$)")
      if(NOT architecture IN_LIST RONDO_PTX_ARCHITECTURES)
        string(APPEND architecture -real)
      endif()
      list(APPEND architectures ${architecture})
    endif()
  endforeach()
  if(NOT architectures)
    message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} --list-gpu-arch names none of ${RONDO_ARCHITECTURES}")
  endif()
  list(POP_BACK architectures newest)
  string(REPLACE "-real" "" newest ${newest})
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} ${newest} CACHE STRING "GPU architectures to build for" FORCE)
endmacro()

# Compiles for 90a wherever CMAKE_CUDA_ARCHITECTURES, however it was given, has 90: wgmma and setmaxnreg exist
# only there. Its binaries run on the same GPUs, those of compute capability 9.0. Its PTX does not run on
# later ones, so the PTX stays that of 90. Call after enable_language(CUDA), which finds what `native` is.
#
# Sets RONDO_SM90A: whether the build has these instructions.
macro(rondo_use_sm90a)
  if(CMAKE_CUDA_ARCHITECTURES STREQUAL "native")
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
  elseif(CMAKE_CUDA_ARCHITECTURES STREQUAL "all")
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_ALL})
  elseif(CMAKE_CUDA_ARCHITECTURES STREQUAL "all-major")
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_ALL_MAJOR})
  endif()
  list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "^90(-virtual)?$" "90a-real;90-virtual")
  list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "^90-real$" "90a-real")
  list(REMOVE_DUPLICATES CMAKE_CUDA_ARCHITECTURES)
  set(RONDO_SM90A OFF)
  if(CMAKE_CUDA_ARCHITECTURES MATCHES "(^|;)90a")
    set(RONDO_SM90A ON)
  endif()
endmacro()
