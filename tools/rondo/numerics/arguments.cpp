#include <rondo/tools/rondo/numerics/numerics.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <limits>

namespace rondo::program {
namespace {

constexpr int64_t kMostK = 1'000'000, kMostSize = 4096;

std::vector<int64_t> read_lengths(const std::string& text) {
  std::vector<int64_t> lengths;
  for (const std::string& length : read_list("--k", text))
    lengths.push_back(read_integer<int64_t>("--k", length, 1, kMostK));
  return lengths;
}

void add_numerics_options(const Command& numerics, NumericsArguments& to) {
  numerics.add("--k", "N,N,...", "Lengths of the sums [1,8,16,32,64,512,4096]",
               [&](const std::string& s) { to.k = read_lengths(s); });
  add_integer(numerics, "--size", "N", "Rows and columns of the results [96]", to.size, 1, kMostSize);
  add_integer(numerics, "--seed", "N", "Seed of the random factors [0]", to.seed, 0,
              std::numeric_limits<uint64_t>::max());
}

}  // namespace

void add_numerics(Program& program) {
  program.add<NumericsArguments>(
      "numerics", "Show the errors of fp32, tf32, tf32x3, bf16 and fp16 matrix products",
      add_numerics_options, [](const NumericsArguments& arguments, const RunContext& context) {
        show_numerics(arguments, context.out);
      });
}

}  // namespace rondo::program
