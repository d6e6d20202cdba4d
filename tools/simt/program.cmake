# simt_program(TARGET SOURCE...): a program for the CPU executor. Its .cu files are CUDA C++ as nvcc compiles
# it, with <<<>>>, __shared__ and the like; they are preprocessed, translated (tools/simt/translate) and
# compiled as C++. Include folders, definitions and options of the target apply to them.
function(simt_program target)
  set(executor simt)
  set(translator simt-translate)
  if(TARGET rondo::simt)
    set(executor rondo::simt)
    set(translator rondo::simt-translate)
  endif()
  add_executable(${target})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_link_libraries(${target} PRIVATE ${executor})
  # Headers of the executor are system headers, which the translation leaves alone.
  set(system $<TARGET_PROPERTY:${executor},INTERFACE_INCLUDE_DIRECTORIES>)
  set(folders $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  set(definitions $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  foreach(source IN LISTS ARGN)
    cmake_path(GET source EXTENSION LAST_ONLY extension)
    if(NOT extension STREQUAL ".cu")
      target_sources(${target} PRIVATE ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    string(MAKE_C_IDENTIFIER ${source} name)
    set(stem ${CMAKE_CURRENT_BINARY_DIR}/${target}_${name})
    add_custom_command(OUTPUT ${stem}.translated.ii
      COMMAND ${CMAKE_CXX_COMPILER} -E -x c++ -std=c++20 ${flags} -isystem "$<JOIN:${system},;-isystem;>"
        "$<$<BOOL:${folders}>:-I$<JOIN:${folders},;-I>>"
        "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
        "$<TARGET_PROPERTY:${target},COMPILE_OPTIONS>" -D__CUDACC__ -D__NVCC__ -DSIMT_TRANSLATE
        -include cuda_runtime.h -MD -MF ${stem}.d -MT ${stem}.translated.ii ${path} -o ${stem}.ii
      COMMAND ${translator} ${stem}.ii ${stem}.translated.ii
      DEPENDS ${path} ${translator} DEPFILE ${stem}.d COMMAND_EXPAND_LISTS VERBATIM
      COMMENT "Translating ${source}")
    target_sources(${target} PRIVATE ${stem}.translated.ii)
    set_source_files_properties(${stem}.translated.ii PROPERTIES LANGUAGE CXX
      COMPILE_OPTIONS "-x;c++-cpp-output;-Wno-unknown-pragmas;-Wno-attributes")
  endforeach()
endfunction()
