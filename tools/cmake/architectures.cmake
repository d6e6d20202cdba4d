# CMAKE_CUDA_ARCHITECTURES where nobody has set it: every generation that this nvcc compiles for, from the oldest
# that Rondo supports. A program for the newest one also holds PTX, which the driver compiles for GPUs that come
# later. -DCMAKE_CUDA_ARCHITECTURES=native builds for the GPU of this machine alone, which takes a fraction of the
# time; so do tools/train and tools/test.
set(RONDO_ARCHITECTURES 75 80 86 89 90 100 120)

# After enable_language(CUDA): only then it is known which nvcc is used.
macro(rondo_default_architectures)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE offered ERROR_QUIET)
  set(architectures "")
  foreach(architecture ${RONDO_ARCHITECTURES})
    if(offered MATCHES "compute_${architecture}(\n|$)")
      list(APPEND architectures ${architecture}-real)
    endif()
  endforeach()
  if(NOT architectures)
    message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} --list-gpu-arch names none of ${RONDO_ARCHITECTURES}")
  endif()
  list(POP_BACK architectures newest)
  string(REPLACE "-real" "" newest ${newest})
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} ${newest} CACHE STRING "GPU architectures to build for" FORCE)
endmacro()
