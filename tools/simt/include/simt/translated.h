// What translated CUDA C++ calls (tools/simt/translate): launches by <<<>>>, __shared__ variables, and the
// variables of devices. Code that is C++ from the start has cudaLaunchKernelEx() and simt::shared_memory().
#pragma once

#include <cuda_runtime_api.h>
#include <simt/launch.h>
#include <simt/shared.h>
#include <simt/struct_pointers.h>

#include <cstddef>
#include <exception>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace simt {

class PendingLaunch;

namespace detail {
inline thread_local constinit const PendingLaunch* pending_launch = nullptr;
[[noreturn]] void not_a_kernel();
// <<<>>> returns no error. The checks report one that the program never asks for.
void launch_failed(const void* kernel, const cudaLaunchConfig_t& config, cudaError_t error,
                   const std::source_location& place);
// Argument `number` is a struct with pointers at these offsets. Those to memory of the host and to freed
// memory are replaced: an access through them is a fault. A kernel that makes none runs.
void guard_pointers(const Launch& launch, size_t number, const std::vector<size_t>& offsets);
}  // namespace detail

// kernel<<<grid, block, bytes, stream>>>(a) is (PendingLaunch(grid, block, bytes, stream), kernel(a)), and
// the kernel launches itself. The arguments are evaluated in between. An argument may itself launch a kernel;
// that is an inner launch.
class PendingLaunch {
 public:
  explicit PendingLaunch(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                         const std::source_location& place = std::source_location::current())
      : outer_(detail::pending_launch), place_(place) {
    config_.gridDim = grid;
    config_.blockDim = block;
    config_.dynamicSmemBytes = shared_bytes;
    config_.stream = stream;
    detail::pending_launch = this;
  }
  ~PendingLaunch() {
    if (launched_) return;
    detail::pending_launch = outer_;
    if (std::uncaught_exceptions() == exceptions_) detail::not_a_kernel();  // else an argument has thrown
  }
  PendingLaunch(const PendingLaunch&) = delete;
  PendingLaunch& operator=(const PendingLaunch&) = delete;

  // The arguments are the parameters of the kernel itself, which the caller destroys after the launch.
  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), Arguments&&... arguments) const {
    launched_ = true;
    detail::pending_launch = outer_;
    detail::name_kernel(kernel);
    std::tuple<Arguments&...> parameters(arguments...);
    Launch launch = detail::pack(kernel, parameters);
    guard(launch, std::index_sequence_for<Parameters...>(), parameters);
    launch.place = place_;
    const cudaError_t error = simt::launch(&config_, std::move(launch));
    if (error != cudaSuccess)
      detail::launch_failed(reinterpret_cast<const void*>(kernel), config_, error, place_);
  }

 private:
  template <size_t... indices, class... Arguments>
  static void guard(const Launch& launch, std::index_sequence<indices...>, const std::tuple<Arguments&...>&) {
    (guard<indices, std::remove_cv_t<Arguments>>(launch), ...);
  }
  template <size_t number, class Argument>
  static void guard(const Launch& launch) {
    if constexpr (std::is_class_v<Argument>)
      if (const auto& offsets = detail::pointers_in<Argument>(); !offsets.empty())
        detail::guard_pointers(launch, number, offsets);
  }

  cudaLaunchConfig_t config_ = {};
  const PendingLaunch* outer_;
  const std::source_location place_;
  const int exceptions_ = std::uncaught_exceptions();
  mutable bool launched_ = false;
};

// Makes a kernel known by its address, for calls that name it by a void*.
template <class... Parameters>
bool know_kernel(void (*kernel)(Parameters...)) {
  detail::name_kernel(kernel);
  return true;
}

// A thread that waits for an argument of a launch may run blocks meanwhile, and these are not launched.
inline bool launch_is_pending() { return detail::pending_launch && !detail::shared_begin; }

template <class... Parameters, class... Arguments>
void launch_pending(void (*kernel)(Parameters...), Arguments&&... arguments) {
  detail::pending_launch->launch(kernel, std::forward<Arguments>(arguments)...);
}

// Variable `Index` of the declaration whose variables are the members of a struct. All threads of a block get
// the same one. Its bytes are 0xFF when a thread of the block first gets there. Raises a fault if the static
// shared memory of the block exceeds what CUDA allows.
template <class T, class Declaration, int Index>
T& shared_variable() {
  static_assert(std::is_trivially_destructible_v<T>, "nothing destroys a __shared__ variable");
  return *static_cast<T*>(detail::shared_variable(detail::shared_variable_of<T, Declaration, Index>));
}

// Memory from malloc() and new in a kernel, which the check of bounds knows. free() and delete are those of
// the C and C++ libraries.
void* kernel_malloc(size_t bytes);
struct KernelHeap {};
inline constexpr KernelHeap kernel_heap;

// The dynamic shared memory as an array: T is the type of the array, "float[1]" of "float[]".
template <class T>
std::decay_t<T> dynamic_shared() {
  return static_cast<std::decay_t<T>>(shared_memory());
}

}  // namespace simt

inline void* operator new(size_t bytes, simt::KernelHeap) { return simt::kernel_malloc(bytes); }
inline void* operator new[](size_t bytes, simt::KernelHeap) { return simt::kernel_malloc(bytes); }
