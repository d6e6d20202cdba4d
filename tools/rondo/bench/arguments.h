// Options of `rondo bench`.
#pragma once

#include <rondo/bench/operators/operators.h>
#include <rondo/tools/rondo/support/command.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

inline constexpr int64_t kMostSize = int64_t{1} << 31;  // of a shape
inline constexpr size_t kMostShapes = 64;               // of a sweep

// --sweep m,n=256:4096:x2: these sizes are 256, 512, ... up to 4096.
struct Sweep {
  std::vector<std::string> names;
  std::vector<int64_t> values;
};

// Which calls are timed: with operands in the caches, without, or both.
enum class BenchCache { both, hot, cold };
inline constexpr BenchCache kBenchCaches[] = {BenchCache::both, BenchCache::hot, BenchCache::cold};
constexpr const char* name_of(BenchCache cache) {
  constexpr const char* kNames[] = {"both", "hot", "cold"};
  return kNames[static_cast<int>(cache)];
}

struct BenchArguments {
  std::string operation;  // of bench/operators: "gemm"; or "all"
  std::string kind;       // of the operator; empty: it has only one
  std::string pass = "all";
  std::string shape, sweep;  // as given
  DType type = DType::float32;
  Math math = Math::fp32;
  bool transpose_a = false, transpose_b = false;
  BenchCache cache = BenchCache::both;
  std::optional<int64_t> samples;  // not given: as many as `seconds` allow
  double seconds = 0.5;            // of device time, for each row
  std::string peer;                // "torch", or a library that has the operator; empty: none
  std::string python = "python3";  // of the peer torch
  std::string json, csv, svg;      // empty: not requested; of the first two "-": the standard output
};

inline constexpr const char *kShapeExample = "m=4096,n=1024",
                            *kSweepExample = "m=256:4096:x2 or m,n=1000:3000:+500";

// The peers of an operator, or of "all".
std::vector<std::string> peers_of(const std::string& operation);

// The command has a command of its own for each operator, and one for all.
void add_bench(Program& program);

// The sizes of --shape and --sweep for the operator and its kind. Throw a bad_argument Error.
bench::Shape read_shape(const bench::OperatorKind& kind, const std::string& text);
Sweep read_sweep(const bench::OperatorKind& kind, const std::string& text);
// The shapes to time: one, or those of the sweep.
std::vector<bench::Shape> shapes_of(const BenchArguments& arguments);
// The passes to time; an empty one if the operator has none.
std::vector<std::string> passes_of(const BenchArguments& arguments);
const bench::OperatorKind& kind_of(const BenchArguments& arguments);

}  // namespace rondo::program
