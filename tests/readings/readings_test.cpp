// The kernels as g++ and as nvcc compile them compute the same bits: the results of recorded_results of the
// preset cpu, on the executor, and of this preset, on the interpreter of PTX. Both with the tiles and the
// instructions of one GPU, and with the same rounding of tensor cores, which is that of the executor.
#include <gtest/gtest.h>

#include <rondo/tests/readings/results_file.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace rondo::test {
namespace {

constexpr const char* kExecutor = RONDO_RECORDED_BY_EXECUTOR;
constexpr const char* kInterpreter = RONDO_RECORDED_BY_INTERPRETER;

struct Comparison {
  const char* name;
  const char* gpu;
  const char* tests;  // of recorded_results
  const char* settings;
  size_t least_results;  // fewer mean that something is not compared any more

  friend void PrintTo(const Comparison& c, std::ostream* out) { *out << c.name << " as on " << c.gpu; }
};

// Runs one of the two programs and returns what it recorded.
std::map<std::string, Output> results_of(const std::string& program, const Comparison& c,
                                         const std::filesystem::path& file) {
  std::filesystem::remove(file);
  const std::string command = std::string("SIMT_GPU=") + c.gpu +
                              " PTX_TENSOR_SUMS=aligned PTX_ALLOW=unwritten RONDO_RESULTS='" + file.string() +
                              "' " + c.settings + " '" + program + "' --gtest_filter='" + c.tests +
                              "' --gtest_brief=1 >&2";
  const int status = std::system(command.c_str());
  if (status != 0) throw std::runtime_error("failed: " + command);
  return read_results(file);
}

template <class T>
T element(const Output& output, size_t i) {
  T value;
  std::memcpy(&value, &output.bytes[i * sizeof(T)], sizeof(T));
  return value;
}

// Elements of one type, by their bits, except that every NaN equals every other: processors give a NaN other
// bits.
template <class T>
std::string difference_of(const Output& got, const Output& want) {
  const size_t count = want.bytes.size() / sizeof(T);
  size_t differing = 0, first = 0;
  for (size_t i = 0; i < count; ++i) {
    const T a = element<T>(got, i), b = element<T>(want, i);
    if (std::memcmp(&a, &b, sizeof(T)) == 0) continue;
    if constexpr (!std::is_integral_v<T>) {
      const double x = static_cast<double>(a), y = static_cast<double>(b);
      if (std::isnan(x) && std::isnan(y)) continue;
    }
    if (differing++ == 0) first = i;
  }
  if (differing == 0) return "";
  std::ostringstream text;
  text << differing << " of " << count << " elements differ; the first, [" << first << "], is "
       << std::setprecision(17) << static_cast<double>(element<T>(got, first)) << " instead of "
       << static_cast<double>(element<T>(want, first));
  return text.str();
}

std::string difference(const Output& got, const Output& want) {
  if (got.kind != want.kind || got.bytes.size() != want.bytes.size()) return "of another size or type";
  switch (want.kind) {
    case ElementKind::float32:
      return difference_of<float>(got, want);
    case ElementKind::float64:
      return difference_of<double>(got, want);
    case ElementKind::bfloat16:
      return difference_of<__nv_bfloat16>(got, want);
    case ElementKind::float16:
      return difference_of<__half>(got, want);
    case ElementKind::bytes:
      break;
  }
  return difference_of<uint8_t>(got, want);
}

class Readings : public testing::TestWithParam<Comparison> {};

TEST_P(Readings, ComputeTheSameBits) {
  const Comparison& c = GetParam();
  ASSERT_TRUE(std::filesystem::exists(kExecutor))
      << kExecutor << " is missing: the target readings_test of the preset ptx builds it";
  const std::string base = testing::TempDir() + "readings_" + c.name + "_" + c.gpu;
  auto of_executor = std::async(std::launch::async, results_of, kExecutor, c, base + "_executor");
  const std::map<std::string, Output> got = results_of(kInterpreter, c, base + "_interpreter");
  const std::map<std::string, Output> want = of_executor.get();
  size_t differing = 0, bytes = 0;
  for (const auto& [name, output] : want) {
    const auto found = got.find(name);
    if (found == got.end()) {
      ADD_FAILURE() << "only the executor has a result " << name;
      continue;
    }
    bytes += output.bytes.size();
    const std::string text = difference(found->second, output);
    differing += !text.empty();
    EXPECT_EQ(text, "") << name;
  }
  EXPECT_EQ(got.size(), want.size());
  EXPECT_GE(want.size(), c.least_results) << "results are not recorded any more";
  std::printf("%zu results of %zu bytes compared, %zu differ\n", want.size(), bytes, differing);
  for (const char* by : {"_executor", "_interpreter"}) std::filesystem::remove(base + by);
}

// Each on two GPUs: one whose products are computed by wgmma, and one with mma.sync alone.
std::vector<Comparison> comparisons() {
  const Comparison once[] = {
      {"operations", "", "Recorded.AllOperations", "", 200},
      {"operators", "", "Recorded.DrawnOperators", "RONDO_DRAWS=8", 900},
      {"products", "", "Recorded.DrawnProducts", "RONDO_DRAWS=12", 84},
      {"convolutions", "", "Recorded.DrawnConvolutions", "RONDO_DRAWS=12", 180},
      {"lenet", "", "*OfNetwork/lenet", "", 32},
      {"resnet18", "", "*OfNetwork/resnet18", "", 32},
      {"mlp", "", "*OfNetwork/mlp", "", 32},
      {"wide_convolutions", "", "*OfNetwork/wide_convolutions", "", 32},
      {"residual_relu", "", "*OfNetwork/residual_relu", "", 32},
      {"more_operators", "", "Recorded.DrawnOperators", "RONDO_DRAWS=100", 11000},
      {"more_products", "", "Recorded.DrawnProducts", "RONDO_DRAWS=150", 1050},
      {"more_convolutions", "", "Recorded.DrawnConvolutions", "RONDO_DRAWS=120", 1800},
  };
  std::vector<Comparison> all;
  for (const char* gpu : {"h100", "a100"})
    for (Comparison c : once) {
      c.gpu = gpu;
      all.push_back(c);
    }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Of, Readings, testing::ValuesIn(comparisons()), [](const auto& test) {
  return std::string(test.param.name) + "_" + test.param.gpu;
});

}  // namespace
}  // namespace rondo::test
