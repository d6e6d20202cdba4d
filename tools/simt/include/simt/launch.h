// cudaLaunchKernelEx: the typed launch. Arguments are converted to the parameter types and copied by value,
// as in CUDA. Signatures: what is known of a kernel that is named by its address.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <source_location>
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

// Owns an object of any type. std::shared_ptr and std::function would do for launches, but with <memory> and
// <functional> every CUDA source takes half a second longer to compile.
class AnyObject {
 public:
  AnyObject() = default;
  template <class T>
  explicit AnyObject(T* object) : object_(object), destroy_([](void* it) { delete static_cast<T*>(it); }) {}
  AnyObject(AnyObject&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), destroy_(other.destroy_) {}
  AnyObject& operator=(AnyObject&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~AnyObject() {
    if (object_) destroy_(object_);
  }
  void* get() const { return object_; }

 private:
  void* object_ = nullptr;
  void (*destroy_)(void* object) = nullptr;
};

// A type-erased launch. `arguments` refer to `storage`; body(storage.get()) runs the kernel for one thread.
struct Launch {
  const void* kernel = nullptr;
  AnyObject storage;
  size_t storage_bytes = 0;
  std::vector<Argument> arguments;
  void (*body)(const void* storage) = nullptr;
  const void* code = nullptr;       // of a kernel without a body: see Kernel::code
  std::source_location place = {};  // of a launch by <<<>>>; else line 0
};

cudaError_t launch(const cudaLaunchConfig_t* config, Launch launch);

// The parameters of a kernel, for calls that name it by a void* and its arguments by their addresses.
struct Signature {
  struct Parameter {
    size_t bytes = 0, alignment = 1;
  };
  const Parameter* parameters;
  size_t count;
  Launch (*launch)(const void* kernel, void* const* arguments);  // copies the arguments
};
void remember(const void* kernel, const Signature& signature);

namespace detail {

// The bytes of a parameter whose type has a destructor. CUDA copies the bytes of an argument to the device,
// and destroys the argument of the launch only, on the host, when the launch has been submitted.
template <class T>
struct Bits {
  explicit Bits(const T& value) { std::memcpy(bytes, &value, sizeof(T)); }
  alignas(T) std::byte bytes[sizeof(T)];
};
template <class T>
using Kept = std::conditional_t<std::is_trivially_destructible_v<T>, T, Bits<T>>;

template <class... Parameters>
struct Packed {
  void (*kernel)(Parameters...);
  std::tuple<Kept<Parameters>...> arguments;
};

template <class T>
T& passed(T& kept) {
  return kept;
}
template <class T>
T& passed(Bits<T>& kept) {
  return *std::launder(reinterpret_cast<T*>(kept.bytes));
}

// Calls the kernel for one thread, which has its own copies of the arguments. A parameter whose type has a
// destructor is passed by its address (Itanium C++ ABI, 3.1.2.3), and the caller would destroy it.
template <class... Parameters>
void call(const Packed<Parameters...>& packed) {
  if constexpr ((std::is_trivially_destructible_v<Parameters> && ...)) {
    std::apply(packed.kernel, packed.arguments);
  } else {
    using ByAddress = void (*)(
        std::conditional_t<std::is_trivially_destructible_v<Parameters>, Parameters, Parameters&>...);
    auto copies = packed.arguments;
    std::apply([&](auto&... kept) { reinterpret_cast<ByAddress>(packed.kernel)(passed(kept)...); }, copies);
  }
}

template <class T>
Argument describe(T& argument) {
  constexpr bool is_data_pointer = std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>;
  // An old address in the padding of a struct would be taken for a pointer. Empty structs are skipped: their
  // one byte in the tuple overlaps another argument. Lambdas, whose assignment is deleted, are not checked.
#if __has_builtin(__builtin_clear_padding)
  if constexpr (std::is_class_v<T> && !std::is_empty_v<T>) {
    if constexpr (!std::is_trivially_copyable_v<T> || !std::is_copy_assignable_v<T>)
      return {&argument, 0, is_data_pointer};
    else
      __builtin_clear_padding(&argument);
  }
#else  // clang 22: structs that may have padding are not checked
  if constexpr (std::is_class_v<T> && !std::has_unique_object_representations_v<T>)
    return {&argument, 0, is_data_pointer};
#endif
  return {&argument, sizeof(T), is_data_pointer};
}

template <class T>
Argument describe(Bits<T>& argument) {
  return {&argument, 0, false};
}

// `arguments` are of the types of the parameters, or references to them.
template <class... Parameters, class... Arguments>
Launch pack(void (*kernel)(Parameters...), std::tuple<Arguments...>& arguments) {
  using Stored = Packed<Parameters...>;
  auto* const packed = new Stored{kernel, std::tuple<Kept<Parameters>...>(std::move(arguments))};
  Launch launch;
  launch.kernel = reinterpret_cast<const void*>(kernel);
  launch.storage = AnyObject(packed);
  launch.storage_bytes = sizeof(Stored);
  std::apply([&](auto&... argument) { launch.arguments = {describe(argument)...}; }, packed->arguments);
  launch.body = [](const void* storage) { call(*static_cast<const Stored*>(storage)); };
  return launch;
}

template <class... Parameters, size_t... indices>
Launch pack_addressed(void (*kernel)(Parameters...), void* const* arguments,
                      std::index_sequence<indices...>) {
  std::tuple<Parameters...> copies(
      *static_cast<const std::remove_reference_t<Parameters>*>(arguments[indices])...);
  return pack(kernel, copies);
}

template <class... Parameters>
inline constexpr Signature::Parameter parameters_of[] = {{sizeof(Parameters), alignof(Parameters)}..., {}};

template <class... Parameters>
inline constexpr Signature signature_of = {
    parameters_of<Parameters...>, sizeof...(Parameters), [](const void* kernel, void* const* arguments) {
      return pack_addressed(reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(kernel)), arguments,
                            std::index_sequence_for<Parameters...>());
    }};

// Makes the signature known. Most calls name the kernel that the last call with this signature did.
template <class... Parameters>
void name_kernel(void (*kernel)(Parameters...)) {
  static void (*last)(Parameters...) = nullptr;
  if (__atomic_load_n(&last, __ATOMIC_RELAXED) == kernel) return;
  remember(reinterpret_cast<const void*>(kernel), signature_of<Parameters...>);
  __atomic_store_n(&last, kernel, __ATOMIC_RELAXED);
}

}  // namespace detail
}  // namespace simt

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  simt::detail::name_kernel(kernel);
  std::tuple<Parameters...> copies(std::forward<Arguments>(arguments)...);
  return simt::launch(config, simt::detail::pack(kernel, copies));
}
