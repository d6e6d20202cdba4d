# rondo_native_options: compiler options for every instruction of the machine that builds, if RONDO_NATIVE.
#
# With AVX2 and more, g++ 12.1 and 12.2 store some constants of 32 and 64 bytes wrong: if the upper words are
# zero and the others are alike, as in a struct of three equal int64_t and two bools, the upper words get the
# value of the others. They broadcast the value from an integer register, which they don't without this tuning
# (tests/simt/device_constants.cu). Vector loops with masks need it: some kernels take 1.8 times as long
# without. The .cu files of the libraries keep it, so they must not have such constants.
set(rondo_native_options $<$<BOOL:${RONDO_NATIVE}>:-march=native>)
set(rondo_library_kernel_options "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(is_gcc_12 $<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,12>)
  string(APPEND is_gcc_12 ,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>)
  list(APPEND rondo_native_options $<$<AND:${is_gcc_12}>:-mtune-ctrl=^inter_unit_moves_to_vec>)
  set(rondo_library_kernel_options $<$<AND:${is_gcc_12}>:-mtune-ctrl=inter_unit_moves_to_vec>)
endif()
