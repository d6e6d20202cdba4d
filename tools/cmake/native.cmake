# rondo_native_options: compiler options for every instruction of the machine that builds, if RONDO_NATIVE.
#
# With AVX2 and more, g++ 12.1 and 12.2 store some constants of 32 and 64 bytes wrong: if the upper words are
# zero and the others are alike, as in a struct of three equal int64_t and two bools, the upper words get the
# value of the others. They broadcast the value from an integer register, which they don't without this tuning
# (tests/simt/device_constants.cu). Vector loops with masks need it: some kernels take 1.8 times as long
# without. .cu files outside the tests keep it (rondo_kernel_tuning), so they must not have such constants.
set(rondo_native_options $<$<BOOL:${RONDO_NATIVE}>:-march=native>)
set(rondo_kernel_tuning "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU
   AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  # rondo::kernel_options is exported, perhaps to another compiler.
  list(APPEND rondo_native_options $<$<CXX_COMPILER_ID:GNU>:-mtune-ctrl=^inter_unit_moves_to_vec>)
  set(rondo_kernel_tuning -mtune-ctrl=inter_unit_moves_to_vec)
endif()
