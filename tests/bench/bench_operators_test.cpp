// bench/operators: every operator once, with a small shape; its check accepts the result, and refuses wrong
// ones; sets of operands take turns.
#include <gtest/gtest.h>

#include <rondo/bench/operators/covered.h>
#include <rondo/bench/operators/operators.h>
#include <rondo/bench/timing/device_time.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

namespace rondo::bench {
namespace {

// Sizes that differ from each other where they can, and are no multiples of vectors.
const std::map<std::string, int64_t> kSmall = {
    {"m", 37},      {"n", 19},     {"k", 23},    {"batch", 3},     {"h", 9},     {"w", 7},
    {"c", 6},       {"r", 3},      {"s", 2},     {"stride", 2},    {"pad", 1},   {"dilation", 2},
    {"groups", 3},  {"window", 3}, {"rows", 33}, {"channels", 10}, {"cols", 45}, {"classes", 11},
    {"size", 1003}, {"p", 4},      {"q", 5},     {"output_pad", 1}};

int64_t small_size(const std::string& operation, const std::string& name) {
  if (operation != "gemm" && name == "n") return 2;
  if (operation.starts_with("conv") && name == "k") return 12;
  return kSmall.at(name);
}

// Calls check(call, request) for every operator, kind, pass and type.
template <class Check>
void for_all_calls(const Check& check) {
  for (const Operator& of : operators())
    for (const OperatorKind& kind : of.kinds)
      for (const std::string& pass : kind.passes.empty() ? std::vector<std::string>{""} : kind.passes)
        for (const DType type : {DType::float32, DType::bfloat16, DType::float16}) {
          OperatorRequest request = {
              .shape = Shape(kind.dimensions), .kind = kind.name, .pass = pass, .type = type};
          for (const Dimension& dimension : kind.dimensions)
            request.shape.set(dimension.name, small_size(of.name, dimension.name));
          const OperatorCall call = make_call(of.name, request);
          SCOPED_TRACE(concat(call.name, " ", pass));
          check(call);
        }
}

TEST(Operators, AllComputeWhatTheyAreCheckedFor) {
  int calls = 0;
  std::set<std::string> names;
  for_all_calls([&](const OperatorCall& call) {
    EXPECT_TRUE(runs_right(call, make_operands(call, 1)));
    EXPECT_GT(call.work.bytes, 0);
    EXPECT_EQ(call.work.bytes, call.operands.least_bytes());
    names.insert(call.name + call.pass);
    ++calls;
  });
  EXPECT_EQ(static_cast<int>(names.size()), calls);  // a name for each
  EXPECT_GE(calls, 3 * 30);
}

// Results stay NaN, and operands that are updated stay as they were.
TEST(Operators, ChecksRefuseACallThatDoesNothing) {
  for_all_calls([](OperatorCall call) {
    call.enqueue = [](const Operands&, cudaStream_t) { return Status(); };
    EXPECT_FALSE(runs_right(call, make_operands(call, 1)));
  });
}

template <class T>
void shift(void* data, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  RONDO_CUDA_THROW(cudaMemcpy(values.data(), data, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
  for (T& value : values) {
    const double exact = static_cast<double>(static_cast<float>(value));
    value = std::is_integral_v<T> ? value + T(1)
                                  : static_cast<T>(static_cast<float>(exact + 0.05 * (1 + std::abs(exact))));
  }
  RONDO_CUDA_THROW(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
}

// The first result, or the first operand that is updated, is wrong by some percent.
TEST(Operators, ChecksRefuseResultsThatAreNearlyRight) {
  for_all_calls([](OperatorCall call) {
    size_t wrong = 0;
    const std::vector<Operand>& operands = call.operands.all();
    while (operands[wrong].elements == 0 ||
           (operands[wrong].role != Role::result && operands[wrong].role != Role::updated))
      ++wrong;
    call.enqueue = [run = call.enqueue, wrong, operands = operands](const Operands& o,
                                                                    cudaStream_t stream) -> Status {
      RONDO_RETURN_IF_ERROR(run(o, stream));
      RONDO_CUDA_THROW(cudaStreamSynchronize(stream));
      const Operand& operand = operands[wrong];
      void* const data = o[OperandId<uint8_t>{wrong}];
      visit(operand.type, [&](auto element) {
        using T = decltype(element);
        if constexpr (ValueType<T> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>)
          shift<T>(data, operand.elements);
      });
      return {};
    };
    EXPECT_FALSE(runs_right(call, make_operands(call, 1)));
  });
}

TEST(Operators, GemmHasTransposesAndArithmetics) {
  for (const int64_t batch : {1, 3})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const Math math : kMathModes) {
          const OperatorCall call =
              make_call("gemm", {.shape = {{"m", 37}, {"n", 19}, {"k", 23}, {"batch", batch}},
                                 .math = math,
                                 .transpose_a = transpose_a,
                                 .transpose_b = transpose_b});
          EXPECT_TRUE(runs_right(call, make_operands(call, 1))) << call.name;
          EXPECT_NE(call.plan, "");
          EXPECT_EQ(call.work.flops, 2.0 * static_cast<double>(batch) * 37 * 19 * 23);
          EXPECT_EQ(call.work.bytes, 4.0 * static_cast<double>(batch) * (37 * 23 + 23 * 19 + 37 * 19));
          EXPECT_EQ(call.arithmetic, arithmetic_of(DType::float32, math));
        }
}

TEST(Operators, ConvCountsTheProductsOfItsGroups) {
  OperatorRequest request = {.shape = Shape(find_operator("conv")->kinds[0].dimensions)};
  for (const auto& [name, size] : {std::pair{"n", 2}, {"h", 8}, {"w", 6}, {"c", 6}, {"k", 9}, {"groups", 3}})
    ASSERT_TRUE(request.shape.set(name, size));
  for (const char* const pass : {"forward", "data_gradient", "filter_gradient"}) {
    request.pass = pass;
    const OperatorCall call = make_call("conv", request);
    EXPECT_EQ(call.work.flops, 2.0 * (2 * 8 * 6 * 9) * (3 * 3 * 2)) << pass;
    EXPECT_EQ(call.work.bytes, 4.0 * (2 * 8 * 6 * 6 + 2 * 8 * 6 * 9 + 9 * 3 * 3 * 2)) << pass;
    EXPECT_NE(call.plan, "");
  }
}

// The rows of an image that some window contains, by trying all.
int64_t covered_by_trying(const WindowPositions& w) {
  std::set<int64_t> rows;
  for (int64_t i = 0; i < w.outputs; ++i)
    for (int64_t r = 0; r < w.taps; ++r)
      if (const int64_t row = i * w.stride - w.pad + r * w.dilation; row >= 0 && row < w.size)
        rows.insert(row);
  return static_cast<int64_t>(rows.size());
}

TEST(Operators, WindowsCoverTheRowsThatTheyContain) {
  int64_t less = 0;
  for (const int64_t size : {1, 7, 12, 29})
    for (int64_t taps = 1; taps <= 4; ++taps)
      for (int64_t stride = 1; stride <= 6; ++stride)
        for (int64_t pad = 0; pad <= 3; ++pad)
          for (int64_t dilation = 1; dilation <= 4; ++dilation) {
            const int64_t room = size + 2 * pad - (taps - 1) * dilation - 1;
            if (room < 0) continue;
            const WindowPositions w = {size, taps, stride, pad, dilation, room / stride + 1};
            const int64_t expected = covered_by_trying(w);
            ASSERT_EQ(covered(w), expected)
                << size << " " << taps << " " << stride << " " << pad << " " << dilation;
            less += expected < size ? 1 : 0;
          }
  EXPECT_GT(less, 100);
}

// The bound of a strided 1 x 1 convolution has only the pixels that it reads.
TEST(Operators, WhatAStrideSkipsIsNotRead) {
  const auto bytes = [](const char* operation, const char* kind, const char* pass,
                        const std::vector<std::pair<std::string, int64_t>>& sizes) {
    OperatorRequest request = {
        .shape = Shape(find_kind(*find_operator(operation), kind)->dimensions), .kind = kind, .pass = pass};
    for (const auto& [name, size] : sizes) EXPECT_TRUE(request.shape.set(name, size));
    return make_call(operation, request).work.bytes;
  };
  const std::vector<std::pair<std::string, int64_t>> conv = {
      {"n", 2}, {"h", 8}, {"w", 6}, {"c", 6}, {"k", 9}, {"r", 1}, {"s", 1}, {"pad", 0}, {"stride", 2}};
  const double y = 2 * 4 * 3 * 9, x = 2 * 8 * 6 * 6, filter = 9 * 6;
  EXPECT_EQ(bytes("conv", "", "forward", conv), 4 * (x / 4 + y + filter));
  EXPECT_EQ(bytes("conv", "", "filter_gradient", conv), 4 * (x / 4 + y + filter));
  EXPECT_EQ(bytes("conv", "", "data_gradient", conv), 4 * (x + y + filter));
  const std::vector<std::pair<std::string, int64_t>> pool = {{"n", 2}, {"h", 8},      {"w", 6},
                                                             {"c", 5}, {"window", 1}, {"stride", 2}};
  const double of_x = 2 * 8 * 6 * 5, of_y = of_x / 4;
  EXPECT_EQ(bytes("pool", "avg", "forward", pool), 4 * (of_x / 4 + of_y));
  EXPECT_EQ(bytes("pool", "avg", "backward", pool), 4 * (of_x + of_y));
  EXPECT_EQ(bytes("pool", "max", "backward", pool), 4 * (of_y + of_y + of_x / 4 + of_x));
}

std::string error_of_call(const std::string& operation, OperatorRequest request) {
  try {
    make_call(operation, std::move(request));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Operators, SizesThatDoNotFitAreRefused) {
  const auto with = [](const char* operation, size_t kind,
                       std::vector<std::pair<std::string, int64_t>> sizes) {
    const OperatorKind& of = find_operator(operation)->kinds[kind];
    OperatorRequest request = {.shape = Shape(of.dimensions), .kind = of.name};
    for (const auto& [name, size] : sizes) EXPECT_TRUE(request.shape.set(name, size));
    return error_of_call(operation, std::move(request));
  };
  EXPECT_EQ(with("conv", 0, {{"groups", 5}}), "groups is 5, must divide c, which is 64, and k, which is 64");
  EXPECT_EQ(with("conv", 0, {{"r", 40}, {"pad", 0}}),
            "the filter is 40 x 3, must be at most the padded image: 28 x 28");
  EXPECT_EQ(with("pool", 0, {{"pad", 2}}), "pad is 2, must be at most 1 with windows of 2");
  EXPECT_EQ(with("pool", 1, {{"window", 29}}), "windows of 29 do not fit the padded image of 28 x 28");
  EXPECT_EQ(with("norm", 3, {{"groups", 7}}), "groups is 7, must divide c, which is 64");
  EXPECT_NE(error_of_call("softmax", {.pass = "sideways"}), "");
  EXPECT_NE(error_of_call("softmax", {.kind = "hardmax"}), "");
  EXPECT_NE(error_of_call("matmul", {}), "");
}

TEST(OperandSets, TakeTurnsAtAddressesOfTheirOwn) {
  const OperatorCall call = make_call("softmax", {.shape = {{"rows", 3}, {"cols", 5}}, .kind = "softmax"});
  const OperandSets sets = make_operands(call, 4);
  EXPECT_EQ(sets.count(), 4);
  EXPECT_EQ(sets.set_bytes(), OperandSets::bytes_of_set(call.operands));
  const OperandId<float> x = {0}, y = {1};
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(sets.set(i)[x] - sets.set(0)[x], i % 4 * sets.set_bytes() / 4);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(sets.set(i)[y]) % 256, 0u);
  }
  const auto values = [&](int64_t set) {
    std::vector<float> found(15);
    RONDO_CUDA_THROW(cudaMemcpy(found.data(), sets.set(set)[x], 60, cudaMemcpyDeviceToHost));
    return found;
  };
  for (int64_t i = 1; i < 4; ++i) EXPECT_EQ(values(i), values(0));
  EXPECT_NE(values(0)[0], values(0)[1]);
}

// The operands that depend on others are complete in every set.
TEST(OperandSets, ArePreparedAndCopied) {
  OperatorCall call;
  const auto a = call.operands.input<float>(4), b = call.operands.input<float>(4);
  call.prepare = [=](const Operands& o, cudaStream_t stream) {
    return from_cuda(cudaMemcpyAsync(o[b], o[a], 16, cudaMemcpyDeviceToDevice, stream), "copy");
  };
  const OperandSets sets = make_operands(call, 3);
  for (int64_t i = 0; i < 3; ++i) {
    std::vector<float> found_a(4), found_b(4);
    RONDO_CUDA_THROW(cudaMemcpy(found_a.data(), sets.set(i)[a], 16, cudaMemcpyDeviceToHost));
    RONDO_CUDA_THROW(cudaMemcpy(found_b.data(), sets.set(i)[b], 16, cudaMemcpyDeviceToHost));
    EXPECT_EQ(found_a, found_b);
  }
}

}  // namespace
}  // namespace rondo::bench
