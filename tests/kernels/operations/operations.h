// One call of every operation, for tests of all operations: an entry for each operation and form.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/tests/kernels/operations/operands.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace rondo::test {

struct Operation {
  std::string name;
  std::function<Status(Operands&)> run;
  bool long_arrays = false;  // with which only a few alignments are tried

  friend void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }
};

// All operations whose operands have several elements that may be accessed together.
const std::vector<Operation>& operations();
// The others, which access one element at a time.
const std::vector<Operation>& narrow_operations();

// The entries of one file each.
void add_flat_operations(std::vector<Operation>& all);
void add_data_and_losses(std::vector<Operation>& all);
void add_norms_and_pools(std::vector<Operation>& all);
void add_rows_and_columns(std::vector<Operation>& all);
void add_products(std::vector<Operation>& all);
void add_convolutions(std::vector<Operation>& all);

}  // namespace rondo::test
