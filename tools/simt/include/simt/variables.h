// Variables of device code: __device__, __constant__ and __managed__ at namespace scope.
//
// In CUDA each device has its own copy of such a variable, and its name means the copy of the device that
// runs the code. Here the declaration has another name, that of device 0's copy, and a macro follows:
//
//   __constant__ float weights[64];        float simt_first_weights[64];
//                                          SIMT_CONSTANT_VARIABLE(weights)
//
//   extern __device__ Params params;       extern Params simt_first_params;
//                                          SIMT_DEVICE_VARIABLE(params)
//
// The macro must stand in the namespace of the declaration, once per name and translation unit. It makes
// `weights` a name of the copy, with the type of the variable: sizeof, overloads, members, templates and
// `&weights` mean what they mean in CUDA, and other declarations can hide the name.
//
// The name is a structured binding to a member of reference type, of an object of the OS thread. The executor
// replaces that object when the thread turns to a block of another device; a program with one device never
// does. One access costs one load of a thread-local pointer, which the compiler moves out of loops.
//
// The copies of other devices are made when they are first needed, with the initial value. cudaDeviceReset()
// restores it. __managed__ variables have one copy for all devices and the host, so their declaration keeps
// its name: `__managed__ int n;` becomes `int n; SIMT_MANAGED_VARIABLE(n)`.
//
// There are no such members of classes or local variables.
#pragma once

#include <cstddef>
#include <new>

namespace simt {

enum class VariableKind { device, constant, managed };

// Makes a variable known to the executor, under the address of its first copy.
class DeviceVariable {
 public:
  // `bind` lets the name mean the copy at an address, in the calling OS thread; null for one copy.
  DeviceVariable(const volatile void* first, size_t bytes, VariableKind kind, void (*bind)(void* copy));
};

namespace detail {

struct VariableSlot {};

template <class T>
struct BoundVariable {
  VariableSlot slot;  // a name for the address of the object
  T& here;
};
template <class T>
constexpr BoundVariable<T> bound_to(T& copy) {
  return {{}, copy};
}
template <class T>
void bind_variable(T& /*first*/, VariableSlot& slot, void* copy) {
  auto* const bound = reinterpret_cast<BoundVariable<T>*>(&slot);
  ::new (static_cast<void*>(bound)) BoundVariable<T>{{}, *static_cast<T*>(copy)};
}

}  // namespace detail
}  // namespace simt

#define SIMT_DEVICE_VARIABLE(name) SIMT_BOUND_VARIABLE(name, device)
#define SIMT_CONSTANT_VARIABLE(name) SIMT_BOUND_VARIABLE(name, constant)
#define SIMT_MANAGED_VARIABLE(name)                                        \
  [[maybe_unused]] static const simt::DeviceVariable simt_variable_##name( \
      &name, sizeof(name), simt::VariableKind::managed, nullptr);
#define SIMT_BOUND_VARIABLE(name, kind)                                        \
  [[maybe_unused]] static thread_local auto [simt_slot_##name, name] =         \
      simt::detail::bound_to(simt_first_##name);                               \
  [[maybe_unused]] static const simt::DeviceVariable simt_variable_##name(     \
      &simt_first_##name, sizeof(simt_first_##name), simt::VariableKind::kind, \
      [](void* copy) { simt::detail::bind_variable(simt_first_##name, simt_slot_##name, copy); });
