// `rondo bench all`: every family of operators at two shapes or more, in one table.
#pragma once

#include <rondo/tools/rondo/bench/bench.h>

#include <ostream>
#include <vector>

namespace rondo::program {

// A kind of an operator with a shape; all its passes are timed.
struct BenchCase {
  const char *operation, *kind, *shape;  // as the options have them
};
const std::vector<BenchCase>& bench_cases();

// A report of one shape and pass for each. Where the peer does not have a call, its report has the reason.
std::vector<BenchReport> run_bench_all(const BenchArguments& arguments);
void show_bench_all_text(const std::vector<BenchReport>& reports, std::ostream& out);

}  // namespace rondo::program
