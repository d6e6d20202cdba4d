#include <rondo/tests/kernels/operations/operations.h>

namespace rondo::test {

const std::vector<Operation>& operations() {
  static const std::vector<Operation> operations = [] {
    std::vector<Operation> all;
    add_flat_operations(all);
    add_data_and_losses(all);
    add_norms_and_pools(all);
    add_rows_and_columns(all);
    add_products(all);
    add_convolutions(all);
    return all;
  }();
  return operations;
}

}  // namespace rondo::test
