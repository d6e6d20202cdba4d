// What the launchers of the activations have in common: the checks, then elementwise_flat().
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/elementwise/flat.cuh>

namespace rondo::activation {

// y = operation(x). y may be x.
template <class Operation, class T>
Status forward(const char* name, VectorView<T> y, VectorView<const T> x, cudaStream_t stream) {
  ArgumentCheck check(name);
  check.output("y", y, {"x"});
  check.input("x", x);
  check.same_size("y", y, "x", x);
  RONDO_RETURN_IF_ERROR(check.status());
  return detail::elementwise_flat(name, stream, Operation{}, y.data, y.size, x.data);
}

// dx = operation(dy, saved). `saved`: what forward read or wrote, by its name. dx may be either.
template <class Operation, class T>
Status backward(const char* name, VectorView<T> dx, VectorView<const T> dy, const char* saved_name,
                VectorView<const T> saved, cudaStream_t stream) {
  ArgumentCheck check(name);
  check.output("dx", dx, {"dy", saved_name});
  check.input("dy", dy);
  check.input(saved_name, saved);
  check.same_size("dx", dx, "dy", dy);
  check.same_size(saved_name, saved, "dy", dy);
  RONDO_RETURN_IF_ERROR(check.status());
  return detail::elementwise_flat(name, stream, Operation{}, dx.data, dx.size, dy.data, saved.data);
}

}  // namespace rondo::activation
