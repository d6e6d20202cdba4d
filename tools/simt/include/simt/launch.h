// cudaLaunchKernelEx: the typed launch. Arguments are converted to the parameter types and copied by value,
// as in CUDA.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace simt {

// The bytes of one launch argument, for checks of the memory that it points to.
struct Argument {
  void* data;
  size_t bytes;
  bool is_pointer;  // else a struct by value, which may hold pointers
};

// A type-erased launch. `storage` owns the objects that `body` and `arguments` refer to.
struct Launch {
  const void* kernel = nullptr;
  std::shared_ptr<const void> storage;
  std::vector<Argument> arguments;
  std::function<void()> body;
  const void* code = nullptr;  // of a kernel without a body: see Kernel::code
};

cudaError_t launch(const cudaLaunchConfig_t* config, Launch launch);

namespace detail {

template <class... Parameters>
struct Packed {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;
};

template <class T>
Argument describe(T& argument) {
  constexpr bool is_data_pointer = std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>;
  // An old address in the padding of a struct would be taken for a pointer. Empty structs are skipped: their
  // one byte in the tuple overlaps another argument.
#if __has_builtin(__builtin_clear_padding)
  if constexpr (std::is_class_v<T> && !std::is_empty_v<T>) __builtin_clear_padding(&argument);
#else  // clang 22: structs that may have padding are not checked
  if constexpr (std::is_class_v<T> && !std::has_unique_object_representations_v<T>)
    return {&argument, 0, is_data_pointer};
#endif
  return {&argument, sizeof(T), is_data_pointer};
}

}  // namespace detail
}  // namespace simt

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  using Packed = simt::detail::Packed<Parameters...>;
  auto packed = std::make_shared<Packed>(
      Packed{kernel, std::tuple<Parameters...>(std::forward<Arguments>(arguments)...)});
  simt::Launch launch;
  launch.kernel = reinterpret_cast<const void*>(kernel);
  std::apply([&](auto&... argument) { launch.arguments = {simt::detail::describe(argument)...}; },
             packed->arguments);
  launch.body = [packed = packed.get()] { std::apply(packed->kernel, packed->arguments); };
  launch.storage = std::move(packed);
  return simt::launch(config, std::move(launch));
}
