# simt_model: what simt knows about GPUs without executing anything, <simt/gpus.h> and <simt/warp_access.h>. A
# CUDA build has this part of simt and no other. Its include folder has these headers alone, because
# simt's <cuda_runtime.h> must not hide the toolkit's.
set(simt_model_include ${RONDO_INCLUDE_DIR}/simt_model)
file(MAKE_DIRECTORY ${simt_model_include}/simt)
add_library(simt_model STATIC)
foreach(source host/gpus device/warp_access)
  get_filename_component(part ${source} NAME)
  set(header include/simt/${part}.h)
  file(CREATE_LINK ${CMAKE_CURRENT_LIST_DIR}/${header} ${simt_model_include}/simt/${part}.h SYMBOLIC)
  target_sources(simt_model PRIVATE ${CMAKE_CURRENT_LIST_DIR}/src/${source}.cpp)
endforeach()
target_compile_features(simt_model PUBLIC cxx_std_20)
target_include_directories(simt_model PUBLIC ${simt_model_include})
