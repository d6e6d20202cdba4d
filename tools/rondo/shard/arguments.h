// Options of `rondo shard`.
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

// An array of a training, and its distribution: on one device; the batch split and the rest replicated; all
// replicated.
enum class ShardArray { batch, parameters, optimizer };
enum class ShardMode { single, sharded, replicated };
const char* name_of(ShardArray array);
const char* name_of(ShardMode mode);

// A mesh of devices: "2x4" has the axes x (size 2) and y (size 4). Axis names are the letters of kMeshAxes,
// in order.
inline constexpr const char* kMeshAxes = "xyz";
using Mesh = std::vector<int64_t>;
// The mesh axes that split the rows and the columns of an array, in order; empty: not split.
struct ShardSpec {
  std::string rows, columns;
};

struct ShardArguments {
  std::optional<ShardArray> array;  // either this and the next five
  std::string model = "lenet";
  std::string optimizer = "adam";
  int devices = 2;
  int64_t batch = 256;
  ShardMode mode = ShardMode::sharded;
  std::vector<int64_t> shape;  // or these three; shape is rows and columns
  Mesh mesh;
  std::optional<ShardSpec> spec;
  std::string svg;  // empty: not requested
};

void add_shard(Program& program);
// Checks the options against each other. Throws a bad_argument Error.
void check(const ShardArguments& arguments);

// "8192x1024": two sizes. "2x4": one to three sizes, at most 64 devices in total. "x,-", "xy,-", "-,y": a
// spec.
std::vector<int64_t> parse_shape(const std::string& text);
Mesh parse_mesh(const std::string& text);
ShardSpec parse_spec(const std::string& text);

}  // namespace rondo::program
