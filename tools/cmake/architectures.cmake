# The default of CMAKE_CUDA_ARCHITECTURES: every architecture below that this nvcc supports. The binary for
# the newest one also contains PTX, which the driver compiles for later GPUs.
# -DCMAKE_CUDA_ARCHITECTURES=native builds only for the GPU of this machine, in a fraction of the time;
# tools/train and tools/test do the same.
set(RONDO_ARCHITECTURES 75 80 86 89 90 100 120)

# Call after enable_language(CUDA), which determines the nvcc.
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
