#include <rondo/tools/rondo/numerics/numerics.h>

#include <rondo/kernels/core/arithmetic.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/gemm/gemm_with_plan.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace rondo::program {
namespace {

using Matrix = std::vector<float>;

template <class T>
Matrix product(const Matrix& a, const Matrix& b, int64_t m, int64_t n, int64_t k, Math math) {
  const auto converted = [](const Matrix& values) {
    std::vector<T> all;
    all.reserve(values.size());
    for (const float value : values) all.push_back(static_cast<T>(value));
    return all;
  };
  const Buffer<T> da(converted(a)), db(converted(b));
  Buffer<float> dc(m * n);
  Buffer<std::byte> workspace(gemm_workspace_bytes({m, n, k}, {.math = math}));
  const Stream stream;
  // gemm(), but by tensor cores on the CPU executor, too.
  GemmArgumentsOf<T, float> arguments;
  const Workspace work = {workspace.data(), workspace.bytes()};
  throw_if_error(check_gemm("gemm", gemm_workspace_bytes, matrix(dc.data(), m, n),
                            matrix<const T>(da.data(), m, k), matrix<const T>(db.data(), k, n),
                            {.math = math}, work, &arguments));
  DeviceProperties device;
  throw_if_error(device_properties(&device));
  device.vectors_for_tensor_cores = false;
  throw_if_error(
      gemm_with_plan("gemm", choose_gemm_plan(problem_of(arguments), device), arguments, work, stream));
  stream.synchronize();
  return dc.download();
}

Matrix product(Arithmetic in, const Matrix& a, const Matrix& b, int64_t m, int64_t n, int64_t k) {
  if (in == Arithmetic::bf16) return product<__nv_bfloat16>(a, b, m, n, k, math_of(in));
  if (in == Arithmetic::fp16) return product<__half>(a, b, m, n, k, math_of(in));
  return product<float>(a, b, m, n, k, math_of(in));
}

bool has(Arithmetic arithmetic) {
  return check_math("", math_of(arithmetic)).ok() && check_factor_type("", factor_type(arithmetic)).ok();
}

// A value from N(0, 1), by the method of Box and Muller. In double, so that the float is the same however the
// compiler contracts: the bits of std::normal_distribution<float> depend on that.
float normal(std::mt19937_64& random) {
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform()));
}

// The kinds of factors. Each function fills a row of A or a column of B.
struct Kind {
  const char* name;
  std::function<float(std::mt19937_64&, int64_t row)> draw;
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"normal", [](std::mt19937_64& random, int64_t) { return normal(random); }},
      {"positive",
       [](std::mt19937_64& random, int64_t) { return std::uniform_real_distribution<float>(0, 1)(random); }},
      {"scaled rows",
       [](std::mt19937_64& random, int64_t row) {
         return std::ldexp(normal(random), static_cast<int>(row * 7 % 41) - 20);
       }},
  };
  return all;
}

struct Errors {
  double largest = 0, mean_square = 0;
};

// Of each result, the error divided by 2^-24 * sum |a| |b|.
struct Reference {
  std::vector<double> values, units;
};
Reference reference(const Matrix& a, const Matrix& b, int64_t size, int64_t k) {
  Reference exact;
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double term = static_cast<double>(a[static_cast<size_t>(i * k + l)]) *
                            static_cast<double>(b[static_cast<size_t>(l * size + j)]);
        sum += term;
        magnitude += std::abs(term);
      }
      exact.values.push_back(sum);
      exact.units.push_back(0x1p-24 * magnitude);
    }
  return exact;
}
Errors errors(const Matrix& got, const Reference& exact) {
  Errors all;
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - exact.values[i]) / exact.units[i];
    // NaN and infinities (overflow) count as infinite.
    all.largest = std::isfinite(error) ? std::max(all.largest, error) : INFINITY;
    all.mean_square += error * error;
  }
  all.mean_square = std::sqrt(all.mean_square / static_cast<double>(got.size()));
  return all;
}

std::string text_of(double error) { return std::isfinite(error) ? general(error, 3) : "overflow"; }

void show_errors(const NumericsArguments& arguments, std::ostream& out) {
  out << concat("Errors of ", arguments.size, " x ", arguments.size,
                " results, in units of 2^-24 * sum |a| |b|: root mean square / largest\n\n");
  std::vector<TextRow> rows = {{"factors", "k"}};
  for (const Arithmetic arithmetic : kArithmetics)
    if (has(arithmetic)) rows[0].push_back(name_of(arithmetic));
  std::mt19937_64 random(arguments.seed);
  for (const Kind& kind : kinds())
    for (const int64_t k : arguments.k) {
      const int64_t size = arguments.size;
      Matrix a(static_cast<size_t>(size * k)), b(static_cast<size_t>(k * size));
      for (size_t i = 0; i < a.size(); ++i) a[i] = kind.draw(random, static_cast<int64_t>(i) / k);
      for (size_t i = 0; i < b.size(); ++i) b[i] = kind.draw(random, static_cast<int64_t>(i) % size);
      const Reference exact = reference(a, b, size, k);
      TextRow row = {kind.name, grouped(k)};
      for (const Arithmetic arithmetic : kArithmetics) {
        if (!has(arithmetic)) continue;
        const Errors all = errors(product(arithmetic, a, b, size, size, k), exact);
        row.push_back(text_of(all.mean_square) + " / " + text_of(all.largest));
      }
      rows.push_back(row);
    }
  show_table(rows, out, 1);
}

// Sums of one or two products, of values at the ends of the range.
void show_special_values(std::ostream& out) {
  struct Sum {
    const char* text;
    float a[2], b[2];
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Sum sums[] = {
      {"infinity * 2", {kInfinity, 0}, {2, 0}},
      {"infinity * 0", {kInfinity, 0}, {0, 0}},
      {"infinity * 2 - infinity * 2", {kInfinity, kInfinity}, {2, -2}},
      {"NaN * 2", {NAN, 0}, {2, 0}},
      {"2^100 * 2^100 - 2^100 * 2^100", {0x1p100f, 0x1p100f}, {0x1p100f, -0x1p100f}},
      {"65536 * 2", {65536, 0}, {2, 0}},
      {"2^-130 * 2", {0x1p-130f, 0}, {2, 0}},
      {"2^-75 * 2^-70", {0x1p-75f, 0}, {0x1p-70f, 0}},
      {"1 * 1 + 2^-24 * 1", {1, 0x1p-24f}, {1, 1}},
      {"(1 + 2^-23) * 1", {1 + 0x1p-23f, 0}, {1, 0}},
  };
  out << "\nSpecial values\n\n";
  std::vector<TextRow> rows = {{"sum"}};
  for (const Arithmetic arithmetic : kArithmetics)
    if (has(arithmetic)) rows[0].push_back(name_of(arithmetic));
  for (const Sum& sum : sums) {
    TextRow row = {sum.text};
    for (const Arithmetic arithmetic : kArithmetics) {
      if (!has(arithmetic)) continue;
      const float value = product(arithmetic, {sum.a, sum.a + 2}, {sum.b, sum.b + 2}, 1, 1, 2)[0];
      row.push_back(std::isnan(value) ? "nan" : general(static_cast<double>(value), 9));
    }
    rows.push_back(row);
  }
  show_table(rows, out, 1);
}

}  // namespace

void show_numerics(const NumericsArguments& arguments, std::ostream& out) {
  out << describe_device(0) << "\n\n";
  show_errors(arguments, out);
  show_special_values(out);
}

}  // namespace rondo::program
